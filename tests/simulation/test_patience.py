"""Low priority is late, and not never."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.kernel.poll import PollSettings
from tests.simulation.rushes import Rush

if TYPE_CHECKING:
    import pytest


def test_low_priority_goes_on_while_high_priority_always_waits() -> None:
    rush = Rush(1, seconds=60.0)
    assert rush.run().violation is None
    assert rush.fewest_waiting > 0, "high priority did not wait all the time"
    assert rush.low_completed == 3


def test_without_its_share_of_looks_low_priority_waits_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.functions.PollSettings", partial(PollSettings, lower_share=0.0))
    rush = Rush(1, seconds=60.0)
    assert rush.run().violation is None
    assert rush.fewest_waiting > 0, "high priority did not wait all the time"
    assert rush.low_completed == 0
