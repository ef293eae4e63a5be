"""A pool: calls that do not depend on each other run side by side, where waiting for AWS is most of their time.

What runs in it only reaches others: hand-overs, releases, reads, inserts, what ended jobs owe. What a poll decides by
(nonces, seats, counts) stays on the poll's own thread, which collects what the pool answers.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import ThreadPoolExecutor
    from datetime import datetime, timedelta

    from leasehold.kernel.ports import Clock


# A thread mostly waits for an answer: 20 ms for 3 ms of a 512 MB function's share of a core.
_MEGABYTES_PER_THREAD = 64
FEWEST, MOST = 2, 16


class Pending[T](Protocol):
    """A call that is under way."""

    def done(self) -> bool: ...

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


class InTurn:
    """No pool: each call runs when it is submitted. For tests, and for programs whose parts know no threads."""

    size = 1

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        answer = Future[T]()
        try:
            answer.set_result(call())
        except Exception as error:  # any other ends the process, which goes no further
            answer.set_exception(error)
        return answer


class Threads:
    """Threads that are opened when there is more to do than they can do, and stay for the next time."""

    def __init__(self, size: int = MOST) -> None:
        self.size = size

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        return self._opened.submit(call)

    @cached_property
    def _opened(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # most functions never need a second thread

        return ThreadPoolExecutor(self.size, "leasehold")


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

    def on_sigterm(self) -> Callable[[], object]:
        """Stop when the process is asked to end; returns how to put the old signal handler back.

        Python lets only the main thread listen; a poller in another thread is stopped by `stop`.
        """
        if threading.current_thread() is not threading.main_thread():
            return lambda: None

        before = signal.signal(signal.SIGTERM, lambda *_: self.stop())
        return partial(signal.signal, signal.SIGTERM, before)
