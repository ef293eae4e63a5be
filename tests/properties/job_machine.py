"""A machine of several writers at the same jobs, who know what is stored, or do not, and repeat what they wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from leasehold.kernel import keys, partitions
from leasehold.kernel.jobs import Jobs, conditions_of
from leasehold.kernel.records import encode
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import OneOf, Put, TransactionCancelled, request_token
from leasehold.kernel.transitions import DEAD_LETTER, ENDED, REAP_DEAD, JobStatus
from tests.properties.job_writes import JOB_IDS, after, changes_anything, new_job, writes
from tests.properties.reference import holds, same
from tests.properties.table_machine import machine_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.jobs import Write
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Record, Table

_BURIALS = (DEAD_LETTER, REAP_DEAD)


class JobMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.tables: Sequence[Table] = self.open_tables()
        self.records: dict[JobId, Record] = {job_id: new_job(job_id) for job_id in JOB_IDS}
        self._name = f"machine-{next(machine_numbers)}"
        self._written: list[Write] = []
        self._accepted: list[Write] = []
        self._latest: dict[JobId, Write] = {}
        self._dead_letters: set[JobId] = set()
        self._ended: dict[JobId, object] = {}
        for table in self.tables:
            for job_id, record in self.records.items():
                table.write(Put(key=keys.job(job_id), record=record))

    def open_tables(self) -> Sequence[Table]:
        raise NotImplementedError

    @rule(job_id=st.sampled_from(JOB_IDS), data=st.data())
    def write(self, job_id: JobId, data: st.DataObject) -> None:
        write = data.draw(writes(job_id, self.records[job_id], len(self._written) + 1), label="write")
        if changes_anything(write):
            self._written.append(write)
            self._attempt(write)

    @precondition(lambda self: self._written)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """The response was lost: the writer sends the same again, at once or much later."""
        write = data.draw(st.sampled_from([self._written[-1], *self._written]), label="repeated")
        self._attempt(write)

    @rule(data=st.data())
    def write_in_a_batch(self, data: st.DataObject) -> None:
        """One write to each job, in one call; what a batch leaves undecided is decided alone."""
        first = len(self._written) + 1
        drawn = [data.draw(writes(each, self.records[each], first + at)) for at, each in enumerate(JOB_IDS)]
        batch = [write for write in drawn if changes_anything(write) and write.transition not in _BURIALS]
        allowed = [self._is_allowed(write) for write in batch]
        for table in self.tables:
            answers = Jobs(table).apply_many(batch) if batch else []
            told = [answer is None or _told(table, write) for write, answer in zip(batch, answers, strict=True)]
            assert told == allowed, type(table).__name__
        self._written += batch
        for write, is_allowed in zip(batch, allowed, strict=True):
            if is_allowed:
                self._accept(write)

    def _attempt(self, write: Write) -> None:
        is_burial = write.transition in _BURIALS
        act: Callable[[Table], bool] = (
            (lambda table: _bury(table, write, self._name)) if is_burial else lambda t: _told(t, write)
        )
        is_allowed = self._is_allowed(write) and not (is_burial and write.job_id in self._dead_letters)
        stands = self._latest.get(write.job_id) is write
        told = {type(table).__name__: act(table) for table in self.tables}
        if is_allowed:
            assert all(told.values()), f"refused, though every condition holds: {told}"
            self._accept(write)
        elif stands and write.transition.signature in write.values:
            assert all(told.values()), f"its own write, which stands, was not recognised: {told}"
        elif any(told.values()):
            assert any(each is write for each in self._accepted), f"somebody else's write was taken for its own: {told}"
        assert len(set(told.values())) == 1, f"tables disagree: {told}"

    def _is_allowed(self, write: Write) -> bool:
        step, record = write.transition, self.records[write.job_id]
        seen = {name: encode(value) for name, value in write.seen.items()}
        conditions = conditions_of(step, seen)
        assert isinstance(conditions[0], OneOf)
        return all(holds(condition, record) for condition in conditions)

    def _accept(self, write: Write) -> None:
        self.records[write.job_id] = after(write, self.records[write.job_id])
        self._accepted.append(write)
        self._latest[write.job_id] = write
        if write.transition in _BURIALS:
            self._dead_letters.add(write.job_id)

    @invariant()
    def every_table_holds_what_the_accepted_writes_made(self) -> None:
        for table in self.tables:
            for job_id, record in self.records.items():
                key = keys.job(job_id)
                assert same(table.get(key), {**key.attributes, **record}), type(table).__name__

    @invariant()
    def an_end_is_an_end(self) -> None:
        for job_id, record in self.records.items():
            if JobStatus(str(record["status"])) in ENDED:
                assert self._ended.setdefault(job_id, record["status"]) == record["status"]
            else:
                assert job_id not in self._ended

    @invariant()
    def a_dead_job_has_a_dead_letter_and_no_other_has(self) -> None:
        for job_id, record in self.records.items():
            is_dead = record["status"] == JobStatus.DEAD_LETTER
            assert all((table.get(partitions.dead_letter(job_id)) is not None) == is_dead for table in self.tables)


def _told(table: Table, write: Write) -> bool:
    """What the writer is told of its write."""
    try:
        Jobs(table).apply_and_read(write)
    except TransitionRefused:
        return False
    return True


def _bury(table: Table, write: Write, name: str) -> bool:
    dead_letter = Put(key=partitions.dead_letter(write.job_id), record={"job_type": "report"})
    token = request_token(write.transition.name, name, repr(write.values))
    try:
        Jobs(table).apply_with(write, [dead_letter], token=token)
    except TransitionRefused:
        return False
    except TransactionCancelled:
        return False
    return True
