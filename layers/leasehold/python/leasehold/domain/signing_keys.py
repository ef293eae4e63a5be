"""The keys that webhooks are signed with: for all receivers, or for each its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.lean import dataclass
from leasehold.domain.standard_webhook import parse_key

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Keys by host; those of `*` are for every host that has none of its own."""

    by_host: Mapping[str, tuple[bytes, ...]]

    def of(self, host: str) -> tuple[bytes, ...]:
        return self.by_host.get(host) or self.by_host.get(EVERYBODY, ())

    @classmethod
    def parse(cls, place: str, text: str) -> SigningKeys:
        """One key, or several with blanks in between while one is replaced; or such a text for each host, as JSON.

        >>> sorted(SigningKeys.parse("p", '{"*": "%s", "a.example": "%s"}' % ("A" * 32, "B" * 32)).by_host)
        ['*', 'a.example']
        """
        given = _object(place, text) if text.startswith("{") else {EVERYBODY: text}
        if not all(isinstance(each, str) for each in given.values()):
            raise _unfit(place)
        return cls({host.lower(): tuple(_keys(place, str(each))) for host, each in given.items()})


def _object(place: str, text: str) -> dict[str, object]:
    try:
        given = json.loads(text)
    except ValueError:
        raise _unfit(place) from None
    assert isinstance(given, dict)
    return given


def _keys(place: str, text: str) -> list[bytes]:
    try:
        found = [parse_key(each) for each in text.split()]
    except InvalidOptionError:
        raise _unfit(place) from None
    if not found:
        raise _unfit(place)
    return found


def _unfit(place: str) -> InvalidOptionError:
    """What stands there instead may be another secret: it is not shown."""
    return InvalidOptionError(
        place,
        "what is stored there are no webhook keys",
        'Store what leasehold.webhooks.new_key() makes, or {"*": "whsec_…", "hooks.example.com": "whsec_…"}.',
    )
