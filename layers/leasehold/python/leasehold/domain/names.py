"""Names that users give to things they keep: schedules, templates."""

from __future__ import annotations

import re

from leasehold.domain.errors import InvalidKeyError

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def parse_name(name: object, what: str, example: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidKeyError(
            name,
            f"a {what}'s name is 1 to 64 characters of a-z, 0-9, _ and -, starting with a letter",
            f"Use a name like {example}.",
        )
    return name
