"""Every error that Leasehold raises, as one tree.

LeaseholdError
├── InvalidInputError            the caller's value cannot be accepted; nothing was written
│   ├── InvalidJobTypeError
│   ├── UnknownJobTypeError
│   ├── UnknownTemplateError
│   ├── InvalidPayloadError      carries the path to the bad value
│   ├── PayloadTooLargeError
│   ├── NaiveDatetimeError
│   ├── TimeOutOfRangeError
│   ├── InvalidJobIdError
│   ├── InvalidKeyError          dedup keys, concurrency keys
│   ├── InvalidOptionError       any other argument
│   ├── InvalidCursorError       a page is asked for with something that is no cursor, or another listing's
│   ├── NoCommonOrderError       two jobs that never stand in the same lane
│   ├── InvalidMemberError       one job of a group cannot be accepted; carries its number and the error
│   └── InvalidJobFolderError    a job type's folder cannot be deployed; carries every problem found
├── RefusedError                 the value is fine, the system says no
│   ├── SystemHaltedError
│   ├── IdentityUnknownError     nobody knows who wants this, so it cannot be recorded
│   ├── RequestKeyReusedError    an idempotency key that was used before, for another request
│   ├── JobTypePausedError
│   ├── NotDeployedError
│   ├── DuplicateJobError
│   ├── JobIdTakenError          the id that a job must have is another's
│   ├── JobNotFoundError
│   ├── DeadJobMissingError      a dead letter whose dead job is not there cannot be redriven
│   ├── ScheduleNotFoundError
│   ├── ScheduleExistsError
│   ├── ScheduleDeployedError    its definition is a job.toml, not the table
│   ├── TemplateExistsError
│   ├── TemplateInUseError       carries the schedules that need it
│   ├── NoPlaceLeftError         jobs were moved between the same two too often
│   ├── WebhooksOffError         a job brings an address, and nothing is deployed that would tell it
│   ├── GroupNotFoundError
│   ├── GroupExistsError         the id belongs to a group of other jobs
│   ├── GroupEndedError
│   ├── GroupBrokenOffError      it was cancelled, or given up, before all of it existed
│   ├── WrongStateError          the job is not in a state that allows this
│   └── QueueNotFoundError       no deployment of this name publishes its names here
├── LeaseLostError               another owner has the job now; nothing was written
├── StoreError
│   ├── StoreUnavailableError    retries are used up
│   ├── RecordUnreadableError    what is stored is no job, dead letter, … that this version knows
│   ├── UnknownFormatError       what is stored, or handed over, is of a version that this one does not read
│   ├── MisplacedItemError       an item among the jobs whose key is no job's
│   └── TransactionRefusedError  the caller's own part of a transaction failed its condition
├── DispatchError                the hand-over to a handler failed
├── WebhookFailedError           a receiver was not told; carries a code such as http_503
├── WebhookVerificationError     what came is not what a sender with this secret has sent
├── MirrorError                  EventBridge was not told of a schedule; the table knows, and tells it again
├── ServerUnavailableError       a local engine is not installed, or did not start
├── DeploymentError              the stacks could not be put onto the local AWS
├── WaitTimeoutError
├── DirectRunTimeoutError        it waited for its turn in vain; nothing ran
├── DirectRunError               carries the handler's error and its code
│   └── DirectRunLostError       no answer came: whether it ran is not known
├── HandlerStartError            a job type's handler cannot be imported, or there is none
├── JobTimeoutError              a handler ran longer than its type allows
├── PayloadNotReadError          a listed job's large payload is asked for, which is read with the job itself
└── NonRetryableError            raised by handlers: do not try again
    ├── InvalidJobPayloadError   a stored payload does not fit its handler's model
    ├── PayloadUnreadableError   a stored payload cannot be unpacked
    └── PayloadMissingError      the item that holds a large payload is gone
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import timedelta

    from leasehold.job_folders.toml import FolderProblem


_SHOWN = 120


def shown(value: object) -> str:
    """A value as error messages show it: its repr, shortened, so that a message never carries a payload."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits has none
        text = f"<{type(value).__name__} too large to show>"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


class LeaseholdError(Exception):
    """Root of the tree."""

    code = "leasehold_error"


class InvalidInputError(LeaseholdError, ValueError):
    """The caller's value cannot be accepted; nothing was written."""

    code = "invalid_input"

    def __init__(self, value: object, reason: str, fix: str) -> None:
        super().__init__(f"{reason}: got {shown(value)}. {fix}")
        self.value = value
        self.reason = reason
        self.fix = fix


class InvalidJobTypeError(InvalidInputError):
    code = "invalid_job_type"


