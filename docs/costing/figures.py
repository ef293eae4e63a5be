"""What the bills take from the benchmarks, and what they have to assume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SMALL = "0.2 KB typical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The same for every system. Each field is a row of the page's table of assumptions, said by `ASSUMED`."""

    handler_gb: float = 0.125
    handler_seconds: float = 0.1
    poller_gb: float = 0.5
    call_seconds: float = 0.005
    invoke_seconds: float = 0.010
    gb_of_a_core: float = 1.769
    platform_log_bytes: int = 400
    kept_days: int = 7
    logs_kept_days: int = 30
    idle_metrics: int = 5
    metrics: int = 8
    alarms: int = 13
    alarms_a_type: int = 2
    resident_lanes: int = 4
    resident_looks_a_second: int = 2
    # The tick takes over from a resident once a minute, which the resident notices within this.
    resident_overlap_seconds: int = 5
    # Queries of a naive table by status read what a worker takes at once, of about this size.
    naive_item_bytes: int = 600
    naive_entry_bytes: int = 300
    # A start is billed since August 2025; how many invocations find no warm container is the account's own affair.
    cold_share: float = 0.01
    cold_seconds: float = 0.5
    batch: int = 10
    sqs_idle_pollers: int = 5
    sqs_batch: int = 10

    @property
    def handler_gb_seconds(self) -> float:
        return self.handler_gb * self.handler_seconds


ASSUMED = {
    "handler": "{handler_gb:g} GB of memory for {handler_seconds:g} s, on arm64, the same everywhere",
    "poller": "{poller_gb:g} GB of memory, as it is deployed",
    "a call of AWS from a function": "{call_seconds:g} s; an asynchronous invoke {invoke_seconds:g} s",
    "CPU": "as measured; a function has one core for every {gb_of_a_core:g} GB of its memory",
    "Lambda's own log lines": "{platform_log_bytes} bytes an invocation (START, END, REPORT)",
    "kept": "ended jobs for {kept_days} days, logs for {logs_kept_days}",
    "watched by": (
        "{metrics} metrics ({idle_metrics} of them while nothing runs) and {alarms} alarms, as deployed with the "
        "default settings for one job type; {alarms_a_type} alarms for each further type"
    ),
    "resident poller": (
        "looks at {resident_lanes} lanes, {resident_looks_a_second} times a second, for half a read unit each; a tick "
        "takes over every 60 s, and for {resident_overlap_seconds} s more both are paid for"
    ),
    "billed starts": "{cold_share:.0%} of our handlers' invocations find no warm container: {cold_seconds:g} s each",
    "batches": "{batch} jobs an invocation from 100 jobs a second; their CPU is counted as that of single jobs",
    "naive table": "{naive_item_bytes} bytes an item, {naive_entry_bytes} bytes its entry in the index by status",
    "queue of SQS": "{sqs_idle_pollers} pollers of Lambda, 20 s a poll; from 100 jobs a second a batch has {sqs_batch}",
}


@dataclass(frozen=True, slots=True)
class Phase:
    """What one job costs in one process."""

    read_units: float
    requests: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class JobCost:
    """A plain job with a small payload, from its enqueueing to its end."""

    write_units: float
    read_units: float
    poll: Phase
    handle: Phase


@dataclass(frozen=True, slots=True)
class Measured:
    """`alone`: each job has a poll to itself. `together`: as many as `batch` share one."""

    alone: JobCost
    together: JobCost
    batch: int
    stored_bytes: float
    idle_poll: Phase
    log_bytes: float

    @classmethod
    def of(cls, results: dict[str, Any]) -> Measured:
        benchmarks = results["benchmarks"]
        lives, polls, lateness = (benchmarks[name] for name in ("lives", "polls", "lateness"))
        idle = polls["tables"]["0"]["idle"]
        return cls(
            alone=_job(lives["plain, one at a time"][SMALL]),
            together=_job(lives["plain"][SMALL]),
            batch=lives["jobs"],
            stored_bytes=lives["plain"][SMALL]["stored_bytes"],
            # All of its time counts as CPU: too much rather than too little, and cents either way.
            idle_poll=Phase(idle["read_units"], idle["requests"], idle["milliseconds"] / 1000),
            log_bytes=lateness["logs"]["bytes_per_job"],
        )

    def job(self, rate: float) -> JobCost:
        return self.together if rate >= BATCHED_FROM else self.alone

    def jobs_a_poll(self, rate: float) -> int:
        return self.batch if rate >= BATCHED_FROM else 1


# Jobs a second from which polls, and batches of a queue, find more than one at a time.
BATCHED_FROM = 100


def _job(cost: dict[str, Any]) -> JobCost:
    poll, handle = (_phase(cost["phases"][name]) for name in ("poll", "handle"))
    return JobCost(cost["write_units"], cost["read_units"], poll, handle)


def _phase(cost: dict[str, Any]) -> Phase:
    return Phase(cost["read_units"], cost["requests"], cost["cpu_ms"] / 1000)
