"""What a handler may raise to say how its job goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest

from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.runtime.signals import Cancel, Signal, Skip, Snooze


def test_a_snooze_takes_seconds_or_a_duration():
    assert Snooze(1.5).delay == timedelta(seconds=1.5)
    assert Snooze(timedelta(hours=2)).delay == timedelta(hours=2)
    assert str(Snooze(90)) == "snoozed for 90 s"


@pytest.mark.parametrize("seconds", [0, -1, timedelta(0), timedelta(days=367), timedelta.max])
def test_a_snooze_that_no_due_time_can_express_is_refused(seconds):
    with pytest.raises(InvalidOptionError, match="longer than nothing and at most 366 days"):
        Snooze(seconds)


def test_reasons_are_text_whatever_was_passed():
    assert Cancel("gone").reason == "gone"
    assert Skip(cast("str", None)).reason == "None"


@pytest.mark.parametrize("signal", [Snooze, Cancel, Skip])
def test_no_signal_is_an_error(signal):
    assert issubclass(signal, Signal)
    assert not issubclass(signal, LeaseholdError)
