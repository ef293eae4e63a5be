"""The kernel: virtual time, and whose turn it is. Everything that waits, waits here.

A task is a greenlet of one simulated process. It runs until it waits; the kernel then goes on with whoever waits for
the earliest moment. How long calls take is drawn from the seed, and so is the order of everything.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.simulation.process import Process

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = 1_000_000  # in the microseconds that the kernel counts


class Killed(BaseException):
    """The process is gone. No `except Exception` may survive it, as none survives a kill -9."""


@dataclass(eq=False, slots=True)
class Task:
    name: str
    process: Process | None
    run: Callable[[], object]
    on_end: Callable[[], object] | None = None
    greenlet: greenlet = field(init=False)
    has_ended: bool = False
    is_killed: bool = False
    # Which of its waits is the current one: a kill makes the entry of the other stale.
    wait: int = 0
    # Those that go on when it has ended.
    awaited_by: list[Task] = field(default_factory=list)


class Kernel:
    def __init__(self, random_source: Random) -> None:
        self.micros = 0
        self.steps = 0
        self._random_source = random_source
        self.hub = getcurrent()
        self._queue: list[tuple[int, float, int, int, Task | Callable[[], object]]] = []
        self._numbers = count()
        self._alive: dict[Task, None] = {}

    @property
    def now(self) -> datetime:
        return START + timedelta(microseconds=self.micros)

    @property
    def seconds(self) -> float:
        return self.micros / SECOND

    def spawn(
        self,
        name: str,
        run: Callable[[], object],
        *,
        process: Process | None = None,
        delay: float = 0.0,
        on_end: Callable[[], object] | None = None,
    ) -> Task:
        task = Task(name, process, run, on_end)
        task.greenlet = _TaskGreenlet(task, self)
        self._alive[task] = None
        if process is not None:
            process.tasks[task] = None
        self._enqueue(task, delay)
        return task

    def current(self) -> Task:
        running = getcurrent()
        assert isinstance(running, _TaskGreenlet), "only a task can wait"
        return running.task

    def sleep(self, seconds: float) -> None:
        """Let the others go on, for so long."""
        task = self.current()
        if not task.is_killed:
            self._enqueue(task, seconds)
            self.hub.switch()
        if task.is_killed:
            raise Killed(task.name)

    def wait_for(self, other: Task) -> None:
        """Let the others go on until that task has ended."""
        task = self.current()
        while not other.has_ended:
            if not task.is_killed:
                task.wait += 1
                other.awaited_by.append(task)
                self.hub.switch()
            if task.is_killed:
                raise Killed(task.name)

    def kill(self, task: Task) -> None:
        """It ends where it waits, now; a task that ends itself goes on to its own end."""
        if task.has_ended or task.is_killed:
            return
        task.is_killed = True
        if task.greenlet is not getcurrent():
            self._enqueue(task, 0.0)

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Do something that does not wait itself, after so long."""
        at = self.micros + max(0, int(seconds * SECOND))
        heapq.heappush(self._queue, (at, self._random_source.random(), next(self._numbers), 0, call))

    def run(self, until: Callable[[], bool], *, deadline: float) -> bool:
        """Go on until that is so; False if nothing is left to happen, or the deadline has come, before it is."""
        while not until():
            if not self._queue or self._queue[0][0] > deadline * SECOND:
                return False
            at, _, _, wait, due = heapq.heappop(self._queue)
            if isinstance(due, Task) and (due.has_ended or wait != due.wait):
                continue
            self.micros = max(self.micros, at)
            self.steps += 1
            (due.greenlet.switch if isinstance(due, Task) else due)()
        return True

    def close(self) -> None:
        """End every task that still waits, so that nothing of this run is left behind."""
        for task in list(self._alive):
            task.is_killed = True
            if task.greenlet:
                task.greenlet.throw(Killed(task.name))
        self._alive.clear()
        self._queue.clear()

    def _enqueue(self, task: Task, seconds: float) -> None:
        task.wait += 1
        at = self.micros + max(0, int(seconds * SECOND))
        heapq.heappush(self._queue, (at, self._random_source.random(), next(self._numbers), task.wait, task))

    def ended(self, task: Task) -> None:
        task.has_ended = True
        self._alive.pop(task, None)
        if task.process is not None:
            task.process.tasks.pop(task, None)
        for waiting in task.awaited_by:
            if not waiting.has_ended and not waiting.is_killed:
                self._enqueue(waiting, 0.0)
        if task.on_end is not None:
            task.on_end()


def current_process() -> Process:
    """The simulated process whose code runs now."""
    running = getcurrent()
    assert isinstance(running, _TaskGreenlet), "nothing is simulated here"
    assert running.task.process is not None
    return running.task.process


def in_task() -> bool:
    """Whether simulated code runs now, and not what sets it up."""
    return isinstance(getcurrent(), _TaskGreenlet)


class _TaskGreenlet(greenlet):  # type: ignore[misc]
    def __init__(self, task: Task, kernel: Kernel) -> None:
        super().__init__(run=self._run_task, parent=kernel.hub)
        self.task = task
        self._kernel = kernel

    def _run_task(self) -> None:
        """What else is raised here reaches the kernel, and ends the simulation: it is a finding."""
        try:
            if not self.task.is_killed:
                self.task.run()
        except Killed:
            pass
        finally:
            self._kernel.ended(self.task)
