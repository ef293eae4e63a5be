"""Start a process and note it, as one step: who is told to stop must know all that it has to take with it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_signals() -> Iterator[None]:
    """Within the block a request to stop waits; it comes through at its end.

    Python runs a signal's handler between any two steps, also in the middle of `Popen`: what the handler raises there
    leaves a running process whose number nobody has. The mask of the kernel would hold signals too, but the new
    process would inherit it.
    """
    # Only the main thread runs handlers; what is ignored stays so, also for the new process.
    is_main = threading.current_thread() is threading.main_thread()
    heard = [number for number in _HELD if signal.getsignal(number) not in {None, signal.SIG_IGN}] if is_main else []
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for request in dict.fromkeys(came):
            signal.raise_signal(request)
