"""The `[circuit_breaker]` table: when a type is paused by itself, and when it is tried again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.breaker import (
    LONGEST_WAIT,
    LONGEST_WINDOW,
    MOST_RUNS,
    SHORTEST_WAIT,
    CircuitBreaker,
    check_failure_rate,
)
from leasehold.domain.errors import InvalidInputError
from leasehold.settings.section import Unfit
from leasehold.settings.values import duration, whole_number

if TYPE_CHECKING:
    from leasehold.settings.section import Section

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