class UnknownJobTypeError(InvalidInputError):
    code = "unknown_job_type"

    def __init__(self, job_type: str, known: Sequence[str]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(
            job_type,
            "this job type is not deployed",
            f"Deployed types: {names}. Add functions/jobs/{job_type}/ and deploy, or correct the name.",
        )


class UnknownTemplateError(InvalidInputError):
    code = "unknown_template"

    def __init__(self, name: str, close: Sequence[str]) -> None:
        fix = f"Did you mean {' or '.join(close)}?" if close else "Look at the names with queue.templates.list()."
        super().__init__(name, "there is no such template", fix)


class InvalidPayloadError(InvalidInputError):
    code = "invalid_payload"

    def __init__(self, path: str, value: object, reason: str, fix: str) -> None:
        super().__init__(value, f"payload value at {_cut(path)} {reason}", fix)
        self.path = path


class PayloadTooLargeError(InvalidInputError):
    code = "payload_too_large"

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{size} bytes",
            f"the {what} is larger than the limit of {limit} bytes",
            "Store the data elsewhere (S3, a table) and put its address into the job.",
        )
        self.size = size
        self.limit = limit


class NaiveDatetimeError(InvalidInputError):
    code = "naive_datetime"

    def __init__(self, value: object, what: str) -> None:
        super().__init__(
            value,
            f"{what} has no timezone",
            "Pass an aware datetime, e.g. datetime.now(UTC) or datetime(..., tzinfo=ZoneInfo('Europe/Berlin')).",
        )


class TimeOutOfRangeError(InvalidInputError):
    code = "time_out_of_range"


class InvalidJobIdError(InvalidInputError):
    code = "invalid_job_id"


class InvalidKeyError(InvalidInputError):
    code = "invalid_key"


class InvalidOptionError(InvalidInputError):
    code = "invalid_option"


class InvalidCursorError(InvalidInputError):
    code = "invalid_cursor"


class NoCommonOrderError(InvalidInputError):
    code = "no_common_order"

    def __init__(self, job_id: str, job_shard: int, other_id: str, other_shard: int) -> None:
        super().__init__(
            (job_id, other_id),
            f"these two jobs have no common order: they are on the shards {job_shard} and {other_shard}, each of which "
            "has lanes of its own",
            "Move it next to a job of its own shard, or reprioritise or reschedule it.",
        )


class InvalidMemberError(InvalidInputError):
    code = "invalid_member"

    def __init__(self, member: int, error: InvalidInputError) -> None:
        super().__init__(error.value, f"member {member}: {error.reason}", error.fix)
        self.member = member
        self.error = error


class InvalidJobFolderError(InvalidInputError):
    """Folders in functions/jobs that cannot be deployed: every problem found, one a line."""

    code = "invalid_job_folder"

    def __init__(self, problems: Sequence[FolderProblem]) -> None:
        first = problems[0]
        super().__init__(first.value, first.reason, first.fix)
        self.problems = tuple(problems)
        self.args = ("\n".join(str(problem) for problem in problems),)


class RefusedError(LeaseholdError):
    """The request is well-formed, but the system's state does not allow it; nothing was written."""

    code = "refused"


class QueueNotFoundError(RefusedError):
    code = "queue_not_found"

    def __init__(self, queue_name: str, parameter: str) -> None:
        super().__init__(
            f"there is no queue {shown(queue_name)} in this account and region: nothing published {parameter}. "
            "Deploy it, or check its queue_name, the region and the credentials."
        )


class LeaseLostError(LeaseholdError):
    """Another owner has the job now. Nothing was written, and nothing this worker writes will be."""

    code = "lease_lost"

    def __init__(self, job_id: str, transition: str, status: str | None) -> None:
        super().__init__(
            f"lost the lease on job {job_id} before {transition}; it is {status or 'gone'} now. "
            "The write was refused; the job's new owner decides how it ends."
        )
        self.job_id = job_id
        self.transition = transition


class StoreError(LeaseholdError):
    code = "store_error"


class StoreUnavailableError(StoreError):
    """The store did not answer within all retries. Whether the last write happened is not known."""

    code = "store_unavailable"


class RecordUnreadableError(StoreError):
    code = "record_unreadable"

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(
            f"the record {shown(key)} cannot be read ({problem}). It was damaged, or is of a newer version: "
            "repair or delete it in the table, or upgrade."
        )


class UnknownFormatError(StoreError):
    """Another version of Leasehold has written this, in a format that this one does not read; nothing was changed."""

    code = "unknown_format"

    def __init__(self, what: str, found: object, readable: Collection[int]) -> None:
        known = " and ".join(str(each) for each in sorted(readable))
        super().__init__(
            f"{what} has format {shown(found)}, and this version of Leasehold reads {known}; nothing was changed. "
            "Upgrade this program, or undo a rollback over more than one format: see UPGRADING.md."
        )
        self.found = found


class MisplacedItemError(StoreError, ValueError):
    """An item stands where only jobs are, and its key is no job's."""

    code = "misplaced_item"

    def __init__(self, pk: object, sk: object) -> None:
        super().__init__(f"{shown(pk)}, {shown(sk)} is not the key of a job; Leasehold did not write this item")


