"""Leasehold's bill, from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from docs.costing.bill import DAYS, MINUTES, SECONDS, Line, System
from docs.costing.figures import BATCHED_FROM

if TYPE_CHECKING:
    from docs.costing.figures import Assumptions, Measured
    from docs.costing.prices import Prices

_GB = 1e9
_REQUESTS_OF_A_BATCH = 3
# What a look at a lane reads: little, and it need not be up to date.
_UNITS_OF_A_LOOK = 0.5


@dataclass(frozen=True)
class Leasehold:
    """`is_scheduled`: jobs are for later, so that a resident poller waits for them; else they are due at once."""

    measured: Measured
    assumed: Assumptions
    prices: Prices
    is_scheduled: bool
    is_batched: bool = False

    def system(self) -> System:
        if self.is_batched:
            return System(
                "Leasehold, jobs due now, in batches",
                "A type with a `[batch]`: the starts, the ends and the invocation of ten jobs are shared.",
                self.lines,
            )
        if self.is_scheduled:
            return System(
                "Leasehold, jobs for later",
                "A resident poller waits for them, all month; they start on time.",
                self.lines,
            )
        return System("Leasehold, jobs due now", "The stream of the table wakes the poller.", self.lines)

    def lines(self, rate: float) -> list[Line]:
        return [*self._table(rate), *self._functions(rate), *self._kept(rate), *self._watched(rate)]

    def _table(self, rate: float) -> list[Line]:
        job, jobs = self.measured.job(rate), rate * SECONDS
        looks = self._resident_seconds(rate) * self.assumed.resident_looks_a_second * self.assumed.resident_lanes
        ticks = MINUTES * self.measured.idle_poll.read_units
        return [
            self._line("write units", f"{job.write_units:g} a job", jobs * job.write_units, "dynamodb_write"),
            self._line(
                "read units",
                f"{job.read_units:g} a job, and idle polls",
                jobs * (job.read_units + (self._batch(rate) > 1)) + ticks + looks * _UNITS_OF_A_LOOK,
                "dynamodb_read",
            ),
        ]

    def _functions(self, rate: float) -> list[Line]:
        assumed, jobs = self.assumed, rate * SECONDS
        polls = jobs / self.measured.jobs_a_poll(rate)
        ticks = MINUTES
        wakes = 0 if self.is_scheduled else polls
        handle = self.measured.job(rate).handle
        size = self._batch(rate)
        # Of a batch: one read of its jobs, one start and one end of all.
        requests = _REQUESTS_OF_A_BATCH / size if size > 1 else handle.requests
        runtime = self._gb_seconds(assumed.handler_gb, requests * assumed.call_seconds, handle.cpu_seconds)
        starts = jobs / size * assumed.cold_share * assumed.cold_seconds * assumed.handler_gb
        return [
            self._line("ticks", "one a minute", ticks, "scheduler"),
            self._line("invocations of the poller", "ticks and wakes", ticks + wakes, "lambda_request"),
            self._line("the poller at work", "claims, invokes and idle polls", self._poller(rate), "lambda_duration"),
            self._line(
                "invocations of handlers",
                f"one for {size} jobs" if size > 1 else "one a job",
                jobs / size,
                "lambda_request",
            ),
            self._line(
                "handlers at work",
                f"{assumed.handler_gb_seconds:g} GB-s a job",
                jobs * assumed.handler_gb_seconds,
                "lambda_duration",
            ),
            self._line("their start and end", f"{runtime:.4f} GB-s a job", jobs * runtime, "lambda_duration"),
            self._line("their cold starts", f"{assumed.cold_share:.0%} of them", starts, "lambda_duration"),
        ]

    def _poller(self, rate: float) -> float:
        """GB-seconds. A resident is there all the time anyway: what it does meanwhile costs nothing more."""
        assumed, poll, jobs = self.assumed, self.measured.job(rate).poll, rate * SECONDS
        idle = self.measured.idle_poll
        waiting = poll.requests * assumed.call_seconds + assumed.invoke_seconds / self._batch(rate)
        working = jobs * self._gb_seconds(assumed.poller_gb, waiting, poll.cpu_seconds)
        ticking = MINUTES * self._gb_seconds(assumed.poller_gb, idle.requests * assumed.call_seconds, idle.cpu_seconds)
        return max(working, self._resident_seconds(rate) * assumed.poller_gb) + ticking

    def _resident_seconds(self, rate: float) -> float:
        overlap = MINUTES * self.assumed.resident_overlap_seconds
        return SECONDS + overlap if self.is_scheduled and rate else 0

    def _kept(self, rate: float) -> list[Line]:
        assumed, jobs = self.assumed, rate * SECONDS
        stored = jobs * assumed.kept_days / DAYS * self.measured.stored_bytes / _GB
        invocations = jobs / self._batch(rate) + jobs / self.measured.jobs_a_poll(rate) + MINUTES
        logged = (jobs * self.measured.log_bytes + invocations * assumed.platform_log_bytes) / _GB
        how = f"{self.measured.stored_bytes:g} bytes a job for {assumed.kept_days} days"
        return [
            self._line("storage", how, stored, "dynamodb_storage"),
            self._line("point-in-time recovery", "the same GB", stored, "dynamodb_recovery"),
            self._line(
                "logs taken in", f"{self.measured.log_bytes:g} bytes a job, and Lambda's own", logged, "logs_ingested"
            ),
            self._line(
                "logs kept", f"for {assumed.logs_kept_days} days", logged * assumed.logs_kept_days / DAYS, "logs_kept"
            ),
        ]

    def _watched(self, rate: float) -> list[Line]:
        assumed = self.assumed
        return [
            self._line("metrics", "of the queue", assumed.metrics if rate else assumed.idle_metrics, "metric"),
            self._line("alarms", "one job type", assumed.alarms, "alarm"),
        ]

    def _batch(self, rate: float) -> int:
        return self.assumed.batch if self.is_batched and rate >= BATCHED_FROM else 1

    def _gb_seconds(self, gb: float, waiting_seconds: float, cpu_seconds: float) -> float:
        """A function with less memory has less of a core: its CPU time costs the same, its waiting less."""
        return gb * waiting_seconds + self.assumed.gb_of_a_core * cpu_seconds

    def _line(self, what: str, how: str, quantity: float, price: str) -> Line:
        return Line(what, how, quantity, self.prices[price])
