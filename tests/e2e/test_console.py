"""The console on the deployed stacks: what it does there reaches the handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.transitions import JobStatus
from tests.console.knocking import Door
from tests.console.serving import serving
from tests.local_stack import LOCAL_AWS

if TYPE_CHECKING:
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

PAYLOAD = {"user_id": "u1", "source": {"name": "Ada"}, "target": {}}


def test_a_job_that_the_console_enqueues_runs_and_is_recorded_as_whom_aws_says_it_is(local_stack: LocalStack) -> None:
    with serving(local_stack.queue.services, name="local") as console:
        door = Door(console)
        keys = door.keys()
        made = door.document("POST", "/api/jobs", keys, {"job_type": "user_sync", "payload": PAYLOAD, "reason": "e2e"})

        assert local_stack.wait(made["job_id"]).status is JobStatus.COMPLETED
        shown = door.document("GET", f"/api/jobs/{made['job_id']}", keys)
        assert shown["status"] == "completed"
        records = door.document("GET", f"/api/audit?target=job%23{made['job_id']}", keys)["items"]
        assert [(each["action"], each["reason"]) for each in records] == [("create", "e2e")]
        assert records[0]["by"].startswith("arn:aws:")
        assert console.name == "local"
        assert door.document("GET", "/api/control", keys)["types"].keys() >= {"user_sync", "backup"}
