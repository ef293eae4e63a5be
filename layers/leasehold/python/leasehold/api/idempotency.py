"""Making something once: how a request with an idempotency key finds what it made before."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.admin.documents import enqueued_document
from leasehold.api.answers import Answer
from leasehold.direct_runs.model import RequestKeyReusedError
from leasehold.kernel import partitions
from leasehold.kernel.enqueue import Enqueued
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.keys import JobId, to_text
from leasehold.kernel.records import Codec
from leasehold.kernel.table import JOBS, AnyOf, Equals, Key, Missing, NotAfter, Put, Update, request_token
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.api.operations import Call
    from leasehold.kernel.table import Record, Table


def made_once(call: Call, propose: Callable[[], str], make: Callable[[str | None, bool], Answer]) -> Answer:
    """The answer to a request with a key is kept for a day.

    propose: an id for what is to be made. Whatever can be refused is refused there: nothing has been written yet.
    make: make it under this id (None without a key: any); its second argument tells whether somebody tried before.
    """
    asked, requests = call.asked, call.services.store.requests
    if asked is None:
        return make(None, False)
    now = call.services.clock.now()
    found = requests.get(asked.name, now)
    is_repeat = found is not None
    if found is None:
        wanted = RequestRecord(name=asked.name, fingerprint=asked.fingerprint, made_id=propose(), until=now + KEPT_FOR)
        found = requests.take(wanted, now)
        is_repeat = found.made_id != wanted.made_id
    if found.fingerprint != asked.fingerprint:
        raise RequestKeyReusedError(asked.key)
    if found.answer is not None:
        return Answer.from_text(found.answer)
    answer = make(found.made_id, is_repeat)
    requests.answer(found, answer.to_text())
    return answer


def job_made_once(call: Call, propose: Callable[[], JobId], make: Callable[[JobId | None], Enqueued]) -> Answer:
    """A job that is there under its id was made by a try before, or by one at the same time."""

    def attempt(job_id: JobId | None, again: bool) -> Enqueued:
        jobs = call.services.store.jobs
        if again and job_id is not None and jobs.get(job_id) is not None:
            return Enqueued(job_id=job_id, created=True)
        try:
            return make(job_id)
        except StoreUnavailableError:
            if job_id is None or jobs.get(job_id) is None:
                raise
            return Enqueued(job_id=job_id, created=True)

    def answered(made_id: str | None, again: bool) -> Answer:
        made = attempt(None if made_id is None else JobId(made_id), again)
        return Answer(status=201 if made.created else 200, document=enqueued_document(made))

    return made_once(call, propose, answered)


KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with its key. The same key of somebody else, or of another route, is another key."""

    actor: str
    route: str
    key: str
    fingerprint: str

    @property
    def name(self) -> str:
        return request_token("request", self.actor, self.route, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """fingerprint: of what was asked for. made_id: of what it makes or has made. answer: once there is one."""

    name: str
    fingerprint: str
    made_id: str
    until: datetime
    answer: str | None = None


class Requests:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, name: str, now: datetime) -> RequestRecord | None:
        record = self._table.get(_key(name))
        found = _record_of(name, record) if record else None
        return found if found and found.until > now else None

    def take(self, wanted: RequestRecord, now: datetime) -> RequestRecord:
        """Write it where there is none, or one whose time is over; else the one that stands there."""
        key = _key(wanted.name)
        vacant = AnyOf((Missing("PK"), NotAfter("until", to_text(now))))
        record: Record = {**_CODEC.record(wanted), "expires_at": int(wanted.until.timestamp())}
        current = partitions.refusal(self._table, Put(key=key, record=record, conditions=(vacant,)))
        # It may be ours, by a try whose response was lost: then it says the same.
        return wanted if current is None else _record_of(wanted.name, current)

    def answer(self, made: RequestRecord, answer: str) -> None:
        """Keep what the caller is told; somebody who asked the same at the same time may have been quicker."""
        guards = (Equals("made_id", made.made_id), Missing("answer"))
        kept = Update(key=_key(made.name), conditions=guards, sets={"answer": answer})
        partitions.refusal(self._table, kept)


_CODEC = Codec(RequestRecord, {}, without={"name"})


def _record_of(name: str, record: Record) -> RequestRecord:
    return RequestRecord(name=name, **_CODEC.values(record))


def _key(name: str) -> Key:
    return Key(JOBS, (f"{partitions.REQUEST}#{name}", "-"))
