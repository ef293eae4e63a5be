"""Times and lengths of time, as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_LENGTH = re.compile(r"(\d{1,6})([smhdw])")


def past_moment(text: str | None, now: datetime, *, what: str) -> datetime | None:
    """An ISO time, or how long ago: "30m", "2h", "7d"."""
    if text is None:
        return None
    if _LENGTH.fullmatch(text.strip()):
        return _shifted(now, -length_of(text, what=what), what)
    return _iso(text, what, "Use a time like 2026-11-15T09:30Z, or how long ago: 30m, 2h, 7d.")


def moment(text: str | None, *, what: str) -> datetime | None:
    """An ISO time, also a future one."""
    return None if text is None else _iso(text, what, "Use a time like 2026-11-15T09:30Z or 2026-11-15.")


def length_of(text: str, *, what: str) -> timedelta:
    """
    >>> length_of("90s", what="--in"), length_of("2h", what="--in")
    (datetime.timedelta(seconds=90), datetime.timedelta(seconds=7200))
    """
    from leasehold.kernel.errors import InvalidOptionError

    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise InvalidOptionError(
            text, f"{what} is a length of time", "Use a number and a unit, like 90s, 15m, 2h, 7d or 1w."
        )
    return int(found[1]) * _UNITS[found[2]]


def _iso(text: str, what: str, fix: str) -> datetime:
    """A time says its timezone, as in the SDK and the API; a date alone is a day in UTC."""
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.kernel.times import instant

    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidOptionError(text, f"{what} is no time", fix) from None
    if found.tzinfo is None and len(text.strip()) > len("2026-11-15"):
        raise InvalidOptionError(text, f"{what} has no timezone", f"Write {text.strip()}Z for UTC, or an offset.")
    return instant(found if found.tzinfo else found.replace(tzinfo=UTC), what=what)


def _shifted(now: datetime, by: timedelta, what: str) -> datetime:
    from leasehold.kernel.times import later

    return later(now, by, what=what)
