"""The bills of the other ways to run jobs on AWS, with the same handler. Doubts are decided in their favour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from docs.costing.bill import DAYS, MINUTES, SECONDS, Line, System
from docs.costing.figures import BATCHED_FROM

if TYPE_CHECKING:
    from docs.costing.figures import Assumptions
    from docs.costing.prices import Prices

_GB = 1e9
# A standard workflow that waits for its time and then runs the handler: two states, and no retries.
_TRANSITIONS = 2
# An express workflow is billed for whole 100 ms and 64 MB: the handler's 100 ms and what surrounds it.
_EXPRESS_GB_SECONDS = 0.0625 * 0.2
# Put with an index by status: 2. To running and to done: 3 each, for an entry that moves is deleted and put.
_NAIVE_WRITES = 8
# The execution, its wait and its step.
_DURABLE_OPERATIONS = 3
# Before each of the two changes the item is read.
_NAIVE_READS = 2


@dataclass(frozen=True)
class Others:
    assumed: Assumptions
    prices: Prices

    def systems(self) -> list[System]:
        return [
            System(
                "SQS + Lambda, jobs due now",
                "No status, no history, no deduplication, no cancelling; nothing later than 15 minutes.",
                self._queue,
            ),
            System(
                "EventBridge Scheduler + SQS + Lambda, jobs for later",
                "One schedule a job, which fires within the minute. No status, no history.",
                self._scheduled_queue,
            ),
            System(
                "Step Functions, standard",
                "Wait, then the handler. Keeps a history for 90 days; branches and parallel steps are its strength.",
                self._standard,
            ),
            System(
                "Step Functions, express, jobs due now",
                "At most 5 minutes long, and no history but in logs, which are not counted here.",
                self._express,
            ),
            System(
                "Lambda durable functions",
                "A job is an execution that waits and then runs one step. Keeps its history; no limits, no "
                "priorities, no deduplication but by name, no listing by due time.",
                self._durable,
            ),
            System(
                "A naive table, index by status",
                "A worker that queries by status once a second, reads, changes and writes back. It has no leases: a "
                "crash loses jobs, two workers run one twice.",
                self._indexed,
            ),
            System(
                "A naive table, scanned",
                "The same without an index: once a minute all that was kept is read.",
                self._scanned,
            ),
        ]

    def _queue(self, rate: float) -> list[Line]:
        jobs, batch = rate * SECONDS, self._batch(rate)
        idle = self.assumed.sqs_idle_pollers * 3 * MINUTES
        requests = jobs + 2 * jobs / batch
        return [
            self._line("requests", f"send; receive and delete {batch} at once", requests, "sqs"),
            self._line("requests that find nothing", "long polls of Lambda", max(idle - jobs / batch, 0), "sqs"),
            *self._handlers(rate, invocations=jobs / batch),
        ]

    def _scheduled_queue(self, rate: float) -> list[Line]:
        return [self._line("schedules that fire", "one a job", rate * SECONDS, "scheduler"), *self._queue(rate)]

    def _standard(self, rate: float) -> list[Line]:
        jobs = rate * SECONDS
        return [
            self._line("state transitions", f"{_TRANSITIONS} a job", jobs * _TRANSITIONS, "step_functions_transition"),
            *self._handlers(rate, invocations=jobs),
        ]

    def _express(self, rate: float) -> list[Line]:
        jobs = rate * SECONDS
        seconds = jobs * _EXPRESS_GB_SECONDS
        return [
            self._line("requests", "one a job", jobs, "step_functions_express"),
            self._line("workflows at work", "64 MB for 200 ms", seconds, "step_functions_express_duration"),
            *self._handlers(rate, invocations=jobs),
        ]

    def _durable(self, rate: float) -> list[Line]:
        jobs = rate * SECONDS
        written = jobs * self.assumed.naive_item_bytes / _GB
        return [
            self._line("operations", f"{_DURABLE_OPERATIONS} a job", jobs * _DURABLE_OPERATIONS, "durable_operation"),
            self._line("data written", f"{self.assumed.naive_item_bytes} bytes a job", written, "durable_written"),
            self._line(
                "data kept",
                f"for {self.assumed.kept_days} days",
                written * self.assumed.kept_days / DAYS,
                "durable_kept",
            ),
            # It is invoked once to begin its wait and once to run its step.
            *self._handlers(rate, invocations=2 * jobs),
        ]

    def _indexed(self, rate: float) -> list[Line]:
        jobs = rate * SECONDS
        found = jobs * self.assumed.naive_item_bytes / 4096 * 0.5
        return [
            *self._naive(rate, reads=jobs * _NAIVE_READS + SECONDS * 0.5 + found, how="2 a job; a query a second"),
            self._line("a worker", "0.5 GB all month", SECONDS * self.assumed.poller_gb, "lambda_duration"),
        ]

    def _scanned(self, rate: float) -> list[Line]:
        jobs = rate * SECONDS
        kept_bytes = jobs * self.assumed.kept_days / DAYS * self.assumed.naive_item_bytes
        scanned = MINUTES * kept_bytes / 4096 * 0.5
        return [
            *self._naive(rate, reads=jobs * _NAIVE_READS + scanned, how="2 a job; a scan a minute", indexed=False),
            # A scan reads a megabyte a call; how many calls run beside each other is the worker's business.
            self._line("a worker", "0.5 GB all month", SECONDS * self.assumed.poller_gb, "lambda_duration"),
        ]

    def _naive(self, rate: float, *, reads: float, how: str, indexed: bool = True) -> list[Line]:
        jobs = rate * SECONDS
        writes = _NAIVE_WRITES if indexed else 3
        entry = self.assumed.naive_entry_bytes if indexed else 0
        stored = jobs * self.assumed.kept_days / DAYS * (self.assumed.naive_item_bytes + 100 + entry) / _GB
        return [
            self._line("write units", f"{writes} a job", jobs * writes, "dynamodb_write"),
            self._line("read units", how, reads, "dynamodb_read"),
            self._line("storage", f"for {self.assumed.kept_days} days", stored, "dynamodb_storage"),
            *self._handlers(rate, invocations=jobs),
        ]

    def _handlers(self, rate: float, *, invocations: float) -> list[Line]:
        assumed, jobs = self.assumed, rate * SECONDS
        logged = invocations * assumed.platform_log_bytes / _GB
        return [
            self._line("invocations of handlers", "one a job, or a batch", invocations, "lambda_request"),
            self._line(
                "handlers at work",
                f"{assumed.handler_gb_seconds:g} GB-s a job",
                jobs * assumed.handler_gb_seconds,
                "lambda_duration",
            ),
            self._line("logs taken in", "Lambda's own lines", logged, "logs_ingested"),
            self._line(
                "logs kept", f"for {assumed.logs_kept_days} days", logged * assumed.logs_kept_days / DAYS, "logs_kept"
            ),
        ]

    def _batch(self, rate: float) -> int:
        return self.assumed.sqs_batch if rate >= BATCHED_FROM else 1

    def _line(self, what: str, how: str, quantity: float, price: str) -> Line:
        return Line(what, how, quantity, self.prices[price])
