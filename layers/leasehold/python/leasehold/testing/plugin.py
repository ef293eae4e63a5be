"""The pytest plug-in: installed with Leasehold, active wherever pytest runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leasehold.testing.clock import FakeClock
    from leasehold.testing.queue import LeaseholdTest


@pytest.fixture
def leasehold_clock() -> FakeClock:
    """A clock that moves only when the test moves it."""
    from leasehold.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def leasehold(leasehold_clock: FakeClock) -> LeaseholdTest:
    """A queue in memory; `leasehold.register("type", Handler)` adds job types."""
    from leasehold.testing.queue import LeaseholdTest

    return LeaseholdTest(clock=leasehold_clock)
