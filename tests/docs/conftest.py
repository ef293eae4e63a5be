"""A queue in memory in the place of the one that a page connects to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.jobs.daily_summary.handler import DailySummaryHandler
from leasehold import Queue
from leasehold.testing import FakeClock, LeaseholdTest
from tests.docs.markdown import code_blocks


@pytest.fixture
def deployed() -> LeaseholdTest:
    """With the sample that is deployed there."""
    # A little ahead, so that what a page calls now is due.
    test = LeaseholdTest(clock=FakeClock(datetime.now(UTC) + timedelta(minutes=1)))
    test.register("daily_summary", DailySummaryHandler)
    return test


@pytest.fixture
def shown(request: pytest.FixtureRequest, deployed: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the names of the first block of a test module's `PAGE` stand for once it has run."""
    connected: list[tuple[str, ...]] = []

    def connect(*tables: str) -> Queue:
        connected.append(tables)
        return deployed.queue

    monkeypatch.setattr(Queue, "connect", connect)
    names: dict[str, Any] = {}
    exec(code_blocks(request.module.PAGE, "python")[0], names)
    assert connected == [("dev",)]
    return names
