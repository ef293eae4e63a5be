"""Dead letters: list the open ones, look at one, run it again or discard it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from leasehold.admin.documents import page_document, redriven_document
from leasehold.admin.job_documents import dead_letter_document, dead_letter_summary
from leasehold.admin.others import DeadLetterFilter
from leasehold.api.answers import Answer, answered
from leasehold.api.bodies import ReasonBody, RedriveBody, RedriveManyBody
from leasehold.api.callers import Operation, asked_for
from leasehold.api.idempotency import made_once
from leasehold.api.requests import DeadLettersQuery

if TYPE_CHECKING:
    from leasehold.api.callers import Call


def list_dead_letters(call: Call) -> Answer:
    query = asked_for(DeadLettersQuery, call.query)
    wanted = DeadLetterFilter(job_type=query.job_type, failed_from=query.failed_from, failed_to=query.failed_to)
    page = call.read.dead_letters(wanted, limit=query.limit, cursor=query.cursor)
    return answered(page_document(page, dead_letter_summary))


def show(call: Call) -> Answer:
    return answered(dead_letter_document(call.read.dead_letter(call.path["job_id"])))


def redrive(call: Call) -> Answer:
    body, job_id = asked_for(RedriveBody, call.body), call.path["job_id"]

    def make(_made_id: str | None, _again: bool) -> Answer:
        # A dead letter is redriven once, and a second redrive is told what the first made.
        return answered(
            redriven_document(call.queue.operator.redrive(job_id, reason=body.reason, payload_text=body.payload_text))
        )

    return made_once(call, lambda: call.read.dead_letter(job_id).id, make)


def redrive_many(call: Call) -> Answer:
    body = asked_for(RedriveManyBody, call.body)
    wanted = DeadLetterFilter(job_type=body.job_type, failed_from=body.failed_from, failed_to=body.failed_to).as_options
    if body.dry_run:
        found = islice(call.queue.operator.dead_letters(**wanted), body.limit)
        return answered({"dry_run": True, "job_ids": [each.id for each in found]})

    def make(_made_id: str | None, _again: bool) -> Answer:
        done = call.queue.operator.redrive_many(**wanted, limit=body.limit, reason=body.reason)
        return answered({"dry_run": False, "results": [redriven_document(each) for each in done]})

    return made_once(call, lambda: "-", make)


def discard(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered(dead_letter_document(call.queue.operator.discard(call.path["job_id"], reason=reason)))


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/dead-letters",
        name="list_dead_letters",
        summary="List open dead letters, those that failed last first",
        act=list_dead_letters,
        query=DeadLettersQuery,
        answers={200: "DeadLetterPage"},
    ),
    Operation(
        method="POST",
        path="/api/dead-letters/redrive",
        name="redrive_dead_letters",
        summary="Run the dead jobs that match again, the oldest first, at most 100 at once; or say which these are",
        act=redrive_many,
        body=RedriveManyBody,
        takes_key=True,
        answers={200: "RedrivenMany"},
    ),
    Operation(
        method="GET",
        path="/api/dead-letters/{job_id}",
        name="get_dead_letter",
        summary="One dead letter, resolved or not, with payload and runs",
        act=show,
        answers={200: "DeadLetter"},
    ),
    Operation(
        method="POST",
        path="/api/dead-letters/{job_id}/redrive",
        name="redrive_dead_letter",
        summary="Run a dead job again, as a new job; with another payload, if one is sent",
        act=redrive,
        body=RedriveBody,
        takes_key=True,
        answers={200: "Redriven"},
    ),
    Operation(
        method="POST",
        path="/api/dead-letters/{job_id}/discard",
        name="discard_dead_letter",
        summary="Resolve a dead letter without running it again",
        act=discard,
        body=ReasonBody,
        answers={200: "DeadLetter"},
    ),
)
