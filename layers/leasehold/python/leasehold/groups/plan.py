"""Plan a group: draft every member of it, before anything is written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from leasehold.groups.model import (
    MAX_MEMBERS,
    Group,
    GroupMode,
    GroupState,
    InvalidMemberError,
    MemberEnd,
    OnFailure,
    packed_codes,
)
from leasehold.kernel import payload as codec
from leasehold.kernel.enqueue import JobRequest, draft
from leasehold.kernel.errors import InvalidInputError, InvalidOptionError
from leasehold.kernel.job import SYSTEM
from leasehold.lean import dataclass
from leasehold.limits.lanes import hold_lane
from leasehold.templates.model import filled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services

# Under this name a callback finds how its group ended.
OUTCOME = "group"
# What makes a request another one; who asked, and from where, does not.
_NOT_CONTENT = frozenset({"job", "payload", "dedup_window", "created_by", "trace"})
_REFUSED_OF_MEMBERS = {
    "dedup_key": "the group's id is what makes a second creation find the first",
    "run_at": "a member runs when its group lets it",
    "run_in": "a member runs when its group lets it",
    "retry_of": "a retry is a job of its own",
}
_REFUSED_OF_CALLBACKS = dict.fromkeys(
    ("dedup_key", "run_at", "run_in", "start_by", "retry_of"), "its group's end makes it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRequest:
    """What a caller asks for, checked but for what its jobs are made with."""

    members: Sequence[JobRequest]
    mode: GroupMode
    on_failure: OnFailure
    callback: JobRequest | None
    group_id: str | None
    created_by: str


def check_members(members: Sequence[JobRequest]) -> None:
    count = len(members)
    if not 1 <= count <= MAX_MEMBERS:
        problem = f"a group has 1 to {MAX_MEMBERS} members"
        raise InvalidOptionError(count, problem, "Split it, or enqueue the jobs by themselves.")
    for number, member in enumerate(members):
        if refused := _refused("member", member, _REFUSED_OF_MEMBERS):
            raise InvalidMemberError(number, refused)


def _refused(what: str, request: JobRequest, reasons: Mapping[str, str]) -> InvalidOptionError | None:
    for name, reason in reasons.items():
        value = getattr(request.wanted, name)
        if value is not None:
            return InvalidOptionError(value, f"a {what} takes no {name}: {reason}", "Leave it out.")
    return None


def content_of(request: GroupRequest) -> str:
    """The same for the same request, another for every other: what a repeated creation is known by."""
    digest = hashlib.sha256(f"{request.mode} {request.on_failure}".encode())
    for each in (request.callback, *request.members):
        digest.update(b"\x1f" + (_said(each) if each else b""))
    return digest.hexdigest()[:32]


def new_group(request: GroupRequest, group_id: str, services: Services) -> Group:
    now = services.clock.now()
    total = len(request.members)
    return Group(
        group_id=group_id,
        mode=request.mode,
        on_failure=request.on_failure,
        total=total,
        left=total,
        created_at=now,
        created_by=request.created_by,
        content=content_of(request),
        stamp=f"{services.random_source.bits(48):012x}",
        shards=services.deployment.registry().shards,
        codes=packed_codes(_codes(request, services)),
        made_at=now,
        turn=0 if request.mode is GroupMode.SEQUENTIAL else None,
    )


def _codes(request: GroupRequest, services: Services) -> list[int]:
    """Of the members' types; what cannot be a member is refused when it is drafted."""
    registry = services.deployment.registry()
    codes = []
    for number, member in enumerate(request.members):
        try:
            codes.append(registry.code_of(str(filled(member, services).job_type)))
        except InvalidInputError as error:
            raise InvalidMemberError(number, error) from error
    return codes


def members_of(request: GroupRequest, group: Group, services: Services) -> list[Job]:
    """Draft all of them; the group says which ids they have."""
    return [_member(group, number, each, services) for number, each in enumerate(request.members)]


def _member(group: Group, number: int, request: JobRequest, services: Services) -> Job:
    """A job that waits: in its group's lane, or for its turn, which needs no index to find it."""
    try:
        job = draft(_by(request, group), services, job_id=group.member_id(number)).job
    except InvalidInputError as error:
        raise InvalidMemberError(number, error) from error
    return replace(
        job,
        group_id=group.group_id,
        member=number,
        due=group.place_of(number),
        due_lane=hold_lane(group.scope, job.priority) if group.mode is GroupMode.PARALLEL else None,
        wake=False,
    )


def callback_of(request: GroupRequest, group: Group, services: Services) -> Job | None:
    if request.callback is None:
        return None
    if refused := _refused("callback", request.callback, _REFUSED_OF_CALLBACKS):
        raise refused
    job = draft(_by(request.callback, group), services).job
    # As long as it can become: what is accepted now must not be too large then.
    longest = replace(group, state=GroupState.COMPLETED).counting(dict.fromkeys(MemberEnd, MAX_MEMBERS))
    codec.encode_payload(told(job, longest))
    return job


def told(callback: Job, group: Group) -> dict[str, codec.Json]:
    """The callback's payload: what its caller asked for, and how the group ended."""
    payload = callback.payload
    if not isinstance(payload, dict) or OUTCOME in payload:
        problem = f"a callback's payload is an object without {OUTCOME!r}, where it is told how the group ended"
        raise InvalidOptionError(payload, problem, "Use another name.")
    return {**payload, OUTCOME: dict(group.progress)}


def _by(request: JobRequest, group: Group) -> JobRequest:
    if request.wanted.created_by != SYSTEM:
        return request
    return replace(request, wanted=replace(request.wanted, created_by=group.created_by))


def _said(request: JobRequest) -> bytes:
    """What the request says. What it leaves out is left out, so that options to come do not make it another one."""
    said = {
        each.name: _text(value)
        for each in fields(request.wanted)
        if each.name not in _NOT_CONTENT and (value := getattr(request.wanted, each.name)) != each.default
    }
    said |= {"job_type": _text(request.job_type), "payload_text": request.payload_text}
    return json.dumps(said, sort_keys=True).encode()


def _text(value: object) -> str:
    """Not checked yet: it may be anything, such as a number of so many digits that Python writes none of them."""
    try:
        return str(value)
    except ValueError:
        return type(value).__name__
