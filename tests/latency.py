"""The latency and CPU profile: how long AWS takes for what we ask of it, and how much of a core a function has.

Every figure about speed uses it. The figures are round and on the slow side of what is commonly measured within one
region, so that a bound that holds here holds there. Change one here, and run what measures with it (`make limits`,
`make bench`) again.

In virtual time the table of tests/limits/table.py takes these times; a real client sleeps them once it was `slowed`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

# Lambda gives a function with this much memory one whole core, and less memory a part of it in proportion.
ONE_CORE_MB = 1769
_PERIOD_MICROS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The model of CPU, in seconds of a full core. Measured here: `make bench`, `cpu_per_handover`.

    call: botocore's part of a request: serialise, sign, send, parse: 0.7 to 0.9 ms, whatever is asked.
    statement: what each statement of a batch adds to that: building, serialising and parsing it.
    """

    call: float = 0.0008
    statement: float = 0.00008


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """All in seconds.

    call: one request to DynamoDB: AWS promises single-digit milliseconds; 3 to 6 are usual from Lambda in the region.
    batch: a page of 25 PartiQL statements: about two calls, since DynamoDB works on them side by side.
    transaction: prepare and commit are two rounds between its nodes, so more than two calls.
    invoke: an asynchronous invoke is accepted when Lambda has queued it: 15 to 30 ms.
    stream: from a write until its record starts a function; the event source mapping looks about four times a second.
    index_lag: from a write until a global secondary index shows it; mostly some 10 ms, seldom some 100.
    cpu: what calls cost the one who makes them; None where only waiting counts.
    """

    call: float = 0.005
    batch: float = 0.010
    transaction: float = 0.012
    invoke: float = 0.020
    stream: float = 0.250
    index_lag: float = 0.050
    cpu: Cpu | None = None

    def batches(self, statements: int) -> float:
        """So many statements, a page after the other."""
        return self.batch * ceil(statements / STATEMENTS_PER_PAGE)

    def of_operation(self, operation: str) -> float:
        """How long a real client is to wait for this operation of DynamoDB or Lambda."""
        named = {
            "BatchExecuteStatement": self.batch,
            "TransactWriteItems": self.transaction,
            "ExecuteTransaction": self.transaction,
            "Invoke": self.invoke,
        }
        return named.get(operation, self.call)


STATEMENTS_PER_PAGE = 25
AWS = Latencies()
# What limits are measured with: an index on a bad day, since each wake of a waiting lane is read from one.
SLOW_INDEX = Latencies(index_lag=0.250)
# What throughput is measured with: waiting is hidden by doing it side by side, CPU is not.
AWS_WITH_CPU = Latencies(cpu=Cpu())


def cpu_share(memory_mb: int) -> float:
    """How much of one core a function has.

    >>> [round(cpu_share(memory), 3) for memory in (128, 256, 512, 1769)]
    [0.072, 0.145, 0.289, 1.0]
    """
    return min(memory_mb / ONE_CORE_MB, 1.0)


def slowed(client: Any, latencies: Latencies = AWS) -> Any:
    """Let each call of a real boto3 client take as long as it takes on AWS, at the least."""

    def wait(request: Any, event_name: str, **_: Any) -> None:
        time.sleep(latencies.of_operation(event_name.rpartition(".")[2]))

    client.meta.events.register("before-send", wait)
    return client


def quota(pid: int, share: float) -> Path | None:
    """Give a process a share of one core by a cgroup; None where this machine does not let us. `release` it after."""
    micros = int(share * _PERIOD_MICROS)
    for root, limit, text in (
        (Path("/sys/fs/cgroup"), "cpu.max", f"{micros} {_PERIOD_MICROS}"),
        (Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us", str(micros)),
    ):
        group = root / f"leasehold-{pid}"
        try:
            group.mkdir()
            # A folder that is no cgroup has no such file, and would take anything.
            if not (group / limit).exists():
                raise OSError(f"{root} is no root of cgroups that limit CPU")
            (group / limit).write_text(text)
            (group / "cgroup.procs").write_text(str(pid))
        except OSError:
            release(group)
            continue
        return group
    return None


def release(group: Path | None) -> None:
    """Remove a quota whose process has ended."""
    if group is not None:
        with suppress(OSError):
            group.rmdir()