class TransactionRefusedError(StoreError):
    """A part of the transaction that the caller brought along failed its own condition; nothing was written."""

    code = "transaction_refused"

    def __init__(self, reasons: Mapping[int, str]) -> None:
        listed = ", ".join(f"item {index}: {reason}" for index, reason in sorted(reasons.items()))
        super().__init__(f"the transaction was refused because of your own items ({listed}); nothing was written.")
        self.reasons = dict(reasons)


class DispatchError(LeaseholdError):
    code = "dispatch_failed"


class WebhookFailedError(LeaseholdError):
    """A receiver was not told, or did not take it. `code` says how: http_503, timeout, refused_address, …"""

    code = "webhook_failed"

    def __init__(self, code: str, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.code = code
        # Trying again would not change it.
        self.is_final = is_final


class WebhookVerificationError(LeaseholdError):
    """The request is forged, altered, replayed, or signed with another key: do not act on it. Answer with 401."""

    code = "webhook_not_verified"


class MirrorError(LeaseholdError):
    code = "mirror_failed"


class ServerUnavailableError(LeaseholdError):
    """A local engine is not installed, or did not start."""

    code = "server_unavailable"

    def __init__(self, name: str, reason: str, fix: str) -> None:
        super().__init__(f"{name} is not available: {reason}. {fix}")
        self.name = name
        self.reason = reason
        self.fix = fix


class DeploymentError(LeaseholdError):
    code = "deployment_failed"


class WaitTimeoutError(LeaseholdError, TimeoutError):
    code = "wait_timeout"

    def __init__(self, job_id: str, timeout: timedelta, status: str) -> None:
        super().__init__(
            f"job {job_id} is still {status} after {timeout.total_seconds():g} s. "
            "It goes on; call wait() again or look at it with get()."
        )


class DirectRunTimeoutError(LeaseholdError, TimeoutError):
    code = "direct_run_timeout"

    def __init__(self, job_type: str, timeout: timedelta, waited_for: str) -> None:
        super().__init__(
            f"the direct run of {job_type!r} waited {timeout.total_seconds():g} s for {waited_for}. Nothing ran, and "
            "nothing is reserved any more. Call again, pass a longer timeout, or enqueue a job."
        )
        self.job_type = job_type
        self.waited_for = waited_for


class DirectRunError(LeaseholdError):
    """The handler failed. There is no job that could be tried again: call again, or enqueue one."""

    code = "direct_run_failed"

    def __init__(self, job_type: str, run_id: str, error: str, error_code: str) -> None:
        last_line = _cut(error.rstrip().rpartition("\n")[2])
        super().__init__(f"the direct run {run_id} of {job_type!r} failed ({error_code}): {last_line}")
        self.job_type = job_type
        self.run_id = run_id
        self.error = error
        self.error_code = error_code


class DirectRunLostError(DirectRunError):
    """No answer came. The handler may have run, may be running, or may not have been reached."""

    code = "direct_run_lost"

    def __init__(self, job_type: str, run_id: str, reason: str, until: str) -> None:
        super().__init__(job_type, run_id, reason, self.code)
        self.args = (
            f"no answer came to the direct run {run_id} of {job_type!r}: {reason}. Whether it ran is not known. Jobs "
            f"of this type wait until {until}, when it is over for certain. Look for the run in the handler's log.",
        )


class HandlerStartError(LeaseholdError):
    """A deployment repairs it: the job is tried again until then, as often as it may be."""

    code = "handler_cannot_start"


class JobTimeoutError(LeaseholdError):
    code = "timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the handler ran longer than its time limit of {seconds:g} s")


class PayloadNotReadError(LeaseholdError):
    """Large payloads stand apart from their jobs, and listings leave them there."""

    code = "payload_not_read"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"the payload of job {job_id} stands apart and was not read. Get the job by its id.")
        self.job_id = job_id


class NonRetryableError(LeaseholdError):
    """Raise this in a handler when trying again cannot help: the job is dead-lettered at once."""

    code = "non_retryable"


class InvalidJobPayloadError(NonRetryableError):
    """The stored payload does not fit the handler's model. Trying again would not change that."""

    code = "invalid_job_payload"


class PayloadUnreadableError(NonRetryableError):
    """What stands in the place of a payload cannot be unpacked: it was damaged, or this Python lacks what it takes."""

    code = "payload_unreadable"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"a stored payload cannot be unpacked: {reason}. "
            "If its bytes were changed by hand or by a restore, enqueue the job anew."
        )


class PayloadMissingError(NonRetryableError):
    """The item that holds the payload is gone: it expired, or somebody deleted it. It does not come back."""

    code = "payload_missing"

    def __init__(self, job_id: str, name: str) -> None:
        super().__init__(
            f"the payload of job {job_id} is gone: there is no item {name!r} of it. "
            "If it expired, the poller has not looked after payloads for weeks; enqueue the job anew."
        )
        self.job_id = job_id
        self.name = name


# No retry brings it back: the job ends as a dead letter that says so.
PAYLOAD_IS_LOST = (PayloadMissingError, PayloadUnreadableError)
