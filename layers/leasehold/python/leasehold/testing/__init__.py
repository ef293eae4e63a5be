"""For your tests: the queue in memory, with a fake clock. See LeaseholdTest.

Names are resolved when they are first used: the pytest plug-in lives here, and every test run loads it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.testing.clock import FakeClock, SeededRandomSource
    from leasehold.testing.queue import Drained, LeaseholdTest
    from leasehold.testing.recorder import Recorder

_HOME_OF = {
    "Drained": "leasehold.testing.queue",
    "FakeClock": "leasehold.testing.clock",
    "LeaseholdTest": "leasehold.testing.queue",
    "Recorder": "leasehold.testing.recorder",
    "SeededRandomSource": "leasehold.testing.clock",
}

__all__ = ["Drained", "FakeClock", "LeaseholdTest", "Recorder", "SeededRandomSource"]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
