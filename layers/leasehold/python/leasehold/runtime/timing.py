"""The time of a handler: how long it may take, and what ends it then."""

from __future__ import annotations

import contextvars
import signal
import threading
from concurrent.futures import Future, wait
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType


# Time kept back before the platform's own timeout, so that the failure can still be written and reported, also by a
# container that has not reported anything yet.
RESERVE = timedelta(seconds=2)
# An alarm of no time at all would be no alarm.
_SHORTEST = timedelta(milliseconds=1)


class JobTimeoutError(LeaseholdError, code="timeout"):
    def __init__(self, seconds: float) -> None:
        super().__init__(f"the handler ran longer than its time limit of {seconds:g} s")


def limit_of(timeout: timedelta, remaining: timedelta | None) -> timedelta:
    """A handler has its own time, unless the platform leaves less."""
    return timeout if remaining is None else min(timeout, max(remaining - RESERVE, remaining / 2, _SHORTEST))


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
    answer = Future[T]()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            answer.set_result(context.run(work))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name="leasehold-handler", daemon=True).start()
    if not wait((answer,), seconds).done:
        raise JobTimeoutError(seconds)
    if (raised := answer.exception()) is not None:
        raise raised
    return answer.result()


def awaited(coroutine: Coroutine[object, object, object], limit: timedelta | None) -> object:
    """What it returns, run in a loop of its own."""
    import asyncio

    async def work() -> object:
        # Beside the alarm, which may strike inside a callback of the loop: the loop only logs what those raise.
        seconds = None if limit is None else limit.total_seconds()
        within = asyncio.timeout(seconds)
        try:
            async with within:
                return await coroutine
        except TimeoutError:
            if seconds is not None and within.expired():
                raise JobTimeoutError(seconds) from None
            raise

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    # A test that is itself asynchronous: two loops cannot share a thread.
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, lambda: asyncio.run(work())).result()
