"""Access patterns of jobs: one method, one pattern."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel import keys, table
from leasehold.kernel.job import job_of, job_record
from leasehold.kernel.keys import Due, JobId, Priority, job_id_at
from leasehold.kernel.other_entries import DueUnreadable, other_entry
from leasehold.kernel.records import encode_all
from leasehold.kernel.refusals import own_or_refused
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.unreadable import read_one
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.other_entries import DueItem, DueScope
    from leasehold.kernel.table import Change, Condition, ForeignItem, Record, Table
    from leasehold.kernel.transitions import Transition


# A job that falls due within this time sets `wake`, and the stream starts a poller for it.
WAKE_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A transition of one job, with what its writer saw and what it sets."""

    job_id: JobId
    transition: Transition
    seen: Mapping[str, object] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueJob:
    """A job as the due index shows it: perhaps stale, so never acted on without a condition."""

    job_id: JobId
    job_type: str
    status: JobStatus
    priority: Priority
    due: Due
    due_key: str
    lane: str
    concurrency_key: str | None = None

    @property
    def owes(self) -> bool:
        """Whether it is due for what comes after a run, and not for a run."""
        return self.due.afterwards is not None or self.status.has_ended


type DueEntry = DueJob | DueScope | DueItem | DueUnreadable


@dataclass(frozen=True, slots=True)
class DuePage:
    entries: list[DueEntry]
    cursor: Record | None


class Jobs:
    def __init__(self, table: Table) -> None:
        self._table = table
        # Why transitions are not asked for in batches here any more; None while they are.
        self.refused_batches: str | None = None

    def insert(self, job: Job) -> None:
        """Insert a new job, which needs no right to overwrite one; ConditionFailed where there is one already."""
        (answer,) = self._table.insert_many([insertion(job)])
        if answer is not None:
            raise answer

    def insert_many(self, jobs: Sequence[Job]) -> list[Exception | None]:
        """Insert each job where there is none, in as few calls as possible, with an answer for each."""
        return self._table.insert_many([insertion(job) for job in jobs])

    def get(self, job_id: JobId) -> Job | None:
        record = self._table.get(keys.job(job_id))
        return read_one(record, job_of) if record else None

    def get_many(self, job_ids: Sequence[JobId]) -> dict[JobId, Job]:
        found = [job_of(record) for record in self._table.get_many([keys.job(job_id) for job_id in job_ids])]
        return {job.job_id: job for job in found}

    def due(self, lane: str, now: datetime, *, limit: int, after: Record | None = None) -> DuePage:
        """What needs the poller by now, oldest first. Reads nothing that is finished, running or in the future."""
        # As `due_until` writes it: a poll asks this of every lane, most of which are empty.
        last = f"{now.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z#~"
        page = self._table.query(table.JOBS, lane, index=table.DUE_INDEX, last=last, limit=limit, after=after)
        return DuePage([due_entry(record) for record in page.records], page.cursor)

    def apply_and_read(self, write: Write) -> Job:
        """Make one transition and return the job after it."""
        return job_of(self.apply(write))

    def apply(self, write: Write) -> Record:
        """Make one transition; a repeat of the writer's own write is a success."""
        try:
            return self._table.write(transition(write))
        except table.ConditionFailed as failed:
            return own_or_refused(write, failed.current, was_repeated=failed.was_repeated)

    def apply_many(self, writes: Sequence[Write]) -> list[Exception | None]:
        """Make each of these transitions where that is simple, in as few calls as possible; None: it was made.

        Any other answer means that the write was not made, or only seemed not to be: `apply` decides it.
        """
        answers = self._table.update_many([table.plain(transition(write)) for write in writes])
        refusal = next((answer for answer in answers if isinstance(answer, table.StatementRefused)), None)
        if refusal is not None:
            self.refused_batches = str(refusal)
        return answers

    def apply_with(
        self, write: Write, changes: Sequence[Change], *, token: str, foreign: Sequence[ForeignItem] = ()
    ) -> None:
        """Make a transition together with other changes, or none of them."""
        try:
            self._table.transact([transition(write), *changes], token=token, foreign=foreign)
        except table.TransactionCancelled as cancelled:
            if 0 not in cancelled.failed:
                raise
            own_or_refused(write, cancelled.failed[0])


def insertion(job: Job) -> table.Put:
    return table.Put(key=keys.job(job.job_id), record=job_record(job))


def transition(write: Write) -> table.Update:
    """A transition as the one conditional write that it is."""
    step, provided = write.transition, frozenset(write.values)
    lacking, foreign = step.sets - provided, provided - step.sets - step.may_set
    if lacking or foreign:
        raise TypeError(f"{step.name}: lacks {sorted(lacking)}, does not take {sorted(foreign)}")
    sets = encode_all(write.values)
    if step.target is not None:
        sets["status"] = str(step.target)
    seen = encode_all({name: value for name, value in write.seen.items() if value is not None})
    return table.Update(
        key=keys.job(write.job_id),
        conditions=conditions_of(step, {**write.seen, **seen}),
        sets=sets,
        adds=dict(step.adds),
        removes=step.removes - provided,
    )


def conditions_of(step: Transition, seen: Mapping[str, object]) -> tuple[Condition, ...]:
    """What must hold of the stored item, with what the writer saw filled in."""
    return (table.OneOf("status", tuple(sorted(step.sources))), *(bind(guard, seen) for guard in step.guards))


def bind(condition: Condition, seen: Mapping[str, object]) -> Condition:
    """Put what the writer saw in the place of each `Seen`."""
    match condition:
        case table.AnyOf(conditions):
            return table.AnyOf(tuple(bind(each, seen) for each in conditions))
        case table.Comparison(attribute, table.Seen(name)):
            # Who saw that it was not there relies on that too.
            return table.Missing(attribute) if seen[name] is None else type(condition)(attribute, seen[name])
        case _:
            return condition


def ended_lane(status: JobStatus, job_type: str) -> str:
    return f"{status}#{job_type}"


def needs_wake(due_at: datetime, now: datetime) -> bool:
    return due_at - now < WAKE_WITHIN


def due_entry(record: Record) -> DueEntry:
    """What a record of the due index, or of the stream, stands for."""
    due_key, partition, sort = (cast("str", record[name]) for name in ("due_key", "PK", "SK"))
    job_id = job_id_at(partition, sort)
    if job_id is None:
        return other_entry(partition, sort, due_key)
    try:
        return DueJob(
            job_id=job_id,
            job_type=cast("str", record["job_type"]),
            status=JobStatus(cast("str", record["status"])),
            priority=Priority(cast("int", record["priority"])),
            due=Due.parse(due_key),
            due_key=due_key,
            lane=cast("str", record["due_lane"]),
            concurrency_key=cast("str | None", record.get("concurrency_key")),
        )
    except (KeyError, ValueError) as error:
        return DueUnreadable(due_key=due_key, problem=f"{sort}: {type(error).__name__}: {error}")
