"""Jobs: list them, make one, look at one, and act on it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.admin.documents import cancelled_document, job_view_document, page_document, queue_document
from leasehold.admin.job_documents import job_document, job_summary
from leasehold.admin.pages import JobFilter
from leasehold.api.answers import answered
from leasehold.api.bodies import (
    CancelManyBody,
    MoveBody,
    NewJobBody,
    PriorityBody,
    ReasonBody,
    RescheduleBody,
    RetryBody,
    job_of,
)
from leasehold.api.callers import Operation, asked_for
from leasehold.api.errors import InvalidRequestError
from leasehold.api.idempotency import job_made_once
from leasehold.api.requests import JobsQuery, QueueQuery
from leasehold.kernel.dedup import OnDuplicate
from leasehold.kernel.enqueue import draft, request_of
from leasehold.kernel.keys import RANDOM_BITS, make_job_id, partition_of
from leasehold.kernel.transitions import JobStatus
from leasehold.operate.jobs import find

if TYPE_CHECKING:
    from leasehold.api.answers import Answer
    from leasehold.api.callers import Call
    from leasehold.kernel.keys import JobId


def list_jobs(call: Call) -> Answer:
    query = asked_for(JobsQuery, call.query)
    wanted = JobFilter(
        job_type=query.job_type,
        statuses=query.statuses,
        scheduled_from=query.scheduled_from,
        scheduled_to=query.scheduled_to,
        created_from=query.created_from,
        created_to=query.created_to,
        ended_from=query.ended_from,
        ended_to=query.ended_to,
        dedup_key=query.dedup_key,
        concurrency_key=query.concurrency_key,
        group_id=query.group_id,
        schedule=query.schedule,
        template=query.template,
    )
    return answered(page_document(call.read.jobs(wanted, limit=query.limit, cursor=query.cursor), job_summary))


def queue(call: Call) -> Answer:
    query = asked_for(QueueQuery, call.query)
    view = call.read.queue(shard=query.shard, held_by=query.held_by, first=query.first, limit=query.limit)
    return answered(queue_document(view))


def create(call: Call) -> Answer:
    body = asked_for(NewJobBody, call.body)
    job, on_duplicate = job_of(body), OnDuplicate(body.on_duplicate)
    return job_made_once(
        call,
        lambda: draft(request_of(job), call.services).job.job_id,
        lambda job_id: call.queue.operator.enqueue(job, reason=body.reason, on_duplicate=on_duplicate, job_id=job_id),
    )


def show(call: Call) -> Answer:
    return answered(job_view_document(call.read.job(call.path["job_id"], with_place=True)))


def cancel(call: Call) -> Answer:
    done = call.queue.cancel(call.path["job_id"], reason=asked_for(ReasonBody, call.body).reason)
    return answered(cancelled_document(done))


def cancel_many(call: Call) -> Answer:
    body = asked_for(CancelManyBody, call.body)
    if body.job_ids is not None:
        job_ids, is_complete = body.job_ids, True
    else:
        wanted = JobFilter(statuses=frozenset(map(JobStatus, body.status)), **body.filters)
        found = call.read.jobs_to_cancel(wanted, limit=body.limit)
        if body.dry_run:
            items = [job_summary(each) for each in found.jobs]
            return answered({"dry_run": True, "is_complete": found.is_complete, "items": items})
        job_ids, is_complete = [each.job_id for each in found.jobs], found.is_complete
    done = call.queue.operator.cancel_many(job_ids, reason=body.reason)
    results = [cancelled_document(each) for each in done]
    return answered({"dry_run": False, "is_complete": is_complete, "results": results})


def retry(call: Call) -> Answer:
    body, job_id = asked_for(RetryBody, call.body), call.path["job_id"]
    return job_made_once(
        call,
        lambda: successor_id(job_id, call),
        lambda new_id: call.queue.retry(job_id, reason=body.reason, priority=body.priority, new_job_id=new_id),
    )


def successor_id(job_id: str, call: Call) -> JobId:
    """Of a job that does the work of this one again, in its partition."""
    found = find(job_id, call.services)
    return make_job_id(
        call.services.clock.now(), partition_of(found.job_id), call.services.random_source.bits(RANDOM_BITS)
    )


def run_now(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered(job_document(call.queue.reschedule(call.path["job_id"], reason=reason)))


def reschedule(call: Call) -> Answer:
    body = asked_for(RescheduleBody, call.body)
    if body.run_at is None and body.run_in is None:
        raise InvalidRequestError([("body", "run_at or run_in is needed; run-now runs a job at once")])
    run_in = None if body.run_in is None else timedelta(seconds=body.run_in)
    job = call.queue.reschedule(call.path["job_id"], reason=body.reason, run_at=body.run_at, run_in=run_in)
    return answered(job_document(job))


def prioritise(call: Call) -> Answer:
    body = asked_for(PriorityBody, call.body)
    return answered(job_document(call.queue.reprioritise(call.path["job_id"], body.priority, reason=body.reason)))


def move(call: Call) -> Answer:
    body = asked_for(MoveBody, call.body)
    places = {"before": body.before, "after": body.after}
    job = call.queue.move(call.path["job_id"], reason=body.reason, **places, position=body.position)
    return answered(job_document(job))


def purge(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered(job_document(call.queue.operator.purge(call.path["job_id"], reason=reason)))


def _action(name: str, summary: str, act: object, body: type = ReasonBody, answer: str = "Job") -> Operation:
    return Operation(
        method="POST",
        path=f"/api/jobs/{{job_id}}/{name}",
        name=f"{name.replace('-', '_')}_job",
        summary=summary,
        act=act,  # type: ignore[arg-type]
        body=body,
        answers={200: answer},
    )


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/jobs",
        name="list_jobs",
        summary="List jobs, the newest first; a page may be short and have a cursor",
        act=list_jobs,
        query=JobsQuery,
        answers={200: "JobPage"},
    ),
    Operation(
        method="GET",
        path="/api/queue",
        name="list_queue",
        summary="The jobs that are due and wait, with their positions, in the order of dispatch",
        act=queue,
        query=QueueQuery,
        answers={200: "QueuePage"},
    ),
    Operation(
        method="POST",
        path="/api/jobs",
        name="create_job",
        summary="Enqueue a job, by type or from a template",
        act=create,
        body=NewJobBody,
        takes_key=True,
        answers={201: "Enqueued", 200: "Enqueued"},
    ),
    Operation(
        method="GET",
        path="/api/jobs/{job_id}",
        name="get_job",
        summary="One job with its runs, its timeline and its dead letter",
        act=show,
        answers={200: "Job"},
    ),
    Operation(
        method="POST",
        path="/api/jobs/cancel",
        name="cancel_jobs",
        summary="Cancel the jobs that are named or match, at most 100 at once; or say which these are",
        act=cancel_many,
        body=CancelManyBody,
        answers={200: "CancelledMany"},
    ),
    _action("cancel", "Cancel a waiting job, or ask a running one to stop", cancel, answer="Cancelled"),
    Operation(
        method="POST",
        path="/api/jobs/{job_id}/retry",
        name="retry_job",
        summary="Run a waiting job now, or an ended one again as a new job",
        act=retry,
        body=RetryBody,
        takes_key=True,
        answers={201: "Enqueued", 200: "Enqueued"},
    ),
    _action("run-now", "Have a waiting job due at once", run_now),
    _action("reschedule", "Move a waiting job to another time", reschedule, RescheduleBody),
    _action("priority", "Have a waiting job run among those of another priority", prioritise, PriorityBody),
    _action("move", "Let a waiting job run directly before or after another, or as the n-th", move, MoveBody),
    _action("purge", "Forget the personal data of an ended job: payload, result, errors", purge),
)
