"""The limits of a job.toml: how many jobs of a type run at once, or start in a while."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.circuit_breaker.model import (
    LONGEST_WAIT,
    LONGEST_WINDOW,
    MOST_RUNS,
    SHORTEST_WAIT,
    CircuitBreaker,
    check_failure_rate,
)
from leasehold.job_folders.toml import Unfit, choice, duration, text, whole_number
from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.type_options import MAX_SEATS, OnFull, check_resource
from leasehold.limits.model import Rate
from leasehold.webhooks.address import RunEvent, Webhook, parse_webhook

if TYPE_CHECKING:
    from leasehold.job_folders.toml import Section


UNLIMITED = "unlimited"
_RATE = re.compile(r"(\d{1,9}) ?(?:/|per) ?(.+)")

_seats = whole_number('concurrency is a number or "unlimited",', "", 1, MAX_SEATS)
_weight = whole_number("a weight is", "", 1, MAX_SEATS)
_period = duration("a rate counts over")


def read_limits(root: Section) -> dict[str, Any]:
    """The fields of a JobType that limit it."""
    if not root.has("concurrency"):
        # Silence would let any number run at once, and nobody would have decided that.
        root.note(
            "",
            "it does not say how many of its jobs may run at once",
            'Write concurrency = 1, a larger number, or "unlimited".',
        )
    return {
        "concurrency": root.read("concurrency", _concurrency, None),
        "concurrency_per_key": root.read("concurrency_per_key", _concurrency, None),
        "rate": root.read("rate", _rate, None),
        "rate_per_key": root.read("rate_per_key", _rate, None),
        "resources": root.read_each("resources", _resource),
        "weight": root.read("weight", _weight, 1),
        "weights": _read_weights(root.section("weights")),
        "on_full": root.read("on_full", choice({str(each): each for each in OnFull}), OnFull.WAIT),
    }


def _read_weights(section: Section) -> dict[str, int]:
    """How many jobs of each key have a turn together: `[weights]` with a key and its number a line."""
    weights = {key: section.read(key, _weight, 1) for key in section.names()}
    section.close("[weights]")
    return weights


def _concurrency(value: object) -> int | None:
    """A number of seats, or "unlimited": written out, so that a reader of the file sees that somebody decided."""
    return None if value == UNLIMITED else _seats(value)


def _rate(value: object) -> Rate:
    """So many per a while: "100 per minute", "5/s", "1 per 30 seconds"."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Unfit("a rate is a number per a length of time", 'Use text like "100 per minute" or "5/s".')
    length = found[2] if found[2][0].isdigit() else f"1 {found[2]}"
    try:
        return Rate(int(found[1]), _period(length))
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None


def _resource(value: object) -> str:
    name = text(value)
    try:
        check_resource(name)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None
    return name


_DEFAULT = CircuitBreaker()
_min_runs = whole_number("a rate is known after", " run", 1, MOST_RUNS)
_window = duration("runs are counted over", timedelta(seconds=1), LONGEST_WINDOW)
_wait = duration("an open circuit waits", SHORTEST_WAIT, LONGEST_WAIT)


def read_circuit_breaker(table: Section) -> CircuitBreaker:
    """Its keys all have defaults: the header alone switches it on."""
    failure_rate = table.read("failure_rate", _failure_rate, _DEFAULT.failure_rate)
    min_runs = table.read("min_runs", _min_runs, _DEFAULT.min_runs)
    window = table.read("window", _window, _DEFAULT.window)
    probe_after = table.read("probe_after", _wait, _DEFAULT.probe_after)
    longest_pause = table.read("longest_pause", _wait, max(_DEFAULT.longest_pause, probe_after))
    table.close("[circuit_breaker]")
    return table.build(
        lambda: CircuitBreaker(
            failure_rate=failure_rate,
            min_runs=min_runs,
            window=window,
            probe_after=probe_after,
            longest_pause=longest_pause,
        ),
        _DEFAULT,
    )


def _failure_rate(value: object) -> float:
    try:
        check_failure_rate(value)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None
    assert isinstance(value, int | float)
    return float(value)


_event = choice({str(each): each for each in RunEvent})


def read_webhook(table: Section) -> Webhook:
    """Without an address it says which events are told of jobs that bring one; without events, all are."""
    url = table.read("url", _url, None)
    events = table.read_each("events", _event, required="a webhook tells of something" if table.has("events") else "")
    table.close("[webhook]")
    return Webhook(url=url, events=events or tuple(RunEvent))


def _url(value: object) -> str:
    try:
        return parse_webhook(value)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None
