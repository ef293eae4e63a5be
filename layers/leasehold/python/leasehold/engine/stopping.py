"""When to claim no more: the platform asked for an end, or is about to enforce one."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta
    from types import FrameType

    from leasehold.engine.ports import Clock


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
