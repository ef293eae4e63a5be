"""Audit records: who did what to what, chained per target.

The head of each chain is an item of its own, in one partition for each kind of targets: it outlives its target, and
whoever wants to know that no chain was cut reads these partitions. It holds the last entry, and moves in the same
transaction as what the entry is about. Right behind it the entry is inserted as a record, by a statement that can
replace none; if that is lost in a crash, who reads the trail finds it at the head, and the next entry inserts it first.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from leasehold.audit.keys import (
    AUDIT_KINDS,
    audit_head_key,
    audit_heads,
    audit_key,
    audit_partition,
    target_of_audit,
)
from leasehold.kernel.errors import InvalidOptionError, StoreError, StoreUnavailableError
from leasehold.kernel.job import MAX_REASON_BYTES
from leasehold.kernel.jobs import Write, transition
from leasehold.kernel.keys import from_text, to_text
from leasehold.kernel.partitions import records_in
from leasehold.kernel.records import Codec
from leasehold.kernel.table import (
    ConditionFailed,
    Equals,
    Put,
    TransactionCancelled,
    Update,
    request_token,
)
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from leasehold.kernel.end import Ending
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Attribute, Change, Record, Table


# The lane of the ended index that lists all records by date.
ALL = "audit"
# What is recorded where nobody said why.
NO_REASON = "no reason given"
# As fine as a date is written.
_ONE_STEP = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An action that leaves a record: by whom, when, why, and what it changed."""

    target: str
    action: str
    by: str
    at: datetime
    reason: str
    details: str
    audit_entry_id: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A audit entry as it was recorded. `previous` is the head of its chain before it, `head` the one after it."""

    audit_entry: AuditEntry
    previous: str
    head: str

    @property
    def is_sound(self) -> bool:
        """Whether the head is what the record says it is made of."""
        return self.head == head_of(self.audit_entry, self.previous)


@dataclass(frozen=True, slots=True)
class Audit:
    """The move of a chain's head, to be made together with the action; the record that follows; and that head.

    token: of the transaction: it is the same however often this entry is tried.
    """

    record: Put
    move: Put | Update
    head: str
    token: str

    @property
    def changes(self) -> list[Change]:
        """Of a new target all is new: then the record is inserted together with the rest."""
        return [self.record, self.move] if isinstance(self.move, Put) else [self.move]

    def stands_in(self, cancelled: TransactionCancelled, position: int, table: Table) -> bool:
        """Whether a transaction was cancelled because an earlier try of it succeeded, and its response was lost.

        position: that of the move.
        """
        if position not in cancelled.failed:
            return False
        current = cancelled.failed[position] or {}
        if current.get("head") == self.head:
            return True
        try:
            # Whoever moved the head on has inserted our record before.
            return table.get(self.record.key) is not None
        except StoreUnavailableError:
            raise
        except StoreError:
            return False  # who may not read records

    def keep(self, table: Table) -> None:
        """Insert the record of an entry that stands. If that fails, it stays at the head of its chain: what it is about
        was done, and must not be reported as failed.
        """
        if isinstance(self.move, Update):
            with suppress(StoreError):
                table.insert_many([self.record])


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a target's chain, and when it was written."""

    target: str
    digest: str
    at: datetime


_CODEC = Codec(AuditEntry, {}, without={"target", "audit_entry_id"})


