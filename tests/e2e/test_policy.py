"""A concurrency policy of the user's own, deployed with the poller by its name in the settings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@pytest.fixture
def with_policy(local_stack: LocalStack) -> Iterator[LocalStack]:
    root = local_stack.project.root
    environments, folder = root / "infra" / "environments.py", root / "policies"
    before = environments.read_text()
    folder.mkdir()
    (folder / "tenants.py").write_text(POLICY)
    changed = before.replace('"api": ApiOptions(', f'{SETTINGS} "api": ApiOptions(')
    assert changed != before
    environments.write_text(changed)
    local_stack.deploy()
    yield local_stack
    environments.write_text(before)
    local_stack.deploy()


def test_jobs_of_two_types_without_limits_share_the_seat_of_their_tenant(with_policy: LocalStack) -> None:
    queue = with_policy.queue
    wanted: list[tuple[str, Json]] = [("slowpoke", {"seconds": 1}), ("flaky", {"failures": 0})] * 2
    made = [queue.enqueue(job_type, payload, concurrency_key="acme").job_id for job_type, payload in wanted]

    jobs = [queue.wait(job_id, timeout=PATIENCE) for job_id in made]

    assert {job.status for job in jobs} == {JobStatus.COMPLETED}
    runs = sorted((job.runs[0] for job in jobs), key=lambda run: run.started_at)
    assert all(before.ended_at <= after.started_at for before, after in pairwise(runs))
    environment = with_policy.client("lambda").get_function_configuration(FunctionName=with_policy.real_name("poller"))
    assert environment["Environment"]["Variables"]["LEASEHOLD_POLL_LIMIT"] == "7"
