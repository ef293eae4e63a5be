"""Groups: list them, make one, look at it and its members, cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.admin.documents import page_document
from leasehold.admin.job_documents import group_document, job_summary
from leasehold.admin.pages import JobFilter
from leasehold.api.answers import Answer, answered
from leasehold.api.bodies import NewGroupBody, ReasonBody, member_of
from leasehold.api.callers import Operation, asked_for
from leasehold.api.idempotency import made_once
from leasehold.api.requests import Paging
from leasehold.groups.model import parse_group_id

if TYPE_CHECKING:
    from leasehold.api.callers import Call


def list_groups(call: Call) -> Answer:
    query = asked_for(Paging, call.query)
    return answered(page_document(call.read.groups(limit=query.limit, cursor=query.cursor), group_document))


def create(call: Call) -> Answer:
    body = asked_for(NewGroupBody, call.body)

    def propose() -> str:
        return (
            f"{call.services.random_source.bits(80):020x}" if body.group_id is None else parse_group_id(body.group_id)
        )

    def make(group_id: str | None, again: bool) -> Answer:
        made = call.queue.groups.create(
            [member_of(each) for each in body.jobs],
            mode=body.mode,
            on_failure=body.on_failure,
            callback=None if body.callback is None else member_of(body.callback),
            group_id=group_id or body.group_id,
            created_by=call.services.identity.actor(),
            reason=body.reason or "created",
        )
        document = {**group_document(made.group), "created": made.created or again}
        return Answer(status=201 if made.created or again else 200, document=document)

    return made_once(call, propose, make)


def show(call: Call) -> Answer:
    return answered(group_document(call.read.group(call.path["group_id"])))


def members(call: Call) -> Answer:
    query = asked_for(Paging, call.query)
    group = call.read.group(call.path["group_id"])
    page = call.read.jobs(JobFilter(group_id=group.group_id), limit=query.limit, cursor=query.cursor)
    return answered(page_document(page, job_summary))


def cancel(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered(group_document(call.queue.groups.cancel(call.path["group_id"], reason=reason)))


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/groups",
        name="list_groups",
        summary="List groups, the newest first",
        act=list_groups,
        query=Paging,
        answers={200: "GroupPage"},
    ),
    Operation(
        method="POST",
        path="/api/groups",
        name="create_group",
        summary="Make jobs that belong together, one after the other or at once",
        act=create,
        body=NewGroupBody,
        takes_key=True,
        answers={201: "Group", 200: "Group"},
    ),
    Operation(
        method="GET",
        path="/api/groups/{group_id}",
        name="get_group",
        summary="One group with its counts",
        act=show,
        answers={200: "Group"},
    ),
    Operation(
        method="GET",
        path="/api/groups/{group_id}/members",
        name="list_members",
        summary="The jobs of a group",
        act=members,
        query=Paging,
        answers={200: "JobPage"},
    ),
    Operation(
        method="POST",
        path="/api/groups/{group_id}/cancel",
        name="cancel_group",
        summary="Cancel the members that wait, and ask those that run to stop",
        act=cancel,
        body=ReasonBody,
        answers={200: "Group"},
    ),
)
