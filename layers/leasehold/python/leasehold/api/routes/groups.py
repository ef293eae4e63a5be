"""Groups: list them, make one, look at it and its members, cancel it."""

from __future__ import annotations

from leasehold.admin.documents import page_document
from leasehold.admin.job_documents import group_document, job_summary
from leasehold.admin.pages import JobFilter
from leasehold.api.answers import Answer
from leasehold.api.bodies import NewGroupBody, ReasonBody, job_of
from leasehold.api.idempotency import made_once
from leasehold.api.operations import Call, route
from leasehold.api.requests import Paging
from leasehold.aws.api_access import Role
from leasehold.documents import Document
from leasehold.groups.model import parse_group_id


@route("GET /api/groups", Role.VIEWER, "GroupPage")
def list_groups(call: Call, query: Paging) -> Document:
    """List groups, the newest first."""
    return page_document(call.read.groups(**dict(query)), group_document)


@route("POST /api/groups", Role.OPERATOR, "Group", statuses=(201, 200), takes_key=True)
def create_group(call: Call, body: NewGroupBody) -> Answer:
    """Make jobs that belong together, one after the other or at once."""

    def propose() -> str:
        return parse_group_id(body.group_id) if body.group_id else f"{call.services.random_source.bits(80):020x}"

    def make(group_id: str | None, again: bool) -> Answer:
        made = call.queue.groups.create(
            [job_of(each) for each in body.jobs],
            mode=body.mode,
            on_failure=body.on_failure,
            callback=None if body.callback is None else job_of(body.callback),
            group_id=group_id or body.group_id,
            created_by=call.services.identity.actor(),
            reason=body.reason or "created",
        )
        document = {**group_document(made.group), "created": made.created or again}
        return Answer(status=201 if made.created or again else 200, document=document)

    return made_once(call, propose, make)


@route("GET /api/groups/{group_id}", Role.VIEWER, "Group")
def get_group(call: Call, group_id: str) -> Document:
    """One group with its counts."""
    return group_document(call.queue.groups.get(group_id))


@route("GET /api/groups/{group_id}/members", Role.VIEWER, "JobPage")
def list_members(call: Call, group_id: str, query: Paging) -> Document:
    """The jobs of a group."""
    group = call.queue.groups.get(group_id)
    return page_document(call.read.jobs(JobFilter(group_id=group.group_id), **dict(query)), job_summary)


@route("POST /api/groups/{group_id}/cancel", Role.OPERATOR, "Group")
def cancel_group(call: Call, group_id: str, body: ReasonBody) -> Document:
    """Cancel the members that wait, and ask those that run to stop."""
    return group_document(call.queue.groups.cancel(group_id, reason=body.reason))
