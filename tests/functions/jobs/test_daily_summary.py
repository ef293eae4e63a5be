from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from functions.jobs.daily_summary.handler import DailySummaryHandler
from leasehold.kernel.errors import InvalidPayloadError

if TYPE_CHECKING:
    from tests.functions.jobs.conftest import Deploy


def test_a_summary_is_the_result_of_its_job(deploy: Deploy):
    test = deploy("daily_summary", DailySummaryHandler)
    job_id = test.queue.enqueue("daily_summary", {"user_id": "ada", "day": "2026-01-01"}).job_id
    assert test.drain()["completed"] == 1
    result = test.queue.get(job_id).result
    assert isinstance(result, dict)
    assert result["user_id"] == "ada"


def test_a_summary_for_nobody_is_refused_before_there_is_a_job(deploy: Deploy):
    test = deploy("daily_summary", DailySummaryHandler)
    with pytest.raises(InvalidPayloadError, match=r"payload\.user_id is missing"):
        test.queue.enqueue("daily_summary", {})
