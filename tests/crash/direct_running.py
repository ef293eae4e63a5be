"""Scenarios of direct runs: reserve, take the seats, call the handler, give everything back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.direct_runs.model import DirectRunError, DirectRunTimeoutError
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.transitions import JobStatus
from tests.crash.faults import CALL
from tests.crash.polling import seats_can_be_had
from tests.crash.scenario import Scenario
from tests.crash.snapshot import stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.job_type import JobType
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_LONGER_THAN_A_DEAD_CALLER = timedelta(minutes=10)


class Caller:
    """Calls a healthy handler, while a poller finds what is due; by a call that counts like every other."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        site = self._process.world.site
        if self._process.client is site.faulty:
            return site.wire.call(lambda: self._deliver(run))
        return self._deliver(run)

    def _deliver(self, run: DirectRun) -> DirectAnswer:
        world = self._process.world
        world.elsewhere.poller().poll()
        running = [job for job in stored_jobs(world) if job.job_type == run.job_type and job.started_at]
        beside = [job for job in running if job.status is JobStatus.IN_PROGRESS]
        answer = world.elsewhere.worker.run_directly(run)
        if beside and answer.error_code != "too_late":
            # Not an AssertionError: the job in whose handler a late call arrives would only fail by that.
            pytest.fail(f"it ran beside {beside}")
        return answer


def _run(job_type: str, mode: str = "result", timeout: timedelta = timedelta(minutes=1)) -> Any:
    def act(process: Process, _prepared: object) -> object:
        process.services.caller = Caller(process)
        try:
            return process.queue.run_now(job_type, {"mode": mode}, timeout=timeout)
        except (DirectRunError, DirectRunTimeoutError) as error:
            return error.code

    return act


def _while_one_runs(job_type: str, *, ends: bool = True) -> Callable[[World], None]:
    """One job is at work, and ends at the direct run's first pause; another is due."""

    def prepare(world: World) -> None:
        world.enqueue(job_type=job_type)
        attempt = Executor(world.elsewhere.services, worker_id="at-work").begin(world.claim())
        assert isinstance(attempt, Attempt)
        world.enqueue(job_type=job_type)

        def sleep(duration: timedelta) -> None:
            world.clock.advance(duration)
            if ends and not attempt.has_ended:
                attempt.complete(None)

        world.clock.sleep = sleep  # type: ignore[method-assign]

    return prepare


def _each_run_once(world: World, end: Snapshot, prepared: object) -> None:
    direct = {name: times for name, times in world.executions.items() if name.startswith("direct-")}
    assert set(direct.values()) <= {1}
    assert all(job.status is JobStatus.COMPLETED for job in end.jobs.values())
    seats_can_be_had(world, end, prepared)
    now = world.clock.now()
    switches = world.elsewhere.services.deployment.switches(fresh=True)
    assert [name for name in switches.reservations if switches.reserved_until(name, now)] == []


SCENARIOS = (
    Scenario(
        name="run a limited type now",
        prepare=_while_one_runs("limited"),
        act=_run("limited"),
        again=_run("limited", timeout=_LONGER_THAN_A_DEAD_CALLER),
        calls=("PutItem", "PutItem", CALL, "UpdateItem", "TransactWriteItems"),
        check=_each_run_once,
    ),
    Scenario(
        name="run an unlimited type now",
        prepare=_while_one_runs("work"),
        act=_run("work"),
        again=_run("work", timeout=_LONGER_THAN_A_DEAD_CALLER),
        calls=("PutItem", CALL, "TransactWriteItems"),
        check=_each_run_once,
    ),
    Scenario(
        name="run now when nobody waits",
        act=_run("limited"),
        again=_run("limited", timeout=_LONGER_THAN_A_DEAD_CALLER),
        calls=("PutItem", "PutItem", CALL, "UpdateItem", "DeleteItem"),
        check=_each_run_once,
    ),
    Scenario(
        name="run now, and the handler fails",
        prepare=_while_one_runs("limited"),
        act=_run("limited", "fail"),
        calls=("PutItem", "PutItem", CALL, "UpdateItem", "TransactWriteItems"),
        check=_each_run_once,
    ),
    Scenario(
        name="wait in vain to run now",
        prepare=_while_one_runs("limited", ends=False),
        act=_run("limited", timeout=timedelta(seconds=1)),
        calls=("PutItem", "DeleteItem"),
        check=_each_run_once,
    ),
)
