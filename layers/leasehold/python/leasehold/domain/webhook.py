"""Webhooks: who is to be told of a job's runs. An address is checked when it is given, long before it is called."""

from __future__ import annotations

import re

from leasehold.domain.errors import InvalidOptionError

MAX_WEBHOOK_BYTES = 2048
_HIGHEST_PORT = 65_535
# No user name or password: they would be stored with every job, and shown to whoever may read one. No fragment: it is
# never sent.
_ADDRESS = re.compile(
    r"https://(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?:[/?][a-z0-9._~:/?@!$&'()*+,;=%\[\]-]*)?",
    re.IGNORECASE | re.ASCII,
)
_CREDENTIALS = re.compile(r"//.*@", re.DOTALL)


def parse_webhook(address: object) -> str:
    """
    >>> parse_webhook("https://example.com/hooks/jobs?team=7")
    'https://example.com/hooks/jobs?team=7'
    """
    found = _ADDRESS.fullmatch(address) if isinstance(address, str) and len(address) <= MAX_WEBHOOK_BYTES else None
    if found is None or int(found["port"] or 1) not in range(1, _HIGHEST_PORT + 1):
        raise InvalidOptionError(
            _CREDENTIALS.sub("//…@", address) if isinstance(address, str) else address,
            f"a webhook is an https address of at most {MAX_WEBHOOK_BYTES} bytes, without user, password or fragment",
            "Use one like https://example.com/hooks/jobs; write other characters as %XX.",
        )
    return found[0]
