"""The limits that the pages name, as numbers: what is as large as one is taken, and what is larger is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.batches.model import Batch
from leasehold.circuit_breaker.model import CircuitBreaker
from leasehold.job_folders.folder import function_timeout
from leasehold.kernel.enqueue import parse_words
from leasehold.kernel.errors import LeaseholdError, NonRetryableError
from leasehold.kernel.job import Outcome, Run, appended, run_error
from leasehold.kernel.job_type import JobType
from leasehold.kernel.payload import encode_payload, encode_result
from leasehold.kernel.registry import Registry
from leasehold.kernel.retry import Delays, Exponential, Fixed, parse_retry
from leasehold.kernel.type_options import parse_attempts, parse_key
from leasehold.limits.model import Rate
from leasehold.limits.settings import check_resource, check_seats
from leasehold.runtime.signals import Snooze, failure_of
from leasehold.webhooks.address import parse_webhook

if TYPE_CHECKING:
    from collections.abc import Callable

A_DAY = 86_400


def nested(depth: int) -> object:
    return [nested(depth - 1)] if depth else None


def webhook(size: int) -> str:
    return "https://example.com/".ljust(size, "x")


def breaker(**seconds: int) -> CircuitBreaker:
    return CircuitBreaker(**{name: timedelta(seconds=each) for name, each in seconds.items()})  # type: ignore[arg-type]


MOST: dict[str, tuple[int, Callable[[int], object]]] = {
    "bytes of a payload": (200 * 1024, lambda size: encode_payload("x" * (size - 2))),
    "bytes of a result": (64 * 1024, lambda size: encode_result("x" * (size - 2))),
    "levels of a payload": (64, lambda depth: encode_payload(nested(depth))),
    "bits of a number": (14_000, lambda bits: encode_payload(2**bits - 1)),
    "bytes of a key": (256, lambda size: parse_key("x" * size, "dedup key")),
    "bytes of a key of other letters": (128, lambda size: parse_key("é" * size, "dedup key")),
    "bytes of a name": (256, lambda size: parse_words("x" * size, "a name")),
    "attempts": (1000, parse_attempts),
    "delays of a job's own": (50, lambda count: parse_retry(Delays((timedelta(0),) * count))),
    "days until a retry": (366, lambda days: Fixed(timedelta(days=days))),
    "days of a snooze": (366, lambda days: Snooze(timedelta(days=days))),
    "bytes of a webhook": (2048, lambda size: parse_webhook(webhook(size))),
    "ports": (65_535, lambda port: parse_webhook(f"https://example.com:{port}/")),
    "shards": (256, lambda shards: Registry(types={}, shards=shards)),
    "seats": (999, lambda seats: JobType(name="busy", concurrency=seats)),
    "starts at a rate": (999, lambda count: Rate(count, timedelta(seconds=1))),
    "seconds of a rate": (A_DAY, lambda seconds: Rate(1, timedelta(seconds=seconds))),
    "jobs of a batch": (100, lambda size: Batch(size=size)),
    "seconds that a batch waits": (300, lambda seconds: Batch(wait=timedelta(seconds=seconds))),
    "runs of a breaker": (1_000_000, lambda runs: CircuitBreaker(min_runs=runs)),
    "seconds of its window": (A_DAY, lambda seconds: breaker(window=seconds)),
    "seconds until its probe": (A_DAY, lambda seconds: breaker(probe_after=seconds, longest_pause=A_DAY)),
    "seconds of its pause": (A_DAY, lambda seconds: breaker(longest_pause=seconds)),
    "letters of a resource": (64, lambda size: check_resource("r" * size)),
}
LEAST: dict[str, tuple[int, Callable[[int], object]]] = {
    "bytes of a key": (1, lambda size: parse_key("x" * size, "dedup key")),
    "attempts": (1, parse_attempts),
    "seconds of a snooze": (1, Snooze),
    "seconds until a retry": (0, lambda seconds: Fixed(timedelta(seconds=seconds))),
    "ports": (1, lambda port: parse_webhook(f"https://example.com:{port}/")),
    "shards": (1, lambda shards: Registry(types={}, shards=shards)),
    "seats": (1, lambda seats: check_seats(seats, "concurrency")),
    "seconds of a rate": (1, lambda seconds: Rate(1, timedelta(seconds=seconds))),
    "jobs of a batch": (2, lambda size: Batch(size=size)),
    "seconds that a batch waits": (0, lambda seconds: Batch(wait=timedelta(seconds=seconds))),
    "runs of a breaker": (1, lambda runs: CircuitBreaker(min_runs=runs)),
    "seconds of its window": (1, lambda seconds: breaker(window=seconds)),
    "seconds until its probe": (10, lambda seconds: breaker(probe_after=seconds)),
    "seconds of its pause": (60, lambda seconds: breaker(longest_pause=seconds)),
}


@pytest.mark.parametrize("what", MOST)
def test_there_may_be_so_many_and_no_more(what: str) -> None:
    most, make = MOST[what]
    make(most)
    with pytest.raises(LeaseholdError):
        make(most + 1)


@pytest.mark.parametrize("what", LEAST)
def test_there_may_be_so_few_and_no_fewer(what: str) -> None:
    least, make = LEAST[what]
    make(least)
    with pytest.raises(LeaseholdError):
        make(least - 1)


def test_a_history_keeps_the_last_20_runs_and_96_kilobytes_of_them() -> None:
    now = datetime(2026, 11, 15, tzinfo=UTC)

    def history(size: int) -> tuple[Run, ...]:
        runs: tuple[Run, ...] = ()
        for number in range(30):
            text = "x" * (size - run(number, "").size)
            runs = appended(runs, run(number, text))
        return runs

    def run(number: int, text: str) -> Run:
        return Run(number=number, worker="", started_at=now, ended_at=now, outcome=Outcome.FAILED, error=text)

    assert len(history(300)) == 20
    assert len(history(96 * 1024 // 12)) == 12
    assert len(history(96 * 1024 // 12 + 1)) == 11


@pytest.mark.parametrize("size", [1023, 1024, 1025])
def test_a_run_keeps_a_kilobyte_of_its_error(size: int) -> None:
    kept = run_error("x" * size)

    assert kept is not None
    assert (kept == "x" * size, len(kept.encode()) <= 1024) == (size <= 1024, True)
    assert len(kept.encode()) >= min(size, 1020)


def test_an_error_s_code_is_at_most_128_bytes() -> None:
    def code(size: int) -> str:
        return failure_of(type("E" * size, (NonRetryableError,), {"code": "E" * size})("no")).code

    assert code(128) == "E" * 128
    assert len(code(129).encode()) <= 128


def test_a_type_that_says_nothing_has_the_defaults_of_the_pages() -> None:
    plain = JobType(name="plain")

    assert (plain.timeout, plain.max_event_age) == (timedelta(seconds=60), timedelta(seconds=60))
    assert (plain.max_attempts, plain.priority, plain.weight) == (5, 1, 1)
    assert (plain.heartbeat, plain.audit_creation, plain.check_payload) == (False, True, True)
    assert [plain.is_limited, plain.batch, plain.breaker, plain.webhook] == [False, None, None, None]
    assert plain.retry == Exponential(base=timedelta(seconds=60), cap=timedelta(hours=6), jitter=0.1)
    kept = plain.retention
    assert [each.days for each in (kept.completed, kept.cancelled, kept.dead_letter)] == [7, 7, 30]
    assert Batch() == Batch(size=10, wait=timedelta(0))
    assert CircuitBreaker() == CircuitBreaker(
        failure_rate=0.5,
        min_runs=20,
        window=timedelta(minutes=5),
        probe_after=timedelta(minutes=1),
        longest_pause=timedelta(hours=1),
    )


def test_an_invocation_has_ten_seconds_more_than_its_run_and_at_most_a_quarter_of_an_hour() -> None:
    def invocation(**seconds: int) -> float:
        return function_timeout(JobType(name="timed", timeout=timedelta(**seconds))).total_seconds()

    assert (invocation(seconds=60), invocation(minutes=15)) == (70, 900)
