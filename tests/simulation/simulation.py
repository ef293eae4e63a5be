"""One seed from its plan to its end: trouble, calm, rest, and a last look."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import LeaseholdError
from tests.simulation.coverage import Coverage
from tests.simulation.deployments import TYPES, registry_of
from tests.simulation.handlers import MODES
from tests.simulation.invariants.ending import check_end
from tests.simulation.invariants.violation import Violation
from tests.simulation.network import DEPLOYMENT
from tests.simulation.operators import CHORES, OperatorAtWork
from tests.simulation.plan import draw_plan
from tests.simulation.producers import ACTIONS, Producer
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.plan import Plan
    from tests.simulation.process import Process

# How long after the last trouble everything must be at rest, in virtual seconds: a group whose making broke off is
# given up after a quarter of an hour, and hand-overs that fail are tried again after five minutes at most.
REST_WITHIN = 2 * 3600.0
_TICK, _CALM_TICK = 20.0, 60.0
# Where each run dies and one alone may run, behind an open circuit or a full resource, a run takes two ticks.
_DYING_RUN = 2 * _CALM_TICK
_REMOVAL = 7.0
# A scene is about what it names, and about nothing else that lasts.
_UNDISTURBED: dict[str, Any] = {"outages": (), "pairs": False, "programs": 0, "removes": False}


@dataclass(kw_only=True)
class Outcome:
    seed: int
    violation: Violation | None
    lines: list[str]
    digest: str
    calls: int
    coverage: Coverage = field(default_factory=Coverage)
    rested_after: float = 0.0


def simulate(seed: int, **directed: Any) -> Outcome:
    """Run one seed; what is directed is not left to it."""
    plan = draw_plan(
        Random(f"plan {seed}"), types=tuple(TYPES), actions=tuple(ACTIONS), chores=tuple(CHORES), modes=MODES
    )
    return Simulation(seed, replace(plan, **({**_UNDISTURBED, **directed} if directed else {}))).run()


class Simulation:
    def __init__(self, seed: int, plan: Plan) -> None:
        self.world = World(seed, plan)
        self._is_healed = False
        self._to_come = 0

    def run(self) -> Outcome:
        world = self.world
        world.trace.note("plan", str(world.plan))
        try:
            self.begin()
            self.go_on()
            return self._outcome()
        finally:
            world.close()

    def begin(self) -> None:
        world, random_source = self.world, self.world.random_source
        self._do(DEPLOYMENT, lambda process: world.deploy(world.registry, process))
        world.kernel.run(lambda: not world.fleet.running, deadline=10.0)
        producers = [Producer(world) for _ in range(world.plan.producers)]
        operators = [OperatorAtWork(world) for _ in range(world.plan.operators)]
        rush = world.plan.rush or world.plan.calm_at * 0.8
        for producer in producers:
            for _ in range(world.plan.jobs):
                self._later(random_source.uniform(0.0, rush), producer.act, random_source.choice(world.plan.actions))
        for operator in operators if world.plan.chores else ():
            for _ in range(world.plan.jobs):
                at = random_source.uniform(0.0, rush * 1.1 if world.plan.rush != 10.0 else world.plan.calm_at * 0.9)
                self._later(at, operator.act, random_source.choice(world.plan.chores))
        if world.plan.rush is not None:
            self._later(random_source.uniform(0.0, rush), world.start, "poller", {}, 0.0)
        for _ in range(world.plan.programs):
            world.fleet.invoke("program", "poller", world.functions.poll_on)
        if world.plan.removes:
            world.kernel.later(_REMOVAL, self._remove)
        world.kernel.later(random_source.uniform(0.0, _TICK), self._tick)
        world.kernel.later(world.plan.calm_at + 1.0, self._heal)

    def go_on(self) -> None:
        """To the end, or to the first thing that must not be."""
        world, watch = self.world, self.world.watch
        is_over, deadline = False, 0.0
        while not is_over and deadline < self._deadline():
            deadline = self._deadline()
            is_over = world.kernel.run(lambda: watch.violation is not None or self._is_at_rest(), deadline=deadline)
        if not is_over:
            watch.blame(Violation("every job comes to rest", f"still there: {self._restless()}"))
        if watch.violation is None:
            try:
                check_end(world)
            except Violation as violation:
                watch.blame(violation)

    def _deadline(self) -> float:
        """Later for each run that was made: those are bounded by the attempts of the jobs."""
        runs = sum(len(job.get("runs", ())) for job in self.world.watch.mirror.jobs.values())
        return self.world.plan.calm_at + REST_WITHIN + runs * _DYING_RUN

    def _later(self, seconds: float, act: Any, *what: Any) -> None:
        self._to_come += 1

        def now() -> None:
            self._to_come -= 1
            act(*what)

        self.world.kernel.later(seconds, now)

    def _do(self, name: str, act: Any) -> None:
        """By somebody who insists."""

        def body(process: Process, _: object) -> None:
            while True:
                try:
                    act(process)
                except LeaseholdError:
                    process.kernel.sleep(1.0)
                else:
                    return

        self.world.fleet.invoke(name, "operator", body)

    def _tick(self) -> None:
        """EventBridge's minute. One that would find nothing is left out: it would change nothing."""
        world = self.world
        is_calm = world.kernel.seconds >= world.plan.calm_at
        world.kernel.later(_CALM_TICK if is_calm else _TICK, self._tick)
        if world.watch.mirror.is_due(world.kernel.now, world.plan.skew):
            for _ in range(1 if is_calm else world.plan.pollers):
                world.start("poller", {}, 0.0)
        for schedule in world.watch.mirror.schedules():
            if not is_calm and world.random_source.random() < 0.5:
                world.start("trigger", {"schedule": schedule}, world.random_source.uniform(0.0, 5.0))

    def _remove(self) -> None:
        self.world.remove_ended()
        self.world.kernel.later(_REMOVAL, self._remove)

    def _heal(self) -> None:
        """What was stopped on purpose is started again, and what goes on for ever is ended.

        Again each minute: what somebody asked for before may still be on its way.
        """
        self.world.kernel.later(_CALM_TICK, self._heal)
        if self._is_healed and not self.world.watch.mirror.is_stopped():
            return

        def heal(process: Process) -> None:
            world = self.world
            process.operator.resume(reason="healed")
            final = registry_of(world.plan)
            shards = max(final.shards, world.registry.shards)
            world.deploy(replace(final, shards=shards), process)
            for job_type in final.types:
                process.operator.unpause(job_type, reason="healed")
            for schedule in process.queue.schedules.list():
                process.queue.schedules.delete(schedule.name, reason="healed")
            self._is_healed = True

        self._do("healer", heal)

    def _is_at_rest(self) -> bool:
        world = self.world
        is_idle = not self._to_come and not world.fleet.running and not world.watch.mirror.restless
        return is_idle and self._is_healed and not world.watch.mirror.is_stopped()

    def _restless(self) -> str:
        mirror = self.world.watch.mirror
        return ", ".join(f"{key[1][-6:]} {mirror.items[key].get('status')}" for key in sorted(mirror.restless)) or str(
            [str(each) for each in self.world.fleet.running]
        )

    def _outcome(self) -> Outcome:
        world = self.world
        if world.watch.violation is not None:
            world.trace.note("BROKEN", str(world.watch.violation))
        return Outcome(
            seed=world.seed,
            violation=world.watch.violation,
            lines=world.trace.lines,
            digest=world.trace.digest,
            calls=world.coverage.calls.total(),
            coverage=world.coverage,
            rested_after=max(0.0, world.kernel.seconds - world.plan.calm_at),
        )