class Audits:
    def __init__(self, table: Table) -> None:
        self._table = table

    def head(self, target: str) -> str:
        """The head of a target's chain; empty where there is none."""
        record = self._table.get(audit_head_key(target))
        return cast("str", record["head"]) if record else ""

    def audit(self, audit_entry: AuditEntry, *, is_first: bool = False) -> Audit:
        """What to write with the audit entry. It holds only as long as nobody else does something to the target.

        is_first: the audit entry makes its target, so that nothing was done to it yet.
        The entry at the head is on record before it gives way to this one.
        Whoever was overtaken by somebody else, or has a slower clock, is dated after the entry that stands before:
        dates grow along a chain.
        """
        key = audit_head_key(audit_entry.target)
        found = None if is_first else self._table.get(key)
        previous = cast("str", found["head"]) if found else ""
        if found is not None:
            self._insert(last_entry_of(found))
            audit_entry = replace(audit_entry, at=max(audit_entry.at, from_text(cast("str", found["at"])) + _ONE_STEP))
        record = audited(audit_entry, previous)
        # The head says the same, but is in no lane.
        said = {name: value for name, value in record.record.items() if name not in {"ended_lane", "ended_key"}}
        said["entry_id"] = audit_entry.audit_entry_id
        unmoved = (Equals("head", previous),) if previous else (key.is_absent,)
        move = Put(key=key, record=said) if is_first else Update(key=key, conditions=unmoved, sets=said)
        token = request_token(audit_entry.target, audit_entry.audit_entry_id)
        return Audit(record, move, cast("str", said["head"]), token)

    def _insert(self, entry: AuditRecord) -> None:
        (answer,) = self._table.insert_many([audited(entry.audit_entry, entry.previous)])
        if answer is not None and not isinstance(answer, ConditionFailed):
            raise answer

    def commit(self, changes: Sequence[Change], audit: Audit) -> bool:
        """Make changes together with their entry; False if their target is not, or no longer, what was read."""
        together = [*changes, *audit.changes]
        try:
            self._table.transact(together, token=audit.token)
        except TransactionCancelled as cancelled:
            if not audit.stands_in(cancelled, len(together) - 1, self._table):
                return False
        audit.keep(self._table)
        return True

    def trail(self, target: str) -> list[AuditRecord]:
        """What was done to one target, from the beginning on."""
        records = [audit_record_of(each) for each in records_in(self._table, audit_partition(target))]
        # The last one may not be inserted yet: then it stands at the head.
        head = self._table.get(audit_head_key(target))
        last = last_entry_of(head) if head else None
        is_missing = last is not None and all(each.head != last.head for each in records)
        return [*records, last] if last is not None and is_missing else records

    def heads(self) -> Iterator[Head]:
        """Every target that something was ever done to, by kind and name, with the head of its chain."""
        for kind in AUDIT_KINDS:
            for record in records_in(self._table, audit_heads(kind)):
                yield head_of_record(record)


def audited(audit_entry: AuditEntry, previous: str) -> Put:
    """The record of an audit entry, with the head of its target's chain from then on."""
    at = to_text(audit_entry.at)
    record: Record = {
        **_CODEC.record(audit_entry),
        "previous": previous,
        "head": head_of(audit_entry, previous),
        "ended_lane": ALL,
        "ended_key": f"{at}#{audit_entry.audit_entry_id}",
    }
    return Put(key=audit_key(audit_entry.target, at, audit_entry.audit_entry_id), record=record)


def head_of(audit_entry: AuditEntry, previous: str) -> str:
    """A hash over the entry and the head before it: a record that is changed, removed or moved breaks the chain."""
    # The action, by, at, reason and details, for ever in the order of the fields.
    said = [audit_entry.target, audit_entry.audit_entry_id, *_CODEC.record(audit_entry).values(), previous]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def audit_record_of(record: Record) -> AuditRecord:
    """As it is stored, whatever that is: that somebody changed it is told by its hash (`AuditRecord.is_sound`)."""
    at, _, audit_entry_id = cast("str", record["SK"]).partition("#")
    said: dict[str, Any] = {name: record[name] for name in ("action", "by", "reason", "details")}
    target = target_of_audit(cast("str", record["PK"]))
    audit_entry = AuditEntry(target=target, at=from_text(at), audit_entry_id=audit_entry_id, **said)
    return AuditRecord(audit_entry, cast("str", record["previous"]), cast("str", record["head"]))


def last_entry_of(head: Record) -> AuditRecord:
    """The entry that a head holds."""
    target, at = cast("str", head["SK"]), cast("str", head["at"])
    place = audit_key(target, at, cast("str", head["entry_id"])).attributes
    return audit_record_of({**head, **place})


def head_of_record(record: Record) -> Head:
    return Head(
        target=cast("str", record["SK"]), digest=cast("str", record["head"]), at=from_text(cast("str", record["at"]))
    )


# How long a change is tried while others change the same thing. The API answers within 29 s.
PATIENCE = timedelta(seconds=10)
_FEWEST_TRIES = 5
_FIRST_PAUSE = timedelta(milliseconds=10)
_LONGEST_PAUSE = timedelta(milliseconds=400)
_MAX_NAME_BYTES = 256
# A larger payload stands in its record as a hash: written out, and escaped twice, it could outgrow a DynamoDB item.
_MAX_PAYLOAD_BYTES = 32 * 1024


