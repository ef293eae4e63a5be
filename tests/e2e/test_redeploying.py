"""A deployment while jobs wait: a changed handler, a policy of the user's own, a job type that goes and comes back.

A deployment takes a while, so there is one for all of these, and one that takes them back.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.errors import UnknownJobTypeError
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

POLICY = '''
from leasehold import DeployedLimits, Limit

def one_of_a_tenant(job_type, concurrency_key, registry):
    """One job of a tenant at a time, of whatever type: no setting can say that."""
    deployed = DeployedLimits().limits_of(job_type, concurrency_key, registry)
    own = (Limit(scope=f"own:tenant:{concurrency_key}", seats=1),) if concurrency_key else ()
    return (*deployed, *own)
'''
SETTINGS = '"concurrency_policy": "tenants:one_of_a_tenant", "poll_limit": 7,'


@dataclass(frozen=True)
class Redeployed:
    jobs: dict[str, JobId]
    take_back: Callable[[], None]


@pytest.fixture(scope="module")
def redeployed(local_stack: LocalStack) -> Iterator[Redeployed]:
    """Jobs that waited while flaky's handler was changed, the type limited removed, and the poller told its policy."""
    ahead = timedelta(hours=1)
    jobs = {
        "flaky": local_stack.queue.enqueue("flaky", {"failures": 0}, run_in=ahead).job_id,
        "limited": local_stack.queue.enqueue("limited", {"seconds": 0}, run_in=ahead).job_id,
    }
    root = local_stack.project.root
    functions = root / "functions" / "exercises"
    handler, folder = functions / "flaky" / "handler.py", functions / "limited"
    before, away = handler.read_text(), root / "limited"
    handler.write_text(before.replace('"answered_at_attempt"', '"answered_anew_at_attempt"'))
    shutil.move(folder, away)
    environments = root / "infra" / "environments.py"
    without_policy = environments.read_text()
    with_policy = without_policy.replace('"api": ApiOptions(', f'{SETTINGS} "api": ApiOptions(')
    assert with_policy != without_policy
    environments.write_text(with_policy)
    (root / "policies").mkdir()
    (root / "policies" / "tenants.py").write_text(POLICY)
    assert "deployed" in local_stack.deploy()
    for job_id in jobs.values():
        local_stack.queue.reschedule(job_id)

    def take_back() -> None:
        if away.exists():
            handler.write_text(before)
            shutil.move(away, folder)
            environments.write_text(without_policy)
            local_stack.deploy()

    yield Redeployed(jobs, take_back)
    take_back()


def test_a_job_that_waited_runs_with_the_new_handler(local_stack: LocalStack, redeployed: Redeployed):
    job = local_stack.wait(redeployed.jobs["flaky"])

    assert job.status is JobStatus.COMPLETED
    assert job.result == {"answered_anew_at_attempt": 1}


def test_jobs_of_two_types_without_limits_share_the_seat_of_their_tenant(
    local_stack: LocalStack, redeployed: Redeployed
) -> None:
    queue = local_stack.queue
    wanted: list[tuple[str, Json]] = [("slowpoke", {"seconds": 1}), ("flaky", {"failures": 0})] * 2
    made = [queue.enqueue(job_type, payload, concurrency_key="acme").job_id for job_type, payload in wanted]

    jobs = [queue.wait(job_id, timeout=PATIENCE) for job_id in made]

    assert {job.status for job in jobs} == {JobStatus.COMPLETED}
    runs = sorted((job.runs[0] for job in jobs), key=lambda run: run.started_at)
    assert all(before.ended_at <= after.started_at for before, after in pairwise(runs))
    environment = local_stack.client("lambda").get_function_configuration(FunctionName=local_stack.real_name("poller"))
    assert environment["Environment"]["Variables"]["LEASEHOLD_POLL_LIMIT"] == "7"


def test_a_job_whose_type_is_gone_is_held_until_the_type_is_deployed_again(
    local_stack: LocalStack, redeployed: Redeployed
):
    queue = local_stack.queue
    assert eventually(lambda: queue.get(redeployed.jobs["limited"]).is_held)
    assert queue.get(redeployed.jobs["limited"]).status is JobStatus.PENDING
    with pytest.raises(UnknownJobTypeError, match="limited"):
        queue.enqueue("limited", {})

    redeployed.take_back()

    job = local_stack.wait(redeployed.jobs["limited"])
    assert (job.status, job.attempts) == (JobStatus.COMPLETED, 1)
