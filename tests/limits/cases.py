"""The cases of docs/limits.md: what waiting costs, and who waits for whom. Sizes are those of the page by default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import Priority
from leasehold.limits.model import Rate
from tests.latency import SLOW_INDEX
from tests.limits.figures import LINE
from tests.limits.oracle import Lane, Oracle
from tests.limits.virtual_queue import VirtualQueue, Work, works

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.limits.figures import Figures
    from tests.limits.process import Process

# How long a handler works, in virtual seconds.
_WORK = 5.0
_AT_LEAST, _AT_MOST = ">=", "<="


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a case and its bound; without a bound it only informs."""

    what: str
    value: float
    sign: str = ""
    bound: float = 0.0

    @property
    def holds(self) -> bool:
        return not self.sign or (self.value >= self.bound if self.sign == _AT_LEAST else self.value <= self.bound)

    @property
    def told_bound(self) -> str:
        return f"{'at least' if self.sign == _AT_LEAST else 'at most'} {self.bound:g}"

    def __str__(self) -> str:
        bound = f" ({self.told_bound})" if self.sign else ""
        return f"{self.what}: {self.value:.4g}{bound}{'' if self.holds else '  <-- broken'}"


def at_most(what: str, value: float, bound: float) -> Measure:
    return Measure(what, value, _AT_MOST, bound)


def at_least(what: str, value: float, bound: float) -> Measure:
    return Measure(what, value, _AT_LEAST, bound)


# Two limits and a backlog


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backlog:
    """Jobs that wait for their limits; `alone` are the same types with the wider limit only."""

    types: list[JobType]
    alone: list[JobType]
    jobs: Callable[[int], list[object]]
    lanes: Callable[[int], list[Lane]]
    seats: dict[str, int]
    concurrency: int | None = None
    waiting_per_unit: int = 1
    work: float = _WORK


def concurrency_and_rate(jobs: int = 1000, seconds: float = 300.0, work: float = _WORK) -> list[Measure]:
    """5 at once and 60 per minute."""
    rate = Rate(60, timedelta(minutes=1))
    backlog = _Backlog(
        types=[JobType(name="report", concurrency=5, rate=rate)],
        alone=[JobType(name="report", concurrency=5)],
        jobs=lambda n: list(works(n, "report", seconds=work)),
        lanes=lambda n: [Lane(jobs=n, scopes=("type",), rates=(("rate", 60.0),))],
        work=work,
        seats={"type": 5, "rate": 60},
    )
    return _worked_off(backlog, jobs, seconds)


def stage_and_type(jobs: int = 1000, seconds: float = 300.0, work: float = _WORK) -> list[Measure]:
    """8 at once of all types, 5 of each; two types."""
    backlog = _Backlog(
        types=[JobType(name="report", concurrency=5), JobType(name="export", concurrency=5)],
        alone=[JobType(name="report"), JobType(name="export")],
        jobs=lambda n: [*works(n, "report", seconds=work), *works(n, "export", seconds=work)],
        lanes=lambda n: [Lane(jobs=n, scopes=("all", "report")), Lane(jobs=n, scopes=("all", "export"))],
        work=work,
        seats={"all": 8, "report": 5, "export": 5},
        concurrency=8,
        waiting_per_unit=2,
    )
    return _worked_off(backlog, jobs, seconds)