def check_audit_entry(what: str, by: str, reason: str, services: Services) -> str:
    """The reason as it is recorded."""
    if not fits(by, _MAX_NAME_BYTES):
        problem = f"a change of a {what} needs a name of at most {_MAX_NAME_BYTES} bytes"
        raise InvalidOptionError(by, problem, "Pass by.")
    return recorded_reason(reason, services)


def recorded_reason(reason: str, services: Services) -> str:
    """Without a reason the record says so, unless the deployment asks for one; nothing is read where one is given."""
    if reason == "":
        if not services.deployment.registry().require_reasons:
            return NO_REASON
        raise InvalidOptionError(reason, "this queue asks for a reason", "Say why: `reason`, or --reason.")
    if not fits(reason, MAX_REASON_BYTES):
        raise InvalidOptionError(reason, f"a reason is text of at most {MAX_REASON_BYTES} bytes", "Shorten it.")
    return reason


def fits(text: object, limit: int) -> bool:
    """Whether this is text, not empty, and at most so many bytes where it is stored."""
    if not isinstance(text, str) or not text:
        return False
    try:
        return len(text.encode()) <= limit
    except UnicodeEncodeError:  # half of a surrogate pair, which no table takes
        return False


def audit_entry_of(
    target: str, action: str, changed: Record, services: Services, *, by: str, reason: str
) -> AuditEntry:
    """`changed` is what the target says from then on."""
    return AuditEntry(
        target=target,
        action=action,
        by=by,
        at=services.clock.now(),
        reason=reason,
        details=json.dumps(_bounded(changed), sort_keys=True, ensure_ascii=False),
        audit_entry_id=f"{services.random_source.bits(64):016x}",
    )


def job_target(job_id: JobId) -> str:
    return f"job#{job_id}"


def dead_letter_target(job_id: str) -> str:
    return f"dead-letter#{job_id}"


def audit_entry_on_job(
    job_id: JobId, action: str, services: Services, *, reason: str, **details: Attribute
) -> AuditEntry:
    """What somebody does to a job. Payloads stay out of it: what must be forgotten must not stand in a trail."""
    return audit_entry_by_actor("job", job_target(job_id), action, services, reason=reason, **details)


def audit_entry_by_actor(
    what: str, target: str, action: str, services: Services, *, reason: str, **details: Attribute
) -> AuditEntry:
    """What somebody does to a target of this kind: who they are is what AWS says."""
    actor = services.identity.actor()
    reason = check_audit_entry(what, actor, reason, services)
    return audit_entry_of(target, action, details, services, by=actor, reason=reason)


def apply_with_record(asked: Write | Ending, audit_entry: AuditEntry, services: Services) -> bool:
    """Make a transition or an end that somebody asked for, with its record; False if the job is not what was read, or
    somebody else did something to it meanwhile: look again.
    """
    audits, changes = services.store.audits, [transition(asked)] if isinstance(asked, Write) else asked.changes
    return audits.commit(changes, audits.audit(audit_entry))


def retried[Thing](what: str, attempt: Callable[[], Thing | None], services: Services) -> Thing:
    """Read, decide and write, until the write meets what was read; an attempt that came too late answers None."""
    for _ in tries(services):
        done = attempt()
        if done is not None:
            return done
    raise contended(what)


def tries(services: Services) -> Iterator[int]:
    """Attempts at a change that others may be making too, with random pauses: without, three of them starve one."""
    give_up_at = services.clock.now() + PATIENCE
    for number in itertools.count(1):
        yield number
        if number >= _FEWEST_TRIES and services.clock.now() >= give_up_at:
            return
        services.clock.sleep(
            min(_FIRST_PAUSE * 2**number, _LONGEST_PAUSE) * (0.1 + 0.9 * services.random_source.share())
        )


def contended(what: str) -> StoreUnavailableError:
    seconds = f"{PATIENCE.total_seconds():g}"
    return StoreUnavailableError(f"{what} was changed by others all the time, for {seconds} s; try again")


def _bounded(changed: Record) -> Record:
    payload = cast("str", changed.get("payload", "")).encode()
    if len(payload) <= _MAX_PAYLOAD_BYTES:
        return changed
    return {**changed, "payload": f"{len(payload)} bytes, sha256 {hashlib.sha256(payload).hexdigest()}"}
