from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from functions.jobs.user_sync.handler import UserSyncHandler
from leasehold import Outcome

if TYPE_CHECKING:
    from leasehold import Job
    from leasehold.kernel.payload import Json
    from tests.functions.jobs.conftest import Deploy


def synced(deploy: Deploy, source: Json, target: Json) -> Job:
    test = deploy("user_sync", UserSyncHandler)
    job_id = test.queue.enqueue("user_sync", {"user_id": "ada", "source": source, "target": target}).job_id
    test.drain()
    return test.queue.get(job_id)


def test_what_differs_is_set_and_what_is_gone_is_removed(deploy: Deploy):
    job = synced(deploy, {"name": "Ada", "city": "London"}, {"name": "Ada", "city": "Paris", "fax": "1"})
    assert job.result == {"user_id": "ada", "set": {"city": "London"}, "remove": ["fax"]}


def test_a_user_in_sync_is_skipped(deploy: Deploy):
    job = synced(deploy, {"name": "Ada"}, {"name": "Ada"})
    assert [run.outcome for run in job.runs] == [Outcome.SKIPPED]


def test_a_failed_sync_is_tried_five_times_ever_more_slowly(deploy: Deploy):
    class DirectoryIsDown(UserSyncHandler):
        def handle(self, payload: object) -> None:  # type: ignore[override]
            raise ConnectionError("directory is down")

    test = deploy("user_sync", DirectoryIsDown)
    job_id = test.queue.enqueue("user_sync", {"user_id": "ada", "source": {}, "target": {}}).job_id
    test.drain(until_idle=True)
    starts = [run.started_at for run in test.queue.get(job_id).runs]
    waits = [later - earlier for earlier, later in pairwise(starts)]
    assert len(starts) == 5
    for attempt, wait in enumerate(waits):
        assert timedelta(minutes=2**attempt) <= wait <= timedelta(minutes=2**attempt) * 1.11
