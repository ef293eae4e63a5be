"""How much each benchmark does: a whole run within ten minutes on two cores, and a small one to try things out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """rounds: how often a measured stretch alternates with its floor; the median counts."""

    jobs_of_a_life: int = 20
    rounds: int = 5
    jobs_of_a_round: int = 200
    import_rounds: int = 9
    finished: tuple[int, ...] = (0, 1_000, 10_000, 100_000)
    scheduled: int = 200
    burst: int = 1_000
    deployed_burst: int = 100
    tasks_beside_celery: int = 600
    handovers: int = 1_000
    bulk: int = 10_000
    shards: tuple[int, ...] = (1, 4, 16)


WHOLE = Sizes()
SMALL = Sizes(
    jobs_of_a_life=3,
    rounds=2,
    jobs_of_a_round=20,
    import_rounds=2,
    finished=(0, 1_000),
    scheduled=20,
    burst=60,
    deployed_burst=20,
    tasks_beside_celery=30,
    handovers=100,
    bulk=500,
    shards=(1,),
)
