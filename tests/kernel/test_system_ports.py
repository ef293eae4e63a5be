"""The clock and the random numbers of the system."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime, timedelta

from leasehold.kernel.ports import SystemClock, SystemRandomSource


def test_a_share_is_made_of_53_bits(monkeypatch):
    monkeypatch.setattr(secrets, "randbits", lambda count: 1 << (count - 1))

    assert SystemRandomSource().share() == 0.5
    assert SystemRandomSource().bits(8) == 128


def test_the_clock_tells_milliseconds_in_utc_and_sleeps_as_long_as_it_is_told(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    before = datetime.now(UTC)

    now = SystemClock().now()
    SystemClock().sleep(timedelta(milliseconds=1500))

    assert timedelta(milliseconds=-1) <= now - before < timedelta(minutes=1)
    assert now.microsecond % 1000 == 0
    assert slept == [1.5]
