"""Values of options that need more than a word: payloads, priorities, retry delays, dedup windows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold.cli.times import length_of

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.admin.pages import JobFilter
    from leasehold.kernel.dedup import DedupWindow, OnDuplicate
    from leasehold.kernel.keys import Priority
    from leasehold.kernel.payload import Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services

_TIMES = {"since", "until", "created_since", "created_until", "ended_since", "ended_until"}


def read_payload(text: str | None, file: str | None) -> Json:
    """The payload from an option, a file or the standard input; None where nothing is given."""
    from leasehold.kernel.errors import InvalidOptionError

    if text is not None and file is not None:
        raise InvalidOptionError(file, "the payload is given twice", "Pass --payload or --payload-file.")
    if file is not None:
        text = _content(file)
    if text is None:
        return None
    try:
        payload: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptionError(
            text, f"the payload is no JSON ({error})", """Quote it for the shell: --payload '{"user_id": "ada"}'."""
        ) from None
    return payload


def edited_payload(text: str | None, file: str | None) -> str | None:
    """A payload in the form in which a job shows it, encoded; None where nothing is given."""
    from leasehold.payloads.forms import encode_shown

    return None if text is None and file is None else encode_shown(read_payload(text, file))


def check_type(services: Services, job_type: str | None) -> None:
    """UnknownJobTypeError for a type that never was: an empty list hides a typo. Retired ones have jobs still."""
    from leasehold.kernel.type_options import DELIVERY

    registry = services.deployment.registry()
    if job_type is not None and job_type != DELIVERY and job_type not in registry.retired:
        registry.job_type(job_type)


def jobs_wanted(now: datetime, *, status: list[str] | None, **given: str | None) -> JobFilter:
    """The filter that options say: `created_since` and its like are times, others stand as they are."""
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.times import past_moment

    wanted: dict[str, Any] = {}
    for name, value in given.items():
        about, _, side = name.rpartition("_")
        if name in _TIMES:
            field = f"{about or 'scheduled'}_{'from' if side == 'since' else 'to'}"
            wanted[field] = past_moment(value, now, what=f"--{name.replace('_', '-')}")
        else:
            wanted[name] = value
    return JobFilter(statuses=frozenset(status or ()), **wanted)  # type: ignore[arg-type]


def parse_priority(text: str | None) -> Priority | None:
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.kernel.keys import Priority

    if text is None:
        return None
    found = {each.name.lower(): each for each in Priority} | {str(int(each)): each for each in Priority}
    if text.lower() not in found:
        raise InvalidOptionError(text, "this is no priority", "Use low, normal, high or critical.")
    return found[text.lower()]


def parse_on_duplicate(text: str) -> OnDuplicate:
    from leasehold.kernel.dedup import OnDuplicate
    from leasehold.kernel.errors import InvalidOptionError

    try:
        return OnDuplicate(text)
    except ValueError:
        raise InvalidOptionError(text, "--on-duplicate is not known", f"Use one of {', '.join(OnDuplicate)}.") from None


def parse_delays(text: str | None) -> RetryPolicy | None:
    """
    >>> parse_delays("10s,5m")
    Delays(delays=(datetime.timedelta(seconds=10), datetime.timedelta(seconds=300)))
    """
    from leasehold.kernel.retry import Delays

    if text is None:
        return None
    return Delays(tuple(length_of(each, what="a delay of --retry-delays") for each in text.split(",")))


def parse_window(text: str | None) -> DedupWindow | None:
    """`day`, `day:Europe/Berlin`, or a length of time."""
    from leasehold.kernel.dedup import Day, Within

    if text is None:
        return None
    kind, _, zone = text.partition(":")
    if kind == "day":
        return Day(zone) if zone else Day()
    return Within(length_of(text, what="--dedup-window (day, day:Europe/Berlin, or a time)"))


def _content(file: str) -> str:
    from leasehold.kernel.errors import InvalidOptionError

    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidOptionError(file, f"this cannot be read ({error})", "Name a file with JSON.") from None
