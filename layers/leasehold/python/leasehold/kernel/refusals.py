"""Refusals: the value is fine, and the system says no. The whole tree of errors is in kernel/errors.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import RefusedError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence


class SystemHaltedError(RefusedError):
    code = "system_halted"

    def __init__(self, by: str, at: str, reason: str) -> None:
        super().__init__(
            f"the system is halted since {at} by {by}: {reason}. "
            "No job is accepted or started until an operator resumes it."
        )
        self.by = by
        self.at = at
        self.reason = reason


class IdentityUnknownError(RefusedError):
    code = "identity_unknown"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"AWS does not say who you are ({problem}), and what is done here is recorded with who did it. "
            "Check the credentials: `aws sts get-caller-identity` must answer."
        )


class RequestKeyReusedError(RefusedError):
    code = "idempotency_key_reused"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the idempotency key {shown(key)} was used within the last day for another request. Nothing was done. "
            "Use a new key for a new request, and the same key only to repeat the same one."
        )


class JobTypePausedError(RefusedError):
    code = "job_type_paused"

    def __init__(self, job_type: str, by: str, at: str, reason: str) -> None:
        super().__init__(
            f"job type {job_type!r} is paused since {at} by {by}: {reason}. "
            "Enqueue a job, which waits for the end of the pause, or have an operator unpause it."
        )
        self.job_type = job_type
        self.by = by
        self.at = at
        self.reason = reason


class NotDeployedError(RefusedError):
    code = "not_deployed"

    def __init__(self, table: str) -> None:
        super().__init__(
            f"table {table!r} holds no registry of job types. Deploy the stacks, "
            "or publish one with Operator.publish(Registry(...))."
        )


class DuplicateJobError(RefusedError):
    code = "duplicate_job"

    def __init__(self, job_type: str, dedup_key: str, existing: str) -> None:
        super().__init__(
            f"a {job_type} job with dedup key {dedup_key!r} exists already: {existing}. "
            "Use that job, or enqueue with on_duplicate='return_existing' or 'replace'."
        )
        self.existing = existing


class JobIdTakenError(RefusedError):
    """The id that a job must have is another's: an item that was not made for the same reason."""

    code = "job_id_taken"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"job {job_id} exists and was made by somebody else, so it is not taken for this one. Look at it with "
            "queue.get, and delete the item if it does not belong there."
        )
        self.job_id = job_id


class JobNotFoundError(RefusedError):
    code = "job_not_found"

    def __init__(self, what: str, job_id: str) -> None:
        super().__init__(f"there is no {what} {job_id}. It never existed, or its retention is over.")
        self.job_id = job_id


class DeadJobMissingError(RefusedError):
    """A dead letter stands alone: without its job, nothing says that such a job ever died."""

    code = "dead_job_missing"

    def __init__(self, dead_letter_id: str, job_type: str) -> None:
        super().__init__(
            f"there is no dead {job_type} job for dead letter {dead_letter_id}, so it is not run again. "
            "Discard the letter; enqueue the job anew if it is wanted."
        )


class ScheduleNotFoundError(RefusedError):
    code = "schedule_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name!r}. Look at the names with queue.schedules.list().")
        self.name = name


class ScheduleExistsError(RefusedError):
    code = "schedule_exists"

    def __init__(self, name: str, origin: str) -> None:
        super().__init__(f"there is a schedule {name!r} already ({origin}). Update it, or choose another name.")
        self.name = name


class ScheduleDeployedError(RefusedError):
    code = "schedule_deployed"

    def __init__(self, name: str, wanted: str) -> None:
        super().__init__(
            f"cannot {wanted} schedule {name!r}: it comes from functions/jobs/{name}/job.toml, and the next deployment "
            "would undo it. Change it there and deploy, or pause it."
        )
        self.name = name


class TemplateExistsError(RefusedError):
    code = "template_exists"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a template {name!r} already. Update it, or choose another name.")
        self.name = name


class TemplateInUseError(RefusedError):
    code = "template_in_use"

    def __init__(self, name: str, wanted: str, schedules: Sequence[str]) -> None:
        super().__init__(
            f"cannot {wanted} template {name!r}: it is used by the schedules {', '.join(schedules)}. "
            "Give them another template, or delete them, first."
        )
        self.name = name
        self.schedules = tuple(schedules)


class NoPlaceLeftError(RefusedError):
    code = "no_place_left"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"there is no place left next to job {job_id}: jobs were moved there too often. "
            "Reschedule that job, which gives it a fresh place, or move this one next to another."
        )
        self.job_id = job_id


class WebhooksOffError(RefusedError):
    code = "webhooks_off"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"nobody would tell {shown(url)} of this job: no webhooks are deployed here. Leave the webhook out, or set "
            "`webhooks` of the JobQueue and deploy."
        )


class GroupNotFoundError(RefusedError):
    code = "group_not_found"

    def __init__(self, group_id: str) -> None:
        super().__init__(f"there is no group {group_id!r}. It never existed, or its retention is over.")
        self.group_id = group_id


class GroupExistsError(RefusedError):
    code = "group_exists"

    def __init__(self, group_id: str, state: str) -> None:
        super().__init__(
            f"there is a group {group_id!r} of other jobs already ({state}). Choose another id, or leave it out."
        )
        self.group_id = group_id


class GroupEndedError(RefusedError):
    code = "group_ended"

    def __init__(self, group_id: str, wanted: str, state: str) -> None:
        super().__init__(f"cannot {wanted} group {group_id!r}: it has ended already ({state}).")
        self.group_id = group_id
        self.state = state


class GroupBrokenOffError(RefusedError):
    code = "group_broken_off"

    def __init__(self, group_id: str, reason: str) -> None:
        super().__init__(
            f"group {group_id!r} was cancelled before all of it existed: {reason}. Nothing of it has run. "
            "Once its members are cancelled, it can be created anew."
        )
        self.group_id = group_id


class WrongStateError(RefusedError):
    code = "wrong_state"

    def __init__(self, job_id: str, wanted: str, status: str, hint: str = "") -> None:
        super().__init__(f"cannot {wanted} job {job_id}: it is {status}. {hint}".rstrip())
        self.job_id = job_id
        self.status = status
