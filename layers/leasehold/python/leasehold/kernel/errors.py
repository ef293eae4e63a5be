"""The errors as one tree; those that only a feature or a surface raises are below the same roots, in its own folder.

LeaseholdError
├── InvalidInputError            the caller's value cannot be accepted; nothing was written
│   ├── InvalidJobTypeError
│   ├── UnknownJobTypeError
│   ├── InvalidPayloadError      carries the path to the bad value
│   ├── PayloadTooLargeError
│   ├── NaiveDatetimeError
│   ├── TimeOutOfRangeError
│   ├── InvalidJobIdError
│   ├── InvalidKeyError          dedup keys, concurrency keys
│   └── InvalidOptionError       any other argument
├── RefusedError                 the value is fine, the system says no
│   ├── SystemHaltedError
│   ├── NotDeployedError
│   ├── DuplicateJobError
│   ├── JobIdTakenError          the id that a job must have is another's
│   ├── JobNotFoundError
│   └── WrongStateError          the job is not in a state that allows this
├── LeaseLostError               another owner has the job now; nothing was written
├── StoreError
│   ├── StoreUnavailableError    retries are used up
│   ├── RecordUnreadableError    what is stored is no job, dead letter, … that this version knows
│   ├── UnknownFormatError       what is stored, or handed over, is of a version that this one does not read
│   ├── MisplacedItemError       an item among the jobs whose key is no job's
│   └── TransactionRefusedError  the caller's own part of a transaction failed its condition
├── DispatchError                the hand-over to a handler failed
├── ServerUnavailableError       a local engine is not installed, or did not start
├── DeploymentError              the stacks could not be put onto the local AWS
├── PayloadNotReadError          a listed job's large payload is asked for, which is read with the job itself
└── NonRetryableError            raised by handlers: do not try again
    ├── PayloadUnreadableError   a stored payload cannot be unpacked
    └── PayloadMissingError      the item that holds a large payload is gone
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


_SHOWN = 120


def shown(value: object) -> str:
    """A value as error messages show it: its repr, shortened, so that a message never carries a payload."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits has none
        text = f"<{type(value).__name__} too large to show>"
    return cut(text)


def cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


class LeaseholdError(Exception):
    """Root of the tree."""

    code = "leasehold_error"

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """A class says its code, by which programs know it, beside its base; without one it has its base's."""
        super().__init_subclass__()
        cls.code = code or cls.code


class InvalidInputError(LeaseholdError, ValueError, code="invalid_input"):
    """The caller's value cannot be accepted; nothing was written."""

    def __init__(self, value: object, reason: str, fix: str) -> None:
        super().__init__(f"{reason}: got {shown(value)}. {fix}")
        self.value, self.reason, self.fix = value, reason, fix


class InvalidJobTypeError(InvalidInputError, code="invalid_job_type"):
    """What a type of jobs is declared as, or its name."""


class UnknownJobTypeError(InvalidInputError, code="unknown_job_type"):
    def __init__(self, job_type: str, known: Sequence[str]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(
            job_type,
            "this job type is not deployed",
            f"Deployed types: {names}. Add functions/jobs/{job_type}/ and deploy, or correct the name.",
        )


class InvalidPayloadError(InvalidInputError, code="invalid_payload"):
    def __init__(self, path: str, value: object, reason: str, fix: str) -> None:
        super().__init__(value, f"payload value at {cut(path)} {reason}", fix)
        self.path = path


class PayloadTooLargeError(InvalidInputError, code="payload_too_large"):
    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{size} bytes",
            f"the {what} is larger than the limit of {limit} bytes",
            "Store the data elsewhere (S3, a table) and put its address into the job.",
        )
        self.size, self.limit = size, limit


class NaiveDatetimeError(InvalidInputError, code="naive_datetime"):
    def __init__(self, value: object, what: str) -> None:
        super().__init__(
            value,
            f"{what} has no timezone",
            "Pass an aware datetime, e.g. datetime.now(UTC) or datetime(..., tzinfo=ZoneInfo('Europe/Berlin')).",
        )


class TimeOutOfRangeError(InvalidInputError, code="time_out_of_range"):
    """No time, or one that no key can hold."""


class InvalidJobIdError(InvalidInputError, code="invalid_job_id"):
    """A text that is no job's id, or not the one that is asked for."""


class InvalidKeyError(InvalidInputError, code="invalid_key"):
    """A dedup key, a concurrency key, or a name that becomes part of one."""


class InvalidOptionError(InvalidInputError, code="invalid_option"):
    """Any other argument."""


class RefusedError(LeaseholdError, code="refused"):
    """The request is well-formed, but the system's state does not allow it; nothing was written."""


class SystemHaltedError(RefusedError, code="system_halted"):
    def __init__(self, by: str, at: str, reason: str) -> None:
        super().__init__(
            f"the system is halted since {at} by {by}: {reason}. "
            "No job is accepted or started until an operator resumes it."
        )
        self.by, self.at, self.reason = by, at, reason


class NotDeployedError(RefusedError, code="not_deployed"):
    def __init__(self, table: str) -> None:
        super().__init__(
            f"table {table!r} holds no registry of job types. Deploy the stacks, "
            "or publish one with Operator.publish(Registry(...))."
        )


