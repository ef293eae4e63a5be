"""What a job.toml says of features: limits, retries, retention, batches, a circuit breaker, a webhook."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator

from leasehold.batches.model import LARGEST_BATCH, LONGEST_BATCH_WAIT, SMALLEST_BATCH, Batch
from leasehold.circuit_breaker.model import (
    LONGEST_WAIT,
    LONGEST_WINDOW,
    MOST_RUNS,
    SHORTEST_WAIT,
    CircuitBreaker,
    check_failure_rate,
)
from leasehold.job_folders.toml import Listed, Table, built, choice, duration, length_of, text, whole_number
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.retry import MAX_DELAY, Delays, Exponential, Fixed, RetryPolicy
from leasehold.kernel.type_options import MAX_SEATS, OnFull, Retention
from leasehold.limits.model import Rate
from leasehold.limits.settings import check_resource
from leasehold.webhooks.address import RunEvent, Webhook, parse_webhook

UNLIMITED = "unlimited"
_RATE = re.compile(r"(\d{1,9}) ?(?:/|per) ?(.+)")

_seats = whole_number('concurrency is a number or "unlimited",', "", 1, MAX_SEATS)


def _concurrency(value: object) -> int | None:
    """A number of seats, or "unlimited": written out, so that a reader of the file sees that somebody decided."""
    return None if value == UNLIMITED else _seats.func(value)  # type: ignore[call-arg]


def _rate(value: object) -> Rate:
    """So many per a while: "100 per minute", "5/s", "1 per 30 seconds"."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidOptionError(
            value, "a rate is a number per a length of time", 'Use text like "100 per minute" or "5/s".'
        )
    return Rate(int(found[1]), length_of(found[2] if found[2][0].isdigit() else f"1 {found[2]}"))


def _resource(value: object) -> str:
    check_resource(text(value))
    return str(value)


type _Concurrency = Annotated[int | None, PlainValidator(_concurrency)]
type _StartRate = Annotated[Rate | None, PlainValidator(_rate)]
type _Weight = Annotated[int, whole_number("a weight is", "", 1, MAX_SEATS)]


class Limits(Table):
    """The fields of a JobType that limit it."""

    # Silence would let any number run at once, and nobody would have decided that.
    concurrency: _Concurrency = Field(
        description="it does not say how many of its jobs may run at once",
        examples=['1, a larger number, or "unlimited"'],
    )
    concurrency_per_key: _Concurrency = None
    rate: _StartRate = None
    rate_per_key: _StartRate = None
    resources: Listed[Annotated[str, PlainValidator(_resource)]] = ()
    weight: _Weight = 1
    # How many jobs of each key have a turn together.
    weights: dict[str, _Weight] = Field(default_factory=dict)
    on_full: Annotated[OnFull, choice(OnFull)] = OnFull.WAIT


_EXPONENTIAL = Exponential()
type _Delay = Annotated[timedelta, duration("a retry comes after", most=MAX_DELAY)]


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidOptionError(value, "this is a number from 0 to 1", "Use 0.1 for up to ten per cent.")
    return float(value)


class ExponentialRetry(Table):
    called: ClassVar = '[retry] with policy = "exponential"'

    policy: Annotated[str, choice(("exponential", "fixed", "delays"))] = "exponential"
    base: _Delay = _EXPONENTIAL.base
    cap: _Delay = _EXPONENTIAL.cap
    jitter: Annotated[float, PlainValidator(_share)] = _EXPONENTIAL.jitter


class FixedRetry(Table):
    called: ClassVar = '[retry] with policy = "fixed"'

    policy: str
    delay: _Delay = timedelta(seconds=60)


class DelaysRetry(Table):
    called: ClassVar = '[retry] with policy = "delays"'

    policy: str
    delays: Listed[_Delay] = Field(min_length=1, description='policy = "delays" lists them', examples=['["…"]'])


def read_retry(value: object) -> RetryPolicy:
    policy = value.get("policy") if isinstance(value, dict) else None
    if policy == "fixed":
        return Fixed(FixedRetry.model_validate(value).delay)
    if policy == "delays":
        return Delays(DelaysRetry.model_validate(value).delays)
    read = ExponentialRetry.model_validate(value)
    cap = read.cap if "cap" in read.model_fields_set else max(read.cap, read.base)
    return Exponential(read.base, cap, read.jitter)


_RETENTION = Retention()
type _Kept = Annotated[timedelta, duration("an ended job is kept for", timedelta(hours=1))]


class RetentionTable(Table):
    called: ClassVar = "[retention]"

    completed: _Kept = _RETENTION.completed
    cancelled: _Kept = _RETENTION.cancelled
    dead_letter: _Kept = _RETENTION.dead_letter


_BATCH = Batch()


class BatchTable(Table):
    """Its keys have defaults: the header alone switches it on."""

    called: ClassVar = "[batch]"

    size: Annotated[int, whole_number("a batch has", " jobs", SMALLEST_BATCH, LARGEST_BATCH)] = _BATCH.size
    wait: Annotated[timedelta, duration("a batch waits", timedelta(0), LONGEST_BATCH_WAIT)] = _BATCH.wait


_BREAKER = CircuitBreaker()
type _Wait = Annotated[timedelta, duration("an open circuit waits", SHORTEST_WAIT, LONGEST_WAIT)]


def _failure_rate(value: Any) -> float:
    check_failure_rate(value)
    return float(value)


class CircuitBreakerTable(Table):
    """Its keys all have defaults: the header alone switches it on."""

    called: ClassVar = "[circuit_breaker]"

    failure_rate: Annotated[float, PlainValidator(_failure_rate)] = _BREAKER.failure_rate
    min_runs: Annotated[int, whole_number("a rate is known after", " run", 1, MOST_RUNS)] = _BREAKER.min_runs
    window: Annotated[timedelta, duration("runs are counted over", timedelta(seconds=1), LONGEST_WINDOW)] = (
        _BREAKER.window
    )
    probe_after: _Wait = _BREAKER.probe_after
    longest_pause: _Wait = _BREAKER.longest_pause


def read_circuit_breaker(value: object) -> CircuitBreaker:
    read = CircuitBreakerTable.model_validate(value)
    is_given = "longest_pause" in read.model_fields_set
    longest = read.longest_pause if is_given else max(read.longest_pause, read.probe_after)
    return CircuitBreaker(**dict(read) | {"longest_pause": longest})


class WebhookTable(Table):
    """Without an address it says which events are told of jobs that bring one; without events, all are."""

    called: ClassVar = "[webhook]"

    url: Annotated[str | None, PlainValidator(parse_webhook)] = None
    events: Listed[Annotated[RunEvent, choice(RunEvent)]] = Field(
        tuple(RunEvent), min_length=1, description="a webhook tells of something", examples=['["…"]']
    )


type Retry = Annotated[RetryPolicy, PlainValidator(read_retry)]
type Kept = Annotated[Retention, built(RetentionTable, Retention)]
type Batched = Annotated[Batch | None, built(BatchTable, Batch)]
type Breaker = Annotated[CircuitBreaker | None, PlainValidator(read_circuit_breaker)]
type Told = Annotated[Webhook | None, built(WebhookTable, Webhook)]
