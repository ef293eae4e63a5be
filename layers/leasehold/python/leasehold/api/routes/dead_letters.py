"""Dead letters: list the open ones, look at one, run it again or discard it."""

from __future__ import annotations

from itertools import islice

from leasehold.admin.documents import page_document, redriven_document
from leasehold.admin.job_documents import dead_letter_document, dead_letter_summary
from leasehold.api.answers import Answer
from leasehold.api.bodies import ReasonBody, RedriveBody, RedriveManyBody
from leasehold.api.idempotency import made_once
from leasehold.api.operations import Call, route
from leasehold.api.requests import DeadLettersQuery
from leasehold.aws.api_access import Role
from leasehold.documents import Document


@route("GET /api/dead-letters", Role.VIEWER, "DeadLetterPage")
def list_dead_letters(call: Call, query: DeadLettersQuery) -> Document:
    """List open dead letters, those that failed last first."""
    return page_document(
        call.read.dead_letters(query.wanted, limit=query.limit, cursor=query.cursor), dead_letter_summary
    )


@route("POST /api/dead-letters/redrive", Role.OPERATOR, "RedrivenMany", takes_key=True)
def redrive_dead_letters(call: Call, body: RedriveManyBody) -> Answer | Document:
    """Run the dead jobs that match again, the oldest first, at most 100 at once; or say which these are."""
    wanted = body.wanted.as_options
    if body.dry_run:
        found = islice(call.queue.operator.dead_letters(**wanted), body.limit)
        return {"dry_run": True, "job_ids": [each.id for each in found]}

    def make(_made_id: str | None, _again: bool) -> Answer:
        done = call.queue.operator.redrive_many(**wanted, limit=body.limit, reason=body.reason)
        return Answer(document={"dry_run": False, "results": [redriven_document(each) for each in done]})

    return made_once(call, lambda: "-", make)


@route("GET /api/dead-letters/{job_id}", Role.VIEWER, "DeadLetter")
def get_dead_letter(call: Call, job_id: str) -> Document:
    """One dead letter, resolved or not, with payload and runs."""
    return dead_letter_document(call.queue.operator.dead_letter(job_id))


@route("POST /api/dead-letters/{job_id}/redrive", Role.OPERATOR, "Redriven", takes_key=True)
def redrive_dead_letter(call: Call, job_id: str, body: RedriveBody) -> Answer:
    """Run a dead job again, as a new job; with another payload, if one is sent."""

    def make(_made_id: str | None, _again: bool) -> Answer:
        # A dead letter is redriven once, and a second redrive is told what the first made.
        done = call.queue.operator.redrive(job_id, reason=body.reason, payload_text=body.payload_text)
        return Answer(document=redriven_document(done))

    return made_once(call, lambda: call.queue.operator.dead_letter(job_id).id, make)


@route("POST /api/dead-letters/{job_id}/discard", Role.OPERATOR, "DeadLetter")
def discard_dead_letter(call: Call, job_id: str, body: ReasonBody) -> Document:
    """Resolve a dead letter without running it again."""
    return dead_letter_document(call.queue.operator.discard(job_id, reason=body.reason))
