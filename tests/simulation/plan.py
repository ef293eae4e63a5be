"""What a seed decides before anything happens: who takes part, what goes wrong, and how often.

Each seed switches most things off (swarm testing): what never happens together in a run with everything on, does here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from random import Random

# How often a fault that is on strikes, per call that it can strike.
_RATES = (0.005, 0.02, 0.06, 0.15)
# Strikes at records and invokes are worth more: there are fewer of them.
_FEW = frozenset(fault for fault in Fault if fault.value.startswith(("invoke", "record")))
# Clocks within 5 s of each other: two handlers of one job never overlap. Beyond that, fencing alone must hold.
TOLERATED_SKEW = 2.5
WIDEST_SKEW = 60.0
# What people do to dead jobs comes late in a life, so some seeds are about that alone.
_AFTERLIFE = ("retry", "redrive", "discard", "purge")
_AFTERLIVES = 0.1


@dataclass(kw_only=True)
class Plan:
    """calm_at: the second from which on nothing goes wrong any more.
    latency: the mean seconds of a call; slow ones let others come in between.
    skew: how many seconds clocks may be off, either way.
    outlives: whether processes that stopped may wake after their time, as no Lambda can.
    resides: whether pollers stay, as deployed; else they poll and go.
    """

    calm_at: float
    rates: dict[Fault, float] = field(default_factory=dict)
    latency: float = 0.01
    skew: float = 0.0
    outlives: bool = False
    resides: bool = False
    wakes: bool = True
    stale_by: int = 0
    types: tuple[str, ...] = ("plain",)
    actions: tuple[str, ...] = ()
    chores: tuple[str, ...] = ()
    producers: int = 1
    operators: int = 0
    jobs: int = 4
    shards: int = 1
    concurrency: int | None = None
    page: int = 25
    modes: tuple[str, ...] = ("result",)
    # How many pollers each tick starts.
    pollers: int = 1
    # All that people do happens within so many seconds; None spreads it over the time of trouble.
    rush: float | None = None
    # How many seconds handlers take at most, besides what their mode takes.
    work: float = 2.0
    # From when, and for how many seconds, nobody reaches the table: longer than its client tries.
    outages: tuple[tuple[float, float], ...] = ()
    # Whether whatever people do is done by two of them at once, to the same job.
    pairs: bool = False
    # How many programs poll by themselves, all the time.
    programs: int = 0
    # Whether ended jobs that owe nothing are soon removed, as their retention does later.
    removes: bool = False
    # How many calls of a poller run side by side.
    pool: int = 1
    # Whether an end that frees a seat starts a poller, as deployed; else the stream does.
    wakes_directly: bool = False

    @property
    def is_calm(self) -> bool:
        """Whether nothing goes wrong at all."""
        return not self.rates and not self.outages

    @property
    def is_within_tolerance(self) -> bool:
        """Whether two handlers of one job must never overlap."""
        return self.skew <= TOLERATED_SKEW and not self.outlives


def _shards(dice: float) -> int:
    return 1 if dice < 0.8 else 2 if dice < 0.9 else 4


def draw_plan(
    random_source: Random,
    *,
    types: tuple[str, ...],
    actions: tuple[str, ...],
    chores: tuple[str, ...],
    modes: tuple[str, ...],
) -> Plan:
    is_healthy = random_source.random() < 0.05
    faults = [] if is_healthy else [fault for fault in Fault if random_source.random() < 0.4]
    is_about_the_dead = random_source.random() < _AFTERLIVES
    return Plan(  # what is new is drawn last: it leaves what a seed was before as it was
        calm_at=random_source.choice((40.0, 90.0, 150.0)),
        rates={fault: random_source.choice(_RATES) * (3 if fault in _FEW else 1) for fault in faults},
        latency=random_source.choice((0.00001, 0.002, 0.02, 0.2)),
        skew=random_source.choice((0.0, TOLERATED_SKEW, TOLERATED_SKEW, WIDEST_SKEW)),
        outlives=Fault.STALL in faults and random_source.random() < 0.5,
        resides=random_source.random() < 0.05,
        wakes=random_source.random() < 0.6,
        stale_by=random_source.choice((1, 3, 10)),
        types=tuple(random_source.sample(types, k=random_source.choice((1, 1, 2, 3)))),
        actions=tuple(random_source.sample(actions, k=random_source.choice((1, 2, 3, 4)))),
        chores=_AFTERLIFE
        if is_about_the_dead
        else tuple(random_source.sample(chores, k=random_source.choice((0, 1, 2, 3, 4)))),
        producers=random_source.choice((1, 1, 2)),
        operators=2 if is_about_the_dead else random_source.choice((0, 1, 1, 2)),
        jobs=random_source.choice((1, 2, 3, 4)),
        shards=_shards(random_source.random()),
        concurrency=random_source.choice((None, None, None, 2)),
        page=random_source.choice((25, 25, 2)),
        modes=("permanent",)
        if is_about_the_dead
        else tuple(random_source.sample(modes, k=random_source.choice((1, 2, 4, len(modes))))),
        pollers=random_source.choice((1, 1, 1, 1, 2, 3)),
        rush=random_source.choice((None, None, 10.0, 2.0, 0.005)),
        work=random_source.choice((0.5, 2.0, 2.0, 30.0)),
        outages=tuple(
            (random_source.uniform(1.0, 35.0), random_source.choice((1.0, 3.0, 10.0, 30.0, 60.0)))
            for _ in range(0 if is_healthy else random_source.choice((0, 0, 0, 0, 1, 2)))
        ),
        pairs=random_source.random() < 0.15,
        programs=random_source.choice((0, 0, 0, 0, 0, 0, 0, 1)),
        removes=random_source.random() < 0.2,
        pool=random_source.choice((1, 2, 4)),
        wakes_directly=random_source.random() < 0.6,
    )
