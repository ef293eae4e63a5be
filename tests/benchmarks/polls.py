"""What a poll costs while finished jobs pile up: it must not depend on them."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold import JobStatus, JobType
from leasehold.kernel.jobs import ended_lane
from leasehold.kernel.poll import Poller
from leasehold.kernel.table import ENDED_INDEX, JOBS
from leasehold.testing import FakeClock
from tests.benchmarks.engines import client_of, dynoxide
from tests.cost import crowd
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.sizes import Sizes
    from tests.meter import Reading

_TYPE = "report"
_TIMED = 15


def measure(sizes: Sizes) -> dict[str, Any]:
    tables = {str(finished): _beside(finished) for finished in sizes.finished}
    return {"tables": tables, "highest_to_lowest": _spread(tables)}


def headline(figures: dict[str, Any]) -> str:
    idle = {name: each["idle"]["read_units"] for name, each in figures["tables"].items()}
    beside = ", ".join(f"{units:g} beside {int(name):,}" for name, units in idle.items())
    return f"read units of an idle poll: {beside} finished jobs"


def _beside(finished: int) -> dict[str, Any]:
    clock = FakeClock()
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        lines = crowd.finished(_TYPE, finished, clock.now())
        database = crowd.database_of(lines, "full-jobs", Path(folder)) if finished else None
        with dynoxide(database) as endpoint:
            deployed = RealQueue(client_of(endpoint), [JobType(name=_TYPE)], name="full", clock=clock)
            _assert_holds(deployed, finished)
            return _costs(deployed)


def _assert_holds(deployed: RealQueue, finished: int) -> None:
    lane = ended_lane(JobStatus.COMPLETED, _TYPE)
    found = deployed.services.store.table.count(JOBS, lane, index=ENDED_INDEX, limit=10**6)
    if found != finished:
        raise AssertionError(f"{found} finished jobs are in the table instead of {finished}")


def _costs(deployed: RealQueue) -> dict[str, Any]:
    """Of a poll that finds nothing, and of one that finds a job that has just fallen due."""
    inbox = Inbox()
    poller = Poller(deployed.process(), inbox, worker_id="poller")
    poller.poll()
    milliseconds = statistics.median(_milliseconds(poller.poll) for _ in range(_TIMED))
    meter = Meter(deployed.client)
    idle = meter.during(poller.poll)
    deployed.queue.enqueue(_TYPE, {"n": 1})
    claiming = meter.during(poller.poll)
    if len(inbox.handovers) != 1:
        raise AssertionError(f"the poll handed {len(inbox.handovers)} jobs over instead of the one that is due")
    return {"idle": {**_record(idle), "milliseconds": round(milliseconds, 2)}, "claiming": _record(claiming)}


def _record(reading: Reading) -> dict[str, float]:
    return {
        "requests": reading.total_requests,
        "read_units": reading.read_units,
        "write_units": reading.write_units,
    }


def _spread(tables: dict[str, Any]) -> float:
    """The highest cost of all tables to that of the one without finished jobs, of whatever grew most. Not of times."""
    base = tables["0"]
    ratios: list[float] = [
        each[poll][figure] / base[poll][figure]
        for each in tables.values()
        for poll in ("idle", "claiming")
        for figure in ("requests", "read_units", "write_units")
        if base[poll][figure]
    ]
    return round(max(ratios), 3)


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
