"""What a job's life costs: units, requests and CPU, by what kind of job it is and how much payload it carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold import JobType
from tests.benchmarks.engines import client_of, dynoxide
from tests.benchmarks.lived import TYPE, Kind, Life
from tests.benchmarks.payloads import SHAPES, SIZES, packed_as, payload
from tests.benchmarks.storage import stored_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.kernel.payload import Json
    from tests.benchmarks.sizes import Sizes
    from tests.meter import Reading

KINDS: Mapping[str, Kind] = {
    "plain": Kind(),
    "deduplicated": Kind(is_deduplicated=True),
    "retried once": Kind(fails_once=True),
    "in a sequential group": Kind(group="sequential"),
    "in a parallel group": Kind(group="parallel"),
    "with a limit of its type": Kind(job_type=JobType(name=TYPE, concurrency=50)),
}


# What is promised is what a job costs by itself: polls that find many share their reads, and pay for a watch.
ALONE = {
    "plain, one at a time": KINDS["plain"],
    "plain, one at a time, without the ended index": Kind(ended_index=False),
}


def measure(sizes: Sizes) -> dict[str, Any]:
    jobs = sizes.jobs_of_a_life
    with dynoxide() as endpoint:
        return {
            "jobs": jobs,
            **{name: _by_payload(kind, jobs, endpoint) for name, kind in KINDS.items()},
            **{name: _by_payload(kind, 1, endpoint) for name, kind in ALONE.items()},
        }


def headline(figures: dict[str, Any]) -> str:
    plain = figures["plain, one at a time"]
    big, random = plain["16 KB typical"], plain["16 KB incompressible"]
    return (
        f"a plain job {plain['0.2 KB typical']['write_units']:g} write units, "
        f"with 16 KB {big['write_units']:g} (typical) or {random['write_units']:g} (incompressible)"
    )


def _by_payload(kind: Kind, jobs: int, endpoint: str) -> dict[str, Any]:
    costs: dict[str, Any] = {}
    for shape in SHAPES:
        with packed_as(shape):
            costs |= {f"{size} {shape}": _cost(kind, jobs, payload(size, shape), endpoint) for size in SIZES}
    return costs


def _cost(kind: Kind, jobs: int, given: dict[str, Json], endpoint: str) -> dict[str, Any]:
    """Per job. CPU is taken from a second life, whose client nobody meters."""
    client = client_of(endpoint)
    metered = Life(client, kind, jobs, given, is_metered=True)
    metered.live()
    plain_client = client_of(endpoint)
    # A client's first calls cost several times what later ones do, and containers live for more than one job.
    Life(plain_client, kind, 1, given, is_metered=False).live()
    unmetered = Life(plain_client, kind, jobs, given, is_metered=False)
    unmetered.live()
    phases = {
        phase: _costs_of(metered.readings[phase], unmetered.cpu_seconds[phase], jobs) for phase in metered.readings
    }
    names = ("write_units", "read_units", "requests", "cpu_ms")
    return {
        **{name: round(sum(each[name] for each in phases.values()), 3) for name in names},
        "phases": phases,
        "stored_bytes": round(stored_bytes(client, metered.table) / jobs),
    }


def _costs_of(readings: Sequence[Reading], cpu_seconds: float, jobs: int) -> dict[str, float]:
    # A refused write is billed like a done one, and no engine reports it: one unit, as what is refused is small.
    totals = {
        "write_units": sum(each.write_units + each.refusals.total() for each in readings),
        "read_units": sum(each.read_units for each in readings),
        "requests": sum(each.total_requests for each in readings),
        "cpu_ms": cpu_seconds * 1000,
    }
    return {name: round(total / jobs, 3) for name, total in totals.items()}
