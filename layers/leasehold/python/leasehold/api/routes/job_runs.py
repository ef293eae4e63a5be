"""Runs of jobs: look at one, and run its job again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.admin.job_documents import run_of_job, running_runs
from leasehold.api.answers import answered
from leasehold.api.bodies import RetryBody
from leasehold.api.callers import Operation, asked_for
from leasehold.api.idempotency import job_made_once
from leasehold.api.routes.jobs import successor_id

if TYPE_CHECKING:
    from leasehold.api.answers import Answer
    from leasehold.api.callers import Call


def show(call: Call) -> Answer:
    view = call.read.run(call.path["run_id"])
    return answered(running_runs(view.job)[0] if view.run is None else run_of_job(view.job, view.run))


def retry(call: Call) -> Answer:
    body, run_id = asked_for(RetryBody, call.body), call.path["run_id"]
    job_id = run_id.rpartition(".")[0]
    return job_made_once(
        call,
        lambda: successor_id(job_id, call),
        lambda new_id: call.queue.retry_run(run_id, reason=body.reason, priority=body.priority, new_job_id=new_id),
    )


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/job-runs/{run_id}",
        name="get_run",
        summary="One run, by `<job id>.<number>`",
        act=show,
        answers={200: "Run"},
    ),
    Operation(
        method="POST",
        path="/api/job-runs/{run_id}/retry",
        name="retry_run",
        summary="Run the job of a failed run again, with the same or a given priority",
        act=retry,
        body=RetryBody,
        takes_key=True,
        answers={201: "Enqueued", 200: "Enqueued"},
    ),
)
