"""The fleet: containers that are started, used again, replaced and killed, as Lambda does it."""

from __future__ import annotations

import traceback
from collections import Counter
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from leasehold.kernel.errors import LeaseholdError
from tests.simulation.invariants.violation import Violation
from tests.simulation.invocation import Invocation
from tests.simulation.invokes import waker_in
from tests.simulation.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.simulation.world import World

type Body = Callable[[Process, Invocation], object]


class Fleet:
    def __init__(self, world: World) -> None:
        self._world = world
        self._idle: dict[str, list[Process]] = {}
        self._numbers: Counter[str] = Counter()
        self.running: dict[Invocation, None] = {}

    def invoke(
        self,
        function: str,
        role: str,
        body: Body,
        *,
        tokens: Sequence[str] = (),
        makes: int = 0,
        timeout: float | None = None,
        delay: float = 0.0,
        on_end: Callable[[], object] | None = None,
    ) -> Invocation:
        """Run something in a container of this function; the platform ends it after `timeout`."""
        self._numbers[function] += 1
        process = self._take(function, role)
        invocation = Invocation(
            f"{function}-{self._numbers[function]}", role, process, tokens=tuple(tokens), makes=makes
        )
        process.invocation = invocation
        self.running[invocation] = None

        def ended() -> None:
            del self.running[invocation]
            if not process.is_dead:
                self._idle.setdefault(function, []).append(process)
            if on_end is not None:
                on_end()

        kernel = self._world.kernel
        task = kernel.spawn(
            invocation.worker_id, lambda: self._run(invocation, body), process=process, delay=delay, on_end=ended
        )
        if timeout is not None and not self._world.plan.outlives:

            def enforce() -> None:
                if not task.has_ended and process.invocation is invocation:
                    self._world.trace.note(invocation.worker_id, "ended by the platform: timeout")
                    self._world.has_timeouts = True
                    process.die()

            kernel.later(delay + timeout, enforce)
        return invocation

    def _run(self, invocation: Invocation, body: Body) -> None:
        try:
            body(invocation.process, invocation)
        except LeaseholdError as error:
            self._world.trace.note(invocation.worker_id, f"raised {type(error).__name__}")
        except Exception as error:
            where = traceback.format_exc().strip()
            self._world.trace.note(invocation.worker_id, where)
            self._world.watch.blame(Violation("no process falls over", f"{invocation}: {error!r}"))

    def is_running(self, function: str) -> bool:
        return any(invocation.process.name == function for invocation in self.running)

    def redeploy(self) -> None:
        """New containers from now on; those at work finish."""
        self._idle.clear()

    def _take(self, function: str, role: str) -> Process:
        idle = self._idle.get(function)
        if idle and self._world.random_source.random() < 0.7:
            return idle.pop()
        plan, random_source = self._world.plan, self._world.random_source
        skew = timedelta(milliseconds=int(1000 * random_source.uniform(-plan.skew, plan.skew)))
        process = Process(function, self._world, self._world.kernel, skew, Random(random_source.getrandbits(64)))
        process.open(self._world.connect(), self._world.names, self._world.reporter)
        if role == "handler" and plan.wakes_directly:
            process.services.waker = waker_in(self._world)
        return process