class DuplicateJobError(RefusedError, code="duplicate_job"):
    def __init__(self, job_type: str, dedup_key: str, existing: str) -> None:
        super().__init__(
            f"a {job_type} job with dedup key {dedup_key!r} exists already: {existing}. "
            "Use that job, or enqueue with on_duplicate='return_existing' or 'replace'."
        )
        self.existing = existing


class JobIdTakenError(RefusedError, code="job_id_taken"):
    """The id that a job must have is another's: an item that was not made for the same reason."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"job {job_id} exists and was made by somebody else, so it is not taken for this one. Look at it with "
            "queue.get, and delete the item if it does not belong there."
        )
        self.job_id = job_id


class JobNotFoundError(RefusedError, code="job_not_found"):
    def __init__(self, what: str, job_id: str) -> None:
        super().__init__(f"there is no {what} {job_id}. It never existed, or its retention is over.")
        self.job_id = job_id


class WrongStateError(RefusedError, code="wrong_state"):
    def __init__(self, job_id: str, wanted: str, status: str, hint: str = "") -> None:
        super().__init__(f"cannot {wanted} job {job_id}: it is {status}. {hint}".rstrip())
        self.job_id, self.status = job_id, status


class LeaseLostError(LeaseholdError, code="lease_lost"):
    """Another owner has the job now. Nothing was written, and nothing this worker writes will be."""

    def __init__(self, job_id: str, transition: str, status: str | None) -> None:
        super().__init__(
            f"lost the lease on job {job_id} before {transition}; it is {status or 'gone'} now. "
            "The write was refused; the job's new owner decides how it ends."
        )
        self.job_id, self.transition = job_id, transition


class StoreError(LeaseholdError, code="store_error"):
    """The store refused, or what it holds is not as it should be."""


class StoreUnavailableError(StoreError, code="store_unavailable"):
    """The store did not answer within all retries. Whether the last write happened is not known."""


class RecordUnreadableError(StoreError, code="record_unreadable"):
    def __init__(self, key: str, problem: str) -> None:
        super().__init__(
            f"the record {shown(key)} cannot be read ({problem}). It was damaged, or is of a newer version: "
            "repair or delete it in the table, or upgrade."
        )


class UnknownFormatError(StoreError, code="unknown_format"):
    """Another version of Leasehold has written this, in a format that this one does not read; nothing was changed."""

    def __init__(self, what: str, found: object, readable: Collection[int]) -> None:
        known = " and ".join(str(each) for each in sorted(readable))
        super().__init__(
            f"{what} has format {shown(found)}, and this version of Leasehold reads {known}; nothing was changed. "
            "Upgrade this program, or undo a rollback over more than one format: see UPGRADING.md."
        )
        self.found = found


class MisplacedItemError(StoreError, ValueError, code="misplaced_item"):
    """An item stands where only jobs are, and its key is no job's."""

    def __init__(self, pk: object, sk: object) -> None:
        super().__init__(f"{shown(pk)}, {shown(sk)} is not the key of a job; Leasehold did not write this item")


class TransactionRefusedError(StoreError, code="transaction_refused"):
    """A part of the transaction that the caller brought along failed its own condition; nothing was written."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        listed = ", ".join(f"item {index}: {reason}" for index, reason in sorted(reasons.items()))
        super().__init__(f"the transaction was refused because of your own items ({listed}); nothing was written.")
        self.reasons = dict(reasons)


class DispatchError(LeaseholdError, code="dispatch_failed"):
    """The hand-over to a handler failed."""


class ServerUnavailableError(LeaseholdError, code="server_unavailable"):
    """A local engine is not installed, or did not start."""

    def __init__(self, name: str, reason: str, fix: str) -> None:
        super().__init__(f"{name} is not available: {reason}. {fix}")
        self.name, self.reason, self.fix = name, reason, fix


class DeploymentError(LeaseholdError, code="deployment_failed"):
    """What is to be deployed could not be made, or not be put onto the local AWS."""


class PayloadNotReadError(LeaseholdError, code="payload_not_read"):
    """Large payloads stand apart from their jobs, and listings leave them there."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"the payload of job {job_id} stands apart and was not read. Get the job by its id.")
        self.job_id = job_id


class NonRetryableError(LeaseholdError, code="non_retryable"):
    """Raise this in a handler when trying again cannot help: the job is dead-lettered at once."""


class PayloadUnreadableError(NonRetryableError, code="payload_unreadable"):
    """What stands in the place of a payload cannot be unpacked: it was damaged, or this Python lacks what it takes."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"a stored payload cannot be unpacked: {reason}. "
            "If its bytes were changed by hand or by a restore, enqueue the job anew."
        )


class PayloadMissingError(NonRetryableError, code="payload_missing"):
    """The item that holds the payload is gone: it expired, or somebody deleted it. It does not come back."""

    def __init__(self, job_id: str, name: str) -> None:
        super().__init__(
            f"the payload of job {job_id} is gone: there is no item {name!r} of it. "
            "If it expired, the poller has not looked after payloads for weeks; enqueue the job anew."
        )
        self.job_id, self.name = job_id, name


# No retry brings it back: the job ends as a dead letter that says so.
PAYLOAD_IS_LOST = (PayloadMissingError, PayloadUnreadableError)
