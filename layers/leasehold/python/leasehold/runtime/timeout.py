"""A time limit for a handler: its failure is recorded by itself, instead of being found when the lease expires."""

from __future__ import annotations

import contextvars
import queue
import signal
import threading
from typing import TYPE_CHECKING, cast

from leasehold.domain.errors import JobTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from types import FrameType


def run_within[T](limit: timedelta, work: Callable[[], T]) -> T:
    """Run `work`; JobTimeoutError if it takes longer than `limit`.

    In a process's main thread, as in Lambda, an alarm interrupts the work where it is. Elsewhere Python cannot
    interrupt a thread: the work is left behind, and whatever it still writes for its job is refused by the fencing.
    """
    seconds = limit.total_seconds()
    if threading.current_thread() is threading.main_thread():
        return _with_alarm(seconds, work)
    return _in_thread(seconds, work)


def _with_alarm[T](seconds: float, work: Callable[[], T]) -> T:
    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise JobTimeoutError(seconds)

    before = signal.signal(signal.SIGALRM, expire)
    pending = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        # Somebody else's alarm, e.g. a test runner's, goes on; it comes later by as long as the work took.
        signal.setitimer(signal.ITIMER_REAL, *pending)


def _in_thread[T](seconds: float, work: Callable[[], T]) -> T:
    answer: queue.SimpleQueue[tuple[bool, T | BaseException]] = queue.SimpleQueue()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            answer.put((True, context.run(work)))
        except BaseException as error:
            answer.put((False, error))

    threading.Thread(target=run, name="leasehold-handler", daemon=True).start()
    try:
        succeeded, outcome = answer.get(timeout=seconds)
    except queue.Empty:
        raise JobTimeoutError(seconds) from None
    if not succeeded:
        raise cast("BaseException", outcome)
    return cast("T", outcome)
