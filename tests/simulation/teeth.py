"""Teeth: with a guard taken away, an invariant breaks; else we would not notice if the guard were lost.

Where another condition implies a guard, no run can tell; a crafted job in the table can. What was mended outside of the
table is taken out as well: then the test that is named after it fails (tests/simulation/mended.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.crafted import is_missed
from tests.simulation.guards import SOURCES, Guard, all_guards, without
from tests.simulation.implied import IMPLIED
from tests.simulation.mended import MENDINGS, is_noticed
from tests.simulation.scenes import SCENES, TOGETHER
from tests.simulation.simulation import simulate
from tests.simulation.staged import Stage, Staged, busy, edited, paused, rescheduled
from tests.simulation.workers import pool

if TYPE_CHECKING:
    from tests.simulation.simulation import Outcome

SEEDS = 400
STAGES = {
    Guard("claim", SOURCES): Stage(job_type="plain", role="poller"),
    Guard("hold", SOURCES): Stage(job_type="limited", role="poller", before=paused),
    Guard("skip", SOURCES): Stage(job_type="skipping", role="poller", before=busy),
    Guard("turn_away", SOURCES): Stage(job_type="refusing", role="poller", before=busy),
    Guard("take_turn", SOURCES): Stage(job_type="plain", role="sdk"),
    Guard("reschedule", SOURCES): Stage(
        job_type="refusing", role="operator", before=busy, act=rescheduled, ends="poller"
    ),
    Guard("edit", SOURCES): Stage(job_type="refusing", role="operator", before=busy, act=edited, ends="poller"),
}


@dataclass(frozen=True)
class Bite:
    """What removing these guards led to. `is_sound` tells that the whole library gets through the same scene."""

    guards: tuple[Guard, ...]
    caught: str | None
    where: str
    is_sound: bool = True

    @property
    def holds(self) -> bool:
        return self.is_sound and self.caught is not None


def bite(guards: tuple[Guard, ...]) -> Bite:
    """Look for a broken invariant without these guards."""
    stage = STAGES.get(guards[0]) if len(guards) == 1 else None
    if stage is not None:
        with without(*guards):
            broken = Staged(stage).run()
        return _bite(guards, broken, "staged", Staged(stage).run())
    scene = TOGETHER[guards] if guards in TOGETHER else SCENES[guards[0]]
    for seed in range(SEEDS):
        with without(*guards):
            broken = simulate(seed, **scene)
        if broken.violation is not None:
            return _bite(guards, broken, f"seed {seed} of its scene", simulate(seed, **scene))
    return Bite(guards, None, f"not within {SEEDS} seeds")


def _bite(guards: tuple[Guard, ...], broken: Outcome, where: str, whole: Outcome) -> Bite:
    caught = broken.violation.invariant if broken.violation else None
    return Bite(guards, caught, where, is_sound=whole.violation is None)


def to_bite() -> list[tuple[Guard, ...]]:
    """Each guard alone, unless another condition implies it; and those together that only both hold something up."""
    return [*((guard,) for guard in all_guards() if guard not in IMPLIED), *TOGETHER]


def unexplained() -> list[Guard]:
    """Guards for which there is neither a scene nor a reason; a new one is noticed here."""
    return [guard for guard in all_guards() if guard not in IMPLIED and guard not in SCENES and guard not in STAGES]


def main() -> int:
    argparse.ArgumentParser(prog="make simulate-teeth", description=__doc__).parse_args()
    if unexplained():
        print(f"no scene and no reason for: {', '.join(map(str, unexplained()))}; see tests/simulation/scenes.py")
        return 1
    toothless, began_at = 0, time.monotonic()
    with pool(2) as workers:
        for found in workers.map(bite, to_bite()):
            names = f"{found.guards[0].transition}: {' + '.join(guard.name for guard in found.guards)}"
            told = found.caught or "NOT CAUGHT"
            print(f"{names:<64} {told if found.is_sound else f'UNSOUND {told}'} ({found.where})", flush=True)
            toothless += not found.holds
    print("\nimplied by another condition, and missed by a crafted job:")
    for guard, reason in IMPLIED.items():
        was_missed = is_missed(guard)
        print(f"{guard!s:<44} {'' if was_missed else 'NOT CAUGHT '}{reason}")
        toothless += not was_missed
    print("\nwhat was mended, taken out again:")
    with ThreadPoolExecutor(2) as two:
        for mending, was_missed in zip(MENDINGS, two.map(is_noticed, MENDINGS), strict=True):
            print(f"{mending.name:<44} {'' if was_missed else 'NOT CAUGHT '}{mending.test}", flush=True)
            toothless += not was_missed
    removals = len(to_bite()) + len(IMPLIED) + len(MENDINGS)
    print(f"\n{removals} removals, {toothless} of them unnoticed, in {time.monotonic() - began_at:.0f} s")
    return 1 if toothless else 0


if __name__ == "__main__":
    sys.exit(main())
