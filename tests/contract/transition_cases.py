"""Jobs that satisfy or violate the guards of a transition, made from the transition's own data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.job import Outcome, Run
from leasehold.kernel.jobs import Write
from leasehold.kernel.keys import Due, JobPartition, make_job_id, run_lane, to_text
from leasehold.kernel.records import encode, encode_all
from leasehold.kernel.table import After, AnyOf, Equals, Exists, Missing, NotAfter, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.table import Condition, Record
    from leasehold.kernel.transitions import JobStatus, Transition

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
EARLIER = NOW - timedelta(minutes=5)
JOB_ID = make_job_id(NOW, JobPartition(1), 1)
RUN = Run(number=1, worker="nonce", started_at=EARLIER, ended_at=NOW, outcome=Outcome.COMPLETED)

# What a writer may set, each unlike what the stored job has.
NEW_VALUES: dict[str, object] = {
    "artifacts": ("s3://bucket/file",),
    "cancel_reason": "because",
    "cancel_requested": to_text(NOW),
    "completed_at": NOW,
    "due_lane": run_lane(2, 0),
    "ended_key": "ended",
    "ended_lane": "completed#report",
    "expires_at": 1_800_000_000,
    "last_attempt_at": EARLIER,
    "last_error": "boom",
    "last_error_code": "boom",
    "lock_expires_at": LATER + timedelta(minutes=1),
    "locked_at": NOW,
    "locked_by": "nonce-of-this-write",
    "max_attempts": 9,
    "owed": ("webhooks:1",),
    "payload": '{"n":2}',
    "priority": 2,
    "result": "1",
    "runs": (RUN,),
    "seat": "type:report#0#nonce",
    "started_at": NOW,
    "undelivered_since": NOW,
    "wake": True,
}


def due_of(at: datetime = NOW) -> Due:
    return Due(at, "000000000", JOB_ID)


SEEN_BY_WRITER: dict[str, object] = {
    "due_key": due_of(),
    "due_lane": run_lane(1, 0),
    "locked_by": "nonce",
    "now": NOW,
    "until": NEW_VALUES["lock_expires_at"],
    "completed_at": NOW,
    "payload": '{"n":1}',
    "priority": 1,
}


def stored_job(status: JobStatus) -> Record:
    return {
        "job_id": JOB_ID,
        "job_type": "report",
        "payload": '{"n":1}',
        "scheduled_for": to_text(NOW),
        "status": str(status),
        "priority": 1,
        "max_attempts": 3,
        "created_at": to_text(NOW),
        "attempts": 2,
        "dispatches": 4,
        "due_lane": run_lane(1, 0),
        "due_key": due_of().key,
        "locked_by": "nonce",
        "locked_at": to_text(EARLIER),
        "lock_expires_at": to_text(LATER),
    }


def write_of(transition: Transition, **changed: object) -> Write:
    """A write that provides all that its transition may set."""
    values = {**NEW_VALUES, "due_key": due_of(LATER), **changed}
    wanted = transition.sets | transition.may_set
    return Write(
        job_id=JOB_ID,
        transition=transition,
        seen=SEEN_BY_WRITER,
        values={name: value for name, value in values.items() if name in wanted},
    )


def after(write: Write, before: Record) -> Record:
    """What the stored job is after a write, by the meaning of the transition's data."""
    record = {name: value for name, value in before.items() if name not in write.transition.removes} | encode_all(
        write.values
    )
    for name, amount in write.transition.adds:
        stored = before.get(name, 0)
        assert isinstance(stored, int)
        record[name] = stored + amount
    if write.transition.target is not None:
        record["status"] = str(write.transition.target)
    return record


def in_words(guard: Condition) -> str:
    match guard:
        case Equals(attribute, Seen(name)) if attribute == name:
            return f"{attribute} as seen"
        case Missing(attribute):
            return f"no {attribute}"
        case Exists(attribute):
            return f"has {attribute}"
        case After(attribute, Seen("now")):
            return f"{attribute} is to come"
        case NotAfter(attribute, Seen("now")):
            return f"{attribute} is past"
        case NotAfter(attribute, Seen("until")):
            return f"{attribute} is not shortened"
        case AnyOf(alternatives):
            return " or ".join(in_words(each) for each in alternatives)
        case _:
            raise AssertionError(f"teach the contract suite about {guard}")


def satisfying(transition: Transition, status: JobStatus) -> Iterator[Record]:
    """Jobs for which every guard holds; one for each way in which an alternative can hold."""
    records = [stored_job(status)]
    for guard in transition.guards:
        records = [each for record in records for each in _satisfied(record, guard)]
    yield from records


def violating_one(transition: Transition, status: JobStatus) -> Iterator[tuple[Condition, Record]]:
    """Jobs for which all guards hold but one."""
    holds = next(satisfying(transition, status))
    for guard in transition.guards:
        for record in _violated(holds, guard):
            yield guard, record


def violating_all(transition: Transition, status: JobStatus) -> Record:
    record = stored_job(status)
    for guard in transition.guards:
        record = next(_violated(record, guard))
    return record


def _satisfied(record: Record, guard: Condition) -> Iterator[Record]:
    match guard:
        case Equals(attribute, Seen(name)):
            yield {**record, attribute: encode(SEEN_BY_WRITER[name])}
        case Missing(attribute):
            yield _without(record, attribute)
        case Exists(attribute):
            yield {**record, attribute: to_text(EARLIER)}
        case After(attribute, Seen("now")):
            yield {**record, attribute: to_text(LATER)}
        case NotAfter(attribute, Seen("now")):
            yield {**record, attribute: to_text(NOW)}
        case NotAfter(attribute, Seen("until")):
            yield {**record, attribute: to_text(LATER)}
        case AnyOf(alternatives):
            for alternative in alternatives:
                yield from _satisfied(next(_violated(record, guard)), alternative)
        case _:
            raise AssertionError(f"teach the contract suite about {guard}")


def _violated(record: Record, guard: Condition) -> Iterator[Record]:
    match guard:
        case Equals("completed_at", _):
            yield {**record, "completed_at": to_text(EARLIER)}
        case Equals(attribute, _):
            yield {**record, attribute: 3 if attribute == "priority" else f"{to_text(NOW)}#another#one"}
            if attribute not in {"payload", "status"}:
                yield _without(record, attribute)
        case Missing(attribute):
            yield {**record, attribute: to_text(EARLIER)}
        case Exists(attribute):
            yield _without(record, attribute)
        case After(attribute, _):
            yield {**record, attribute: to_text(NOW)}
            yield _without(record, attribute)
        case NotAfter(attribute, Seen(name)):
            yield {**record, attribute: to_text(LATER if name == "now" else LATER + timedelta(hours=1))}
            yield _without(record, attribute)
        case AnyOf(alternatives):
            for alternative in alternatives:
                record = next(_violated(record, alternative))
            yield record
        case _:
            raise AssertionError(f"teach the contract suite about {guard}")


def _without(record: Record, attribute: str) -> Record:
    return {name: value for name, value in record.items() if name != attribute}
