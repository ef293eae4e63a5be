"""What operators do: halt and pause, make and purge jobs, look after dead letters, say what is deployed."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_by_actor, audit_entry_on_job, recorded_reason, retried
from leasehold.circuit_breaker.circuits import circuit_of_type, closed, closing
from leasehold.circuit_breaker.model import CIRCUIT_BREAKER
from leasehold.circuit_breaker.probes import tell_closed
from leasehold.kernel import partitions
from leasehold.kernel.enqueue import OnDuplicate, draft, request_of, write
from leasehold.kernel.errors import LeaseholdError
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.keys import parse_job_id, to_text
from leasehold.kernel.payload import encode_value
from leasehold.kernel.registry import Switch
from leasehold.kernel.table import Delete, Equals, Exists, Put
from leasehold.kernel.type_options import type_scope
from leasehold.limits.scopes import awakened
from leasehold.operate.dead_letters import find_dead_letter, open_dead_letters
from leasehold.operate.jobs import Again, Cancelled, cancel
from leasehold.operate.measure import backlog_of
from leasehold.operate.purge import purge
from leasehold.operate.redrive import Redriven, discard, redrive, redrive_many
from leasehold.operate.registration import publish
from leasehold.pool import ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.enqueue import Enqueued, NewJob
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Record
    from leasehold.operate.measure import Backlog
    from leasehold.schemas.payload_models import PayloadModel


# What is written with a resume, for the stream to start a poller.
RESUMED = "resumed"


class Operator:
    """Acts on a queue. Who does, as AWS knows them, is recorded with everything it does.

    >>> Operator(queue.services).halt(reason="bad deploy")                        # doctest: +SKIP
    True
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def publish(self, registry: Registry) -> None:
        """Say which job types are deployed, on how many shards."""
        publish(registry, self._services)

    def switches(self) -> Switches:
        """What is halted or paused now, by whom and why; also by a circuit breaker."""
        switches = self._services.deployment.switches(fresh=True)
        paused = dict(switches.pauses)
        registry = self._services.store.control.registry()
        for name in registry.types if registry else ():
            circuit = circuit_of_type(name, self._services)
            if circuit is not None and name not in paused:
                by, at, reason = CIRCUIT_BREAKER, circuit.opened_at, circuit.reason
                paused[name] = Switch(by=by, at=at, reason=reason, circuit=circuit)
        return replace(switches, pauses=paused)

    def halt(self, *, reason: str = "") -> bool:
        """Stop the whole system: no enqueue, no claim. Running jobs finish. False if it was halted before."""
        entry = self._entry("control#halt", "halt", reason)
        return self._switch(entry, lambda now: None if now.halt else [halted(entry)])

    def resume(self, *, reason: str = "") -> bool:
        entry = self._entry("control#halt", "resume", reason)
        return self._switch(entry, lambda now: _resumed(now.halt, entry) if now.halt else None)

    def pause(self, job_type: str, *, reason: str = "") -> bool:
        """Start no more jobs of one type; they can still be enqueued. Its circuit breaker sends no probe either."""
        self._services.deployment.registry().job_type(parse_job_type(job_type))
        entry = self._entry(f"control#type#{job_type}", "pause", reason)
        paused = Put(key=partitions.control(partitions.PAUSE + job_type), record=_record(entry))
        return self._switch(entry, lambda now: None if job_type in now.pauses else [paused])

    def unpause(self, job_type: str, *, reason: str = "") -> bool:
        """Lift a pause, and close an open circuit, which then counts anew. False if there was neither."""
        has_breaker = self._services.deployment.settings_of(parse_job_type(job_type)).breaker is not None
        circuit = circuit_of_type(job_type, self._services, fresh=True)
        entry = self._entry(f"control#type#{job_type}", "resume", reason)
        shards = self._services.deployment.registry().shards

        def changes(now: Switches) -> list[Change] | None:
            if job_type in now.pauses:
                lift = Delete(key=partitions.control(partitions.PAUSE + job_type), conditions=(Exists("PK"),))
                # Its held jobs are woken, or one could wait for ever.
                wake = awakened(type_scope(job_type), entry.at, entry.audit_entry_id, shards)
                return [lift, wake, closed(job_type)] if has_breaker else [lift, wake]
            if circuit is not None:
                return closing(job_type, entry.at, stamp=entry.audit_entry_id, shards=shards)
            return None

        lifted = self._switch(entry, changes)
        if lifted and circuit is not None:
            tell_closed(job_type, entry.by, self._services)
        return lifted

    def backlog(self) -> Backlog:
        """Due and unclaimed jobs per type, and the dead letters."""
        return backlog_of(self._services)

    def enqueue(
        self,
        job: NewJob,
        *,
        reason: str = "",
        on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING,
        job_id: JobId | None = None,
    ) -> Enqueued:
        """Make a job by hand: it is created by who acts, whose audit entry says why.

        job_id: of a job that is to be made once, however often it is asked for; it says when the job runs.

        >>> queue.operator.enqueue(NewJob(job="daily_summary"), reason="u1 asked for it")       # doctest: +SKIP
        """
        self._services.deployment.refuse_if_halted()
        request = request_of(replace(job, created_by=self._services.identity.actor()))
        drafted = draft(request, self._services, job_id=job_id)
        entry = audit_entry_on_job(
            drafted.job.job_id, "create", self._services, reason=reason or "created", job_type=drafted.job.job_type
        )
        return write(drafted, self._services, on_duplicate=on_duplicate, audit_entry=entry)

    def cancel_many(
        self, job_ids: Iterable[str], *, reason: str = "", progress: Callable[[int], None] | None = None
    ) -> list[Cancelled]:
        """Cancel jobs that have not started, ask those that run to stop; each result says which, or why not."""
        wanted = [parse_job_id(each) for each in job_ids]
        reason = recorded_reason(reason, self._services)

        def one(job_id: JobId) -> Cancelled:
            try:
                return cancel(job_id, reason, self._services)
            except LeaseholdError as error:
                return Cancelled(job_id=job_id, job_ended=False, error=error)

        return _each_of((done for _, done in ahead(self._services.pool, one, wanted)), progress)

    def purge(self, job_id: str, *, reason: str = "") -> Job:
        """Forget the personal data of an ended job: payload, result, errors. That it was done stays on record."""
        return purge(job_id, self._services, reason=reason)

    def dead_letters(
        self, *, job_type: str | None = None, start: datetime | None = None, end: datetime | None = None
    ) -> Iterator[DeadLetter]:
        """Open dead letters, the oldest first, of one type or all, by the date of their failure."""
        return open_dead_letters(self._services, job_type=job_type, start=start, end=end)

    def dead_letter(self, job_id: str) -> DeadLetter:
        return find_dead_letter(job_id, self._services)

    def redrive(
        self, job_id: str, *, reason: str = "", payload: Json | PayloadModel = None, payload_text: str | None = None
    ) -> Redriven:
        """Run a dead job again, as a new job; with another payload, if one is given.

        payload_text: the same as JSON, as payloads are stored.
        The audit entry says which paths of the payload differ, without their values.

        >>> queue.operator.redrive(job_id, payload={"user_id": "u1"}, reason="it was u2")       # doctest: +SKIP
        """
        text = payload_text if payload is None else encode_value(payload)
        return redrive(job_id, self._services, Again(reason=reason), payload_text=text)

    def redrive_many(
        self,
        *,
        reason: str = "",
        job_type: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Redriven]:
        """Redrive all open dead letters that match; each result says which job it became, or why not."""
        found = islice(self.dead_letters(job_type=job_type, start=start, end=end), limit)
        return _each_of(redrive_many(found, self._services, reason=reason), progress)

    def discard(self, job_id: str, *, reason: str = "") -> DeadLetter:
        """Resolve a dead letter without running it again."""
        return discard(job_id, self._services, reason=reason)

    def _entry(self, target: str, action: str, reason: str) -> AuditEntry:
        return audit_entry_by_actor("switch", target, action, self._services, reason=reason)

    def _switch(self, entry: AuditEntry, changes: Callable[[Switches], list[Change] | None]) -> bool:
        """Make what a look at the switches asks for, with its record; False if that is nothing."""
        audits = self._services.store.audits

        def attempt() -> bool | None:
            wanted = changes(self._services.store.control.switches())
            return False if wanted is None else audits.commit(wanted, audits.audit(entry)) or None

        try:
            return retried(entry.target, attempt, self._services)
        finally:
            self._services.deployment.forget()


def _each_of[Result](results: Iterable[Result], progress: Callable[[int], None] | None) -> list[Result]:
    """One of many that is refused does not stop the others."""
    done: list[Result] = []
    for result in results:
        done.append(result)
        if progress is not None:
            progress(len(done))
    return done


def halted(said: Switch | AuditEntry) -> Put:
    """Stop everything, unless it is stopped already."""
    return Put(key=partitions.control(partitions.HALT), record=_record(said))


def _resumed(seen: Switch, entry: AuditEntry) -> list[Change]:
    """Lift the halt that was seen, and have the stream start a poller for all that fell due meanwhile."""
    lift = Delete(key=partitions.control(partitions.HALT), conditions=(Equals("at", to_text(seen.at)),))
    woken: Record = {**_record(entry), "wake": True}
    return [lift, Put(key=partitions.control(RESUMED), record=woken, conditions=())]


def _record(said: Switch | AuditEntry) -> Record:
    return {"by": said.by, "at": to_text(said.at), "reason": said.reason}
