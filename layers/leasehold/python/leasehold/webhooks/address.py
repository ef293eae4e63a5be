"""Whom to tell of a run, and of what: a webhook's address and its events."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError, RefusedError, shown
from leasehold.kernel.type_options import DELIVERY
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from leasehold.kernel.registry import Deployment

MAX_WEBHOOK_BYTES = 2048
_HIGHEST_PORT = 65_535
# No user name or password: they would be stored with every job, and shown to whoever may read one. No fragment: it is
# never sent.
_ADDRESS = re.compile(
    r"https://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:[/?][a-z0-9._~:/?@!$&'()*+,;=%\[\]-]*)?)",
    re.IGNORECASE | re.ASCII,
)
_CREDENTIALS = re.compile(r"//.*@", re.DOTALL)


class RunEvent(StrEnum):
    """What is told of a run: its outcome, by the same name. One that leaves a dead letter is told as both."""

    COMPLETED = "job.run.completed"
    FAILED = "job.run.failed"
    SKIPPED = "job.run.skipped"
    DEAD_LETTERED = "job.run.dead_lettered"


class WebhooksOffError(RefusedError, code="webhooks_off"):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"nobody would tell {shown(url)} of this job: no webhooks are deployed here. Leave the webhook out, or set "
            "`webhooks` of the JobQueue and deploy."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A job type's webhook.

    url: whom to tell of jobs that bring no address of their own; None for nobody.
    events: what is told of jobs of this type, whoever is told.
    """

    url: str | None = None
    events: tuple[RunEvent, ...] = tuple(RunEvent)

    def __post_init__(self) -> None:
        if self.url is not None:
            parse_webhook(self.url)
        # Also as a registry has stored them: as texts, in a list.
        object.__setattr__(self, "events", tuple(RunEvent(each) for each in self.events))


@dataclass(frozen=True, slots=True)
class Address:
    """A webhook's address in its parts; `path` is what is asked for, with its query."""

    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str) -> Address:
        """
        >>> Address.of("https://example.com/hooks?team=7")
        Address(host='example.com', port=443, path='/hooks?team=7')
        """
        found = _ADDRESS.fullmatch(parse_webhook(url))
        assert found is not None
        path = found["path"] or "/"
        return cls(found["host"].strip("[]").lower(), int(found["port"] or 443), path if path[0] == "/" else f"/{path}")


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


def checked_webhook(address: object, deployment: Deployment) -> str:
    """An address that something is deployed for to call it."""
    url = parse_webhook(address)
    if DELIVERY not in deployment.registry().types:
        raise WebhooksOffError(url)
    return url
