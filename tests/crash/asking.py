"""Scenarios of the HTTP API: requests with an idempotency key that make something, and direct runs done elsewhere."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.direct_runs.model import DirectRequest, DirectState
from leasehold.direct_runs.run import accept, make_run_id, perform
from tests.api.world import Api
from tests.crash.direct_running import Caller
from tests.crash.faults import CALL
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_JOB = {"job_type": "work", "payload": {"mode": "result"}, "reason": "a test"}
_GROUP = {"jobs": [{"job_type": "work", "payload": {"mode": "result"}}] * 2, "reason": "a test"}
_RUN = {"job_type": "limited", "payload": {"mode": "result"}, "timeout": 60, "reason": "a test"}
_REASON = {"reason": "a test"}


def _send(route: str, body: object) -> Callable[[Process, Any], object]:
    """A request under the same key each time; of what it answers, what does not depend on chance."""

    def act(process: Process, prepared: object) -> object:
        api = Api(process.services)
        api.application.patience = timedelta(0)
        api.starter.at_once = False
        answer = api.send(route.format(prepared), body, key="the-key")
        assert answer.status in {200, 201, 202}, answer.body
        if "job_id" in answer.body:
            process.world.acknowledged.append(answer.body["job_id"])
        return answer.status, answer.body.get("created")

    return act


def _ended(world: World) -> str:
    job_id = world.enqueue()
    recover(world)
    return job_id


def _failed_once(world: World) -> str:
    """It waits for its second attempt, which a retry has due at once."""
    job_id = world.enqueue("fail", max_attempts=2)
    world.elsewhere.poller().poll()
    return job_id


def _one_job_and_its_record(world: World, end: Snapshot, _prepared: object) -> None:
    assert len(end.jobs) <= 1, "made twice"
    for job_id in end.jobs:
        audit_entries = world.elsewhere.services.store.audits.trail(f"job#{job_id}")
        assert [record.audit_entry.action for record in audit_entries] == ["create"]


def _at_most_one_successor(_world: World, end: Snapshot, job_id: Any) -> None:
    assert len(end.successors(job_id)) <= 1, "made twice"


def _at_most_one_group(_world: World, end: Snapshot, _prepared: object) -> None:
    assert len(end.groups) <= 1
    assert len(end.jobs) <= 2, "made twice"


def _accepted(world: World) -> str:
    services = world.elsewhere.services
    wanted = DirectRequest(
        run_id=make_run_id(services),
        job_type="limited",
        payload_text='{"mode":"result"}',
        timeout=timedelta(minutes=1),
        fingerprint="",
        by="a test",
        asked_at=services.clock.now(),
    )
    return accept(wanted, services, reason="a test").run_id


def _perform(process: Process, run_id: str) -> object:
    process.services.caller = Caller(process)
    done = perform(run_id, process.services, worker_id="runner")
    return done and str(done.state)


def _done_once_or_lost(world: World, _end: Snapshot, run_id: Any) -> None:
    """Nobody does it again after a crash: it may have run. What was told is what happened."""
    world.clock.advance(timedelta(minutes=10))
    request = world.elsewhere.services.store.direct_requests.get(run_id)
    assert request is not None
    state, times = request.state_at(world.clock.now()), world.executions[run_id]
    assert (state is DirectState.COMPLETED and times == 1) or (state is DirectState.LOST and times <= 1)


def _accepted_with_its_record(world: World, _end: Snapshot, _prepared: object) -> None:
    """Whoever asks again finds the same run; one record says who wanted it."""
    services = world.elsewhere.services
    heads = [head.target for head in services.store.audits.heads() if head.target.startswith("direct-run#")]
    assert len(heads) <= 1, "accepted twice"
    for target in heads:
        assert len(services.store.audits.trail(target)) == 1
        assert services.store.direct_requests.get(target.removeprefix("direct-run#")) is not None


_CREATE = _send("POST /api/jobs", _JOB)
_RETRY = _send("POST /api/jobs/{}/retry", _REASON)
_RETRY_RUN = _send("POST /api/job-runs/{}.1/retry", _REASON)
_CREATE_GROUP = _send("POST /api/groups", _GROUP)
_START = _send("POST /api/direct-runs", _RUN)
_KEPT_AND_MADE = ("PutItem", "TransactWriteItems", "UpdateItem")

SCENARIOS = (
    Scenario(
        name="create a job under a key",
        act=_CREATE,
        again=_CREATE,
        calls=("PutItem", "ExecuteTransaction", "UpdateItem"),
        check=_one_job_and_its_record,
    ),
    Scenario(
        name="retry a job under a key",
        prepare=_ended,
        act=_RETRY,
        again=_RETRY,
        calls=_KEPT_AND_MADE,
        check=_at_most_one_successor,
    ),
    Scenario(
        name="retry a failed run under a key",
        prepare=_failed_once,
        act=_RETRY_RUN,
        again=_RETRY_RUN,
        calls=_KEPT_AND_MADE,
    ),
    Scenario(
        name="create a group under a key",
        act=_CREATE_GROUP,
        again=_CREATE_GROUP,
        calls=_KEPT_AND_MADE,
        check=_at_most_one_group,
    ),
    Scenario(
        name="ask for a direct run under a key",
        act=_START,
        again=_START,
        calls=("TransactWriteItems",),
        check=_accepted_with_its_record,
    ),
    Scenario(
        name="do a direct run that was asked for",
        prepare=_accepted,
        act=_perform,
        again=_perform,
        calls=("UpdateItem", "PutItem", CALL, "UpdateItem"),
        check=_done_once_or_lost,
    ),
)
