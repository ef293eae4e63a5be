"""A pool in virtual time: each call is a task of the process that submitted it, under the kernel's own scheduler."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from leasehold.pool import InTurn
from tests.simulation.kernel import Killed, in_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.pool import Pending
    from tests.simulation.kernel import Kernel, Task


class VirtualPool:
    """So many calls at once, as threads would be; the next begins when one has ended."""

    def __init__(self, kernel: Kernel, process: Any, size: int) -> None:
        self.size = size
        self._kernel = kernel
        self._process = process
        self._queued: deque[_Call[Any]] = deque()
        self._running = 0
        self._numbers = 0

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        if not in_task() or self.size == 1:
            return InTurn().submit(call)
        self._numbers += 1
        submitted = _Call(self._kernel, call, f"{self._kernel.current().name}/{self._numbers}")
        self._queued.append(submitted)
        self._begin()
        return submitted

    def _begin(self) -> None:
        while self._queued and self._running < self.size and not getattr(self._process, "is_dead", False):
            call = self._queued.popleft()
            self._running += 1
            call.task = self._kernel.spawn(call.name, call.run, process=self._process, on_end=self._ended)

    def _ended(self) -> None:
        self._running -= 1
        self._begin()


class _Call[T]:
    def __init__(self, kernel: Kernel, call: Callable[[], T], name: str) -> None:
        self.name = name
        self._kernel = kernel
        self._call = call
        self._answer: T | None = None
        self._raised: Exception | None = None
        self.task: Task | None = None

    def run(self) -> None:
        try:
            self._answer = self._call()
        except Exception as error:
            self._raised = error

    def done(self) -> bool:
        return self.task is not None and self.task.has_ended

    def result(self) -> T:
        while self.task is None:
            self._kernel.sleep(0.0001)  # others of the pool come first
        self._kernel.wait_for(self.task)
        if self.task.is_killed:
            raise Killed(self.task.name)
        if self._raised is not None:
            raise self._raised
        return self._answer  # type: ignore[return-value]
