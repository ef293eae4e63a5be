"""Jobs: list them, make one, look at one and its runs, and act on it. Direct runs, which make no job."""

from __future__ import annotations

from datetime import timedelta

from leasehold.admin.documents import cancelled_document, direct_run_document, page_document
from leasehold.admin.job_documents import job_document, job_summary
from leasehold.admin.pages import JobFilter
from leasehold.api.answers import Answer
from leasehold.api.bodies import (
    CancelManyBody,
    DirectRunBody,
    MoveBody,
    NewJobBody,
    PriorityBody,
    ReasonBody,
    RescheduleBody,
    RetryBody,
    job_of,
    options_of,
)
from leasehold.api.errors import InvalidRequestError
from leasehold.api.idempotency import job_made_once
from leasehold.api.operations import Call, route
from leasehold.api.requests import JobsQuery, QueueQuery
from leasehold.aws.api_access import Role
from leasehold.direct_runs.model import DirectRequest, DirectState
from leasehold.direct_runs.run import accept, find_direct, make_run_id, wait_for_direct
from leasehold.documents import Document
from leasehold.kernel.enqueue import OnDuplicate, draft, request_of
from leasehold.kernel.keys import RANDOM_BITS, JobId, make_job_id, partition_of
from leasehold.kernel.payload import encode_value
from leasehold.kernel.transitions import JobStatus
from leasehold.operate.jobs import find


@route("GET /api/jobs", Role.VIEWER, "JobPage")
def list_jobs(call: Call, query: JobsQuery) -> Document:
    """List jobs, the newest first; a page may be short and have a cursor."""
    wanted = JobFilter(statuses=query.statuses, **query.filters)
    return page_document(call.read.jobs(wanted, limit=query.limit, cursor=query.cursor), job_summary)


@route("GET /api/queue", Role.VIEWER, "QueuePage")
def list_queue(call: Call, query: QueueQuery) -> Document:
    """The jobs that are due and wait, with their positions, in the order of dispatch."""
    return call.read.queue(**dict(query))


@route("POST /api/jobs", Role.OPERATOR, "Enqueued", statuses=(201, 200), takes_key=True)
def create_job(call: Call, body: NewJobBody) -> Answer:
    """Enqueue a job, by type or from a template."""
    job, on_duplicate = job_of(body), OnDuplicate(body.on_duplicate)
    return job_made_once(
        call,
        lambda: draft(request_of(job), call.services).job.job_id,
        lambda job_id: call.queue.operator.enqueue(job, reason=body.reason, on_duplicate=on_duplicate, job_id=job_id),
    )


@route("GET /api/jobs/{job_id}", Role.VIEWER, "Job")
def get_job(call: Call, job_id: str) -> Document:
    """One job with its runs, its timeline and its dead letter."""
    return call.read.job(job_id, with_place=True)


@route("POST /api/jobs/cancel", Role.OPERATOR, "CancelledMany")
def cancel_jobs(call: Call, body: CancelManyBody) -> Document:
    """Cancel the jobs that are named or match, at most 100 at once; or say which these are."""
    if body.job_ids is not None:
        job_ids, is_complete = body.job_ids, True
    else:
        wanted = JobFilter(statuses=frozenset(map(JobStatus, body.status)), **body.filters)
        found, is_complete = call.read.jobs_to_cancel(wanted, limit=body.limit)
        if body.dry_run:
            return {"dry_run": True, "is_complete": is_complete, "items": [job_summary(each) for each in found]}
        job_ids = [each.job_id for each in found]
    done = call.queue.operator.cancel_many(job_ids, reason=body.reason)
    return {"dry_run": False, "is_complete": is_complete, "results": [cancelled_document(each) for each in done]}


@route("POST /api/jobs/{job_id}/cancel", Role.OPERATOR, "Cancelled")
def cancel_job(call: Call, job_id: str, body: ReasonBody) -> Document:
    """Cancel a waiting job, or ask a running one to stop."""
    return cancelled_document(call.queue.cancel(job_id, reason=body.reason))


@route("POST /api/jobs/{job_id}/retry", Role.OPERATOR, "Enqueued", statuses=(201, 200), takes_key=True)
def retry_job(call: Call, job_id: str, body: RetryBody) -> Answer:
    """Run a waiting job now, or an ended one again as a new job."""
    return job_made_once(
        call,
        lambda: _successor_id(job_id, call),
        lambda new_id: call.queue.retry(job_id, **dict(body), new_job_id=new_id),
    )