def type_and_key(jobs: int = 400, seconds: float = 300.0, work: float = _WORK) -> list[Measure]:
    """5 at once, 1 per key; half of the jobs are of one tenant, the others of forty."""
    tenants = 40
    backlog = _Backlog(
        types=[JobType(name="sync", concurrency=5, concurrency_per_key=1)],
        alone=[JobType(name="sync", concurrency=5)],
        jobs=lambda n: _mixed(
            works(n, "sync", key="big", seconds=work),
            [each for at in range(n) for each in works(1, "sync", key=f"small-{at % tenants}", seconds=work)],
        ),
        lanes=lambda n: [
            Lane(jobs=n, scopes=("type", "big")),
            *(Lane(jobs=n // tenants, scopes=("type", f"small-{at}")) for at in range(tenants)),
        ],
        work=work,
        seats={"type": 5, "big": 1, **{f"small-{at}": 1 for at in range(tenants)}},
        waiting_per_unit=2,
    )
    return _worked_off(backlog, jobs, seconds)


def concurrency_and_rate_short(jobs: int = 1000, seconds: float = 120.0) -> list[Measure]:
    """5 at once and 60 per minute, handlers of 1 s: now one limit is full, now the other."""
    return concurrency_and_rate(jobs, seconds, work=1.0)


def stage_and_type_short(jobs: int = 1000, seconds: float = 120.0) -> list[Measure]:
    """8 at once of all types, 5 of each, handlers of 1 s; two types."""
    return stage_and_type(jobs, seconds, work=1.0)


def type_and_key_short(jobs: int = 400, seconds: float = 120.0) -> list[Measure]:
    """5 at once, 1 per key, handlers of 1 s; half of the jobs are of one tenant."""
    return type_and_key(jobs, seconds, work=1.0)


def _mixed(some: object, others: object) -> list[object]:
    return [each for pair in zip(some, others, strict=True) for each in pair]  # type: ignore[call-overload]


def _worked_off(backlog: _Backlog, jobs: int, seconds: float) -> list[Measure]:
    both = _work_off(backlog, backlog.types, jobs, seconds)
    alone = _work_off(backlog, backlog.alone, jobs, seconds)
    waiting = jobs * backlog.waiting_per_unit
    oracle = sum(at <= seconds for at in Oracle(backlog.seats, backlog.work).ends(backlog.lanes(jobs)))
    started = max(1, len(both.starts))
    throughput = at_least("throughput, of the oracle's", both.done_by(seconds) / oracle, 0.95)
    writes = at_most("writes, of those with one limit", _per_start(both) / _per_start(alone), 1.2)
    if backlog.work < _WORK:
        # A short handler is soon over, and the latencies between two of them are not. And where a rate lets few of the
        # many start that began to wait, what all of these cost is divided by few.
        throughput, writes = replace(throughput, sign=""), replace(writes, sign="")
    return [
        Measure("done", both.done_by(seconds)),
        throughput,
        at_most("moves per job", both.moves / waiting, 1.0),
        at_most("line writes per started job", both.writes[LINE] / started, 2.0),
        Measure("writes per started job", both.writes.total() / started),
        writes,
        Measure("claims per started job", both.claims / started),
    ]


def _per_start(figures: Figures) -> float:
    return figures.writes.total() / max(1, len(figures.starts))


def _work_off(backlog: _Backlog, types: list[JobType], jobs: int, seconds: float) -> Figures:
    virtual = VirtualQueue(types, latencies=SLOW_INDEX, concurrency=backlog.concurrency)
    try:
        virtual.queue.enqueue_many(backlog.jobs(jobs))  # type: ignore[arg-type]
        virtual.figures.writes.clear()
        virtual.begin()
        virtual.run(seconds)
        return virtual.figures
    finally:
        virtual.close()


# A pause ends


def unpause_one_key(jobs: int = 8000, pollers: int = 1) -> list[Measure]:
    """Jobs without a key, all held by a pause that ends."""
    return _unpaused(jobs, pollers, keys=1)


def unpause_many_keys(jobs: int = 8000, pollers: int = 1) -> list[Measure]:
    """As many keys as jobs."""
    return _unpaused(jobs, pollers, keys=jobs)


def unpause_three_pollers(jobs: int = 8000) -> list[Measure]:
    """Jobs without a key, and two programs that poll beside the deployed poller."""
    return _unpaused(jobs, 3, keys=1)


def unpause_many_keys_three_pollers(jobs: int = 8000) -> list[Measure]:
    """As many keys as jobs, and two programs that poll beside the deployed poller."""
    return _unpaused(jobs, 3, keys=jobs)


_OTHERS_DUE = (2, 3, *range(5, 60, 6))


def _unpaused(jobs: int, pollers: int, *, keys: int) -> list[Measure]:
    types = [JobType(name="held", concurrency_per_key=50 if keys > 1 else None), JobType(name="other")]
    virtual = VirtualQueue(types, latencies=SLOW_INDEX)
    try:
        virtual.operator.pause("held", reason="measured")
        held = [each for at in range(jobs) for each in works(1, "held", key=f"key-{at % keys}", seconds=1.0)]
        virtual.queue.enqueue_many(held)
        virtual.hold_what_is_due()
        read = _read_by_others(virtual)
        _enqueue_others(virtual)
        virtual.figures.claims = 0
        virtual.let_settle()
        virtual.begin(programs=pollers - 1)
        virtual.after(0.5, lambda p: p.operator.unpause("held"))
        wanted = jobs + 2 * len(_OTHERS_DUE) + 1
        virtual.run(3600.0, until=lambda: len(virtual.figures.starts) >= wanted)
        starts = [each for each in virtual.figures.starts if each.job_type == "held"]
        return [
            Measure("started", len(starts)),
            at_most("latest NORMAL job of another type, s", _latest(virtual, "NORMAL"), 2.0),
            at_most("latest CRITICAL job of another type, s", _latest(virtual, "CRITICAL"), 1.0),
            at_most("claims per job", virtual.figures.claims / wanted, 1.1),
            at_most("held jobs read by a poll of others", read, 0),
            Measure("the last held job started after, s", max((each.at for each in starts), default=0.0)),
        ]
    finally:
        virtual.close()


def _read_by_others(virtual: VirtualQueue) -> int:
    """How many held jobs a poll reads that runs a job of another type."""
    virtual.queue.enqueue_many(works(1, "other", seconds=0.1))
    virtual.figures.read.clear()
    virtual.hold_what_is_due()
    return virtual.figures.read["held"]


def _enqueue_others(virtual: VirtualQueue) -> None:
    for due in _OTHERS_DUE:
        for priority, later in ((Priority.NORMAL, 0.0), (Priority.CRITICAL, 0.5)):
            work = Work(seconds=0.1, label=f"{priority.name} {due + later}").model_dump()
            virtual.queue.enqueue("other", work, run_in=timedelta(seconds=due + later), priority=priority)


def _latest(virtual: VirtualQueue, priority: str) -> float:
    starts = [each for each in virtual.figures.starts if each.label.startswith(priority)]
    assert len(starts) == len(_OTHERS_DUE), f"{len(starts)} of {len(_OTHERS_DUE)} {priority} jobs started"
    return max(each.at - float(each.label.split()[1]) for each in starts)


# Many blocked keys


def blocked_keys(keys: int = 3000, minutes: int = 30) -> list[Measure]:
    """Each with an hour-long job running and one waiting; one becomes free, one by a worker that died at its end."""
    long = JobType(name="long", concurrency_per_key=1, timeout=timedelta(hours=2))
    short = JobType(name="short", concurrency_per_key=1, timeout=timedelta(minutes=10))
    ends_at = minutes * 20.0  # two thirds of the time
    seat_ends_at = short.longest_hold.total_seconds()
    virtual = VirtualQueue([long, short], latencies=SLOW_INDEX)
    try:
        blocked = [works(1, "long", key=f"key-{at}", seconds=3600.0)[0] for at in range(keys)]
        free = works(1, "long", key="free", seconds=ends_at, label="first")
        lost = works(1, "short", key="lost", seconds=300.0, label="first", dies_after_end=True)
        virtual.queue.enqueue_many([*blocked, *free, *lost])
        virtual.hold_what_is_due()
        virtual.queue.enqueue_many(
            [
                *(works(1, "long", key=f"key-{at}", label="blocked")[0] for at in range(keys)),
                *works(1, "long", key="free", label="free"),
                *works(1, "short", key="lost", label="lost"),
            ]
        )
        virtual.hold_what_is_due()
        virtual.let_settle()
        virtual.begin()
        virtual.run(minutes * 60.0)
        busy = [virtual.figures.busy[minute] for minute in range(minutes)]
        settled = busy[minutes // 3 :]
        return [
            at_most("calls times latency, s a minute, mean after a third", sum(settled) / len(settled), 5.0),
            at_most("calls times latency, s a minute, most", max(busy), 20.0),
            at_most("next job of a key that became free, s late", _late(virtual, "free", ends_at), 2.0),
            at_most("next job after a lost nudge, s after the seat's end", _late(virtual, "lost", seat_ends_at), 2.0),
        ]
    finally:
        virtual.close()


def _late(virtual: VirtualQueue, label: str, since: float) -> float:
    started = [each.at for each in virtual.figures.starts if each.label == label]
    return (started[0] if started else virtual.kernel.seconds) - since


# Who is next


def big_and_small_tenant(jobs: int = 10_000, small: int = 10) -> list[Measure]:
    """One tenant with very many waiting jobs, then another with ten; 4 at once, 4 per tenant."""
    virtual = VirtualQueue([JobType(name="sync", concurrency=4, concurrency_per_key=4)], latencies=SLOW_INDEX)
    try:
        virtual.queue.enqueue_many(works(jobs, "sync", key="big", seconds=_WORK))
        virtual.hold_what_is_due()
        virtual.begin()
        before = set(virtual.figures.moved_at)
        virtual.after(20.0, lambda p: _enqueue_small(p, small))
        virtual.run(1200.0, until=lambda: _started(virtual, "small") >= small)
        held = sorted(at[0] for job, at in virtual.figures.moved_at.items() if job not in before)
        since = held[small - 1] if len(held) >= small else 20.0
        after = [each.label for each in virtual.figures.starts if each.at >= since]
        last = max((at for at, label in enumerate(after, start=1) if label == "small"), default=0)
        return [
            Measure("started of the small tenant", _started(virtual, "small")),
            at_most(
                "starts until its tenth",
                last if _started(virtual, "small") >= small else len(after) + jobs,
                24,
            ),
        ]
    finally:
        virtual.close()


def _enqueue_small(process: Process, count: int) -> None:
    process.queue.enqueue_many(works(count, "sync", key="small", seconds=_WORK))


def _started(virtual: VirtualQueue, label: str) -> int:
    return sum(each.label == label for each in virtual.figures.starts)


def many_tenants(tenants: int = 1000) -> list[Measure]:
    """One job each; 4 at once, 1 per tenant."""
    virtual = VirtualQueue([JobType(name="sync", concurrency=4, concurrency_per_key=1)], latencies=SLOW_INDEX)
    oracle = max(Oracle({"type": 4}, _WORK).ends([Lane(jobs=tenants, scopes=("type",))]))
    try:
        virtual.queue.enqueue_many([works(1, "sync", key=f"tenant-{at}", seconds=_WORK)[0] for at in range(tenants)])
        virtual.begin()
        virtual.run(10 * oracle, until=lambda: len(virtual.figures.ended) >= tenants)
        figures = virtual.figures
        return [
            Measure("done", len(figures.ended)),
            at_most("time, of the oracle's", virtual.kernel.seconds / oracle, 1.1),
            at_most("moves per job", figures.moves / tenants, 1.0),
            Measure("line writes per started job", figures.writes[LINE] / max(1, len(figures.starts))),
        ]
    finally:
        virtual.close()


def two_scopes(others: int = 100, seconds: float = 600.0) -> list[Measure]:
    """One type needs the only gpu as well as one of 8 seats, for which a hundred others wait."""
    names = [f"type_{at:03d}" for at in range(others)]
    types = [JobType(name="render", resources=("gpu",)), *(JobType(name=name) for name in names)]
    virtual = VirtualQueue(types, latencies=SLOW_INDEX, concurrency=8, resources={"gpu": 1})
    try:
        each = 2 * round(seconds * 8 / _WORK / (others + 1))
        rounds = [works(1, name, seconds=_WORK)[0] for _ in range(each) for name in ("render", *names)]
        virtual.queue.enqueue_many(rounds)
        virtual.begin()
        virtual.run(seconds)
        fair = len(virtual.figures.starts) / (others + 1)
        return [
            Measure("started", len(virtual.figures.starts)),
            at_least("share of who needs both, of the fair one", _started(virtual, "render") / fair, 0.5),
            at_most("moves per job", virtual.figures.moves / len(rounds), 1.0),
        ]
    finally:
        virtual.close()


CASES: dict[str, Callable[[], list[Measure]]] = {
    "concurrency-and-rate": concurrency_and_rate,
    "stage-and-type": stage_and_type,
    "type-and-key": type_and_key,
    "concurrency-and-rate-short": concurrency_and_rate_short,
    "stage-and-type-short": stage_and_type_short,
    "type-and-key-short": type_and_key_short,
    "unpause-one-key": unpause_one_key,
    "unpause-many-keys": unpause_many_keys,
    "unpause-three-pollers": unpause_three_pollers,
    "unpause-many-keys-three-pollers": unpause_many_keys_three_pollers,
    "blocked-keys": blocked_keys,
    "big-and-small-tenant": big_and_small_tenant,
    "many-tenants": many_tenants,
    "two-scopes": two_scopes,
}
