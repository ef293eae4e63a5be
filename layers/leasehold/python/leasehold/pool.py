"""A pool: calls that do not depend on each other run side by side, where waiting for AWS is most of their time.

What runs in it only reaches others: hand-overs, releases, reads, inserts, what ended jobs owe. What a poll decides by
(nonces, seats, counts) stays on the poll's own thread, which collects what the pool answers.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime, timedelta
    from types import FrameType

    from leasehold.kernel.ports import Clock


# A thread mostly waits for an answer: 20 ms for 3 ms of a 512 MB function's share of a core.
_MEGABYTES_PER_THREAD = 64
FEWEST, MOST = 2, 16


class Pending[T](Protocol):
    """A call that is under way."""

    @property
    def is_done(self) -> bool: ...

    def result(self) -> T:
        """Wait for it; what it raised is raised here."""


class Pool(Protocol):
    @property
    def size(self) -> int:
        """How many calls run at once: 1 where each runs when it is asked for."""

    def submit[T](self, call: Callable[[], T]) -> Pending[T]: ...


def ahead[A, T](pool: Pool, call: Callable[[A], T], arguments: Iterable[A]) -> Iterator[tuple[A, T]]:
    """Each argument with its answer, in order; so many as the pool has room for are asked for ahead."""
    waiting: deque[tuple[A, Pending[T]]] = deque()
    try:
        for argument in arguments:
            waiting.append((argument, pool.submit(lambda argument=argument: call(argument))))  # type: ignore[misc]
            if len(waiting) >= pool.size:
                first, pending = waiting.popleft()
                yield first, pending.result()
        while waiting:
            first, pending = waiting.popleft()
            yield first, pending.result()
    finally:
        # Whoever stops half-way leaves nothing behind that still runs; why it stops is told by what it raised itself.
        for _, pending in waiting:
            with suppress(BaseException):
                pending.result()


class _Answer[T]:
    def __init__(self, call: Callable[[], T]) -> None:
        self._call: Callable[[], T] | None = call
        self._result: T | None = None
        self._raised: BaseException | None = None

    def run(self) -> None:
        assert self._call is not None
        try:
            self._result = self._call()
        except BaseException as error:
            self._raised = error
        self._call = None

    @property
    def is_done(self) -> bool:
        return self._call is None

    def result(self) -> T:
        if self._raised is not None:
            raise self._raised
        return self._result  # type: ignore[return-value]


class InTurn:
    """No pool: each call runs when it is submitted. For tests, and for programs whose parts know no threads."""

    size = 1

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        answer = _Answer(call)
        answer.run()
        if isinstance(answer._raised, Exception | None):
            return answer
        raise answer._raised  # a process that is gone goes no further


class _Awaited[T](_Answer[T]):
    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__(call)
        self._ended = threading.Event()

    def run(self) -> None:
        super().run()
        self._ended.set()

    def result(self) -> T:
        self._ended.wait()
        return super().result()


class Threads:
    """Threads that are opened when there is more to do than they can do, and stay for the next time."""

    def __init__(self, size: int = MOST) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._calls: deque[_Awaited] = deque()  # type: ignore[type-arg]
        self._has_calls = threading.Semaphore(0)
        self._opened = 0
        self._idle = 0

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        answer = _Awaited(call)
        with self._lock:
            self._calls.append(answer)
            opens = len(self._calls) > self._idle and self._opened < self.size
            self._opened += opens
        if opens:
            # They do nothing that could be lost: whoever submits waits for what it has submitted.
            threading.Thread(target=self._work, name=f"leasehold-{self._opened}", daemon=True).start()
        self._has_calls.release()
        return answer

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            self._has_calls.acquire()
            with self._lock:
                self._idle -= 1
                answer = self._calls.popleft()
            answer.run()


def threads_for(memory_mb: int) -> Threads:
    """As many as a function of this size can keep busy.

    >>> [threads_for(memory).size for memory in (128, 512, 1769)]
    [2, 8, 16]
    """
    return Threads(min(max(memory_mb // _MEGABYTES_PER_THREAD, FEWEST), MOST))


class Stopping:
    """Names the reason to stop, or None; pass it to `Poller.poll(should_stop=...)`.

    The poll looks between two entries, so the hand-over that it is in gets finished.
    """

    def __init__(self, clock: Clock, *, deadline: datetime | None = None, reserve: timedelta | None = None) -> None:
        self._clock = clock
        self._last_claim_at = deadline - reserve if deadline is not None and reserve is not None else deadline
        self._asked = threading.Event()

    def __call__(self) -> str | None:
        if self._asked.is_set():
            return "asked to stop"
        if self._last_claim_at is not None and self._clock.now() >= self._last_claim_at:
            return "deadline"
        return None

    def stop(self) -> None:
        self._asked.set()

    def on_sigterm(self) -> Callable[[], None]:
        """Stop when the process is asked to end; returns how to put the old signal handler back.

        Python lets only the main thread listen; a poller in another thread is stopped by `stop`.
        """
        if threading.current_thread() is not threading.main_thread():
            return lambda: None

        def handle(_signal: int, _frame: FrameType | None) -> None:
            self.stop()

        before = signal.signal(signal.SIGTERM, handle)

        def restore() -> None:
            signal.signal(signal.SIGTERM, before)

        return restore