@route("POST /api/jobs/{job_id}/run-now", Role.OPERATOR, "Job")
def run_now_job(call: Call, job_id: str, body: ReasonBody) -> Document:
    """Have a waiting job due at once."""
    return job_document(call.queue.reschedule(job_id, reason=body.reason))


@route("POST /api/jobs/{job_id}/reschedule", Role.OPERATOR, "Job")
def reschedule_job(call: Call, job_id: str, body: RescheduleBody) -> Document:
    """Move a waiting job to another time."""
    if body.run_at is None and body.run_in is None:
        raise InvalidRequestError([("body", "run_at or run_in is needed; run-now runs a job at once")])
    return job_document(call.queue.reschedule(job_id, **options_of(body)))


@route("POST /api/jobs/{job_id}/priority", Role.OPERATOR, "Job")
def priority_job(call: Call, job_id: str, body: PriorityBody) -> Document:
    """Have a waiting job run among those of another priority."""
    return job_document(call.queue.reprioritise(job_id, body.priority, reason=body.reason))


@route("POST /api/jobs/{job_id}/move", Role.OPERATOR, "Job")
def move_job(call: Call, job_id: str, body: MoveBody) -> Document:
    """Let a waiting job run directly before or after another, or as the n-th."""
    return job_document(call.queue.move(job_id, **dict(body)))


@route("POST /api/jobs/{job_id}/purge", Role.ADMIN, "Job")
def purge_job(call: Call, job_id: str, body: ReasonBody) -> Document:
    """Forget the personal data of an ended job: payload, result, errors."""
    return job_document(call.queue.operator.purge(job_id, reason=body.reason))


@route("GET /api/job-runs/{run_id}", Role.VIEWER, "Run")
def get_run(call: Call, run_id: str) -> Document:
    """One run, by `<job id>.<number>`."""
    return call.read.run(run_id)


@route("POST /api/job-runs/{run_id}/retry", Role.OPERATOR, "Enqueued", statuses=(201, 200), takes_key=True)
def retry_run(call: Call, run_id: str, body: RetryBody) -> Answer:
    """Run the job of a failed run again, with the same or a given priority."""
    return job_made_once(
        call,
        lambda: _successor_id(run_id.rpartition(".")[0], call),
        lambda new_id: call.queue.retry_run(run_id, **dict(body), new_job_id=new_id),
    )


def _successor_id(job_id: str, call: Call) -> JobId:
    """Of a job that does the work of this one again, in its partition."""
    partition = partition_of(find(job_id, call.services).job_id)
    return make_job_id(call.services.clock.now(), partition, call.services.random_source.bits(RANDOM_BITS))


@route("POST /api/direct-runs", Role.OPERATOR, "DirectRun", statuses=(200, 202), takes_key=True)
def start_direct_run(call: Call, body: DirectRunBody) -> Answer:
    """Run a handler now, without a job; 202 with an id to ask for where it takes longer than 25 s."""
    wanted = DirectRequest(
        # The key is in the id: whoever asks again finds the same run, and its result.
        run_id=make_run_id(call.services) if call.asked is None else f"direct-{call.asked.name}",
        job_type=body.job_type,
        payload_text=encode_value(body.payload),  # type: ignore[arg-type]
        timeout=timedelta(seconds=body.timeout),
        fingerprint="" if call.asked is None else call.asked.fingerprint,
        by=call.services.identity.actor(),
        asked_at=call.services.clock.now(),
    )
    key = "" if call.asked is None else call.asked.key
    request = accept(wanted, call.services, reason=body.reason, key=key)
    if request.state is DirectState.ACCEPTED:
        # Started twice, it is begun once: see DirectRequests.take.
        call.start_run(request.run_id)
    request = wait_for_direct(request.run_id, call.services, patience=call.patience)
    now = call.services.clock.now()
    document = direct_run_document(request, now)
    if request.state_at(now).has_ended:
        return Answer(document=document)
    headers = {"Location": f"/api/direct-runs/{request.run_id}", "Retry-After": "5"}
    return Answer(status=202, document=document, headers=headers)


@route("GET /api/direct-runs/{run_id}", Role.VIEWER, "DirectRun")
def get_direct_run(call: Call, run_id: str) -> Document:
    """How a direct run goes or went; kept for a day."""
    return direct_run_document(find_direct(run_id, call.services), call.services.clock.now())
