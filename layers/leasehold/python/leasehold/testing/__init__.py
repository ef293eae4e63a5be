"""For your tests: the queue in memory, with a fake clock. See LeaseholdTest."""

from leasehold.testing.clock import FakeClock, SeededChance
from leasehold.testing.queue import Drained, LeaseholdTest
from leasehold.testing.recorder import Recorder

__all__ = ["Drained", "FakeClock", "LeaseholdTest", "Recorder", "SeededChance"]
