"""Changes that leave an audit record: made by somebody for a reason, on what was read, or not at all."""

from __future__ import annotations

import hashlib
import itertools
import json
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.domain.errors import InvalidOptionError, StoreUnavailableError
from leasehold.domain.job import SYSTEM
from leasehold.domain.lifecycle import Write
from leasehold.domain.run import MAX_REASON_BYTES
from leasehold.domain.text import fits
from leasehold.store.audits import Deed
from leasehold.store.jobs import TransitionRefused, transition
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.kernel.end import Ending
    from leasehold.store.table import Attribute, Record

# How long a change is tried while others change the same thing. The API answers within 29 s.
PATIENCE = timedelta(seconds=10)
_FEWEST_TRIES = 5
_FIRST_PAUSE = timedelta(milliseconds=10)
_LONGEST_PAUSE = timedelta(milliseconds=400)
_MAX_NAME_BYTES = 256
# A larger payload stands in its record as a hash: written out, and escaped twice, it could outgrow a DynamoDB item.
_MAX_PAYLOAD_BYTES = 32 * 1024


def check_deed(what: str, by: str, reason: str) -> None:
    if not fits(by, _MAX_NAME_BYTES) or not fits(reason, MAX_REASON_BYTES):
        raise InvalidOptionError(
            (by, reason),
            f"a change of a {what} needs a name of at most {_MAX_NAME_BYTES} bytes, and a reason of {MAX_REASON_BYTES}",
            "Pass by and reason.",
        )


def deed_of(target: str, action: str, changed: Record, parts: Parts, *, by: str, reason: str) -> Deed:
    """`changed` is what the target says from then on."""
    return Deed(
        target=target,
        action=action,
        by=by,
        at=parts.clock.now(),
        reason=reason,
        details=json.dumps(_bounded(changed), sort_keys=True, ensure_ascii=False),
        deed_id=f"{parts.chance.bits(64):016x}",
    )


def job_target(job_id: JobId) -> str:
    return f"job#{job_id}"


def dead_letter_target(job_id: str) -> str:
    return f"dead-letter#{job_id}"


def deed_on_job(job_id: JobId, action: str, parts: Parts, *, reason: str, **details: Attribute) -> Deed:
    """What somebody does to a job. Payloads stay out of it: what must be forgotten must not stand in a trail."""
    actor = parts.identity.actor()
    check_deed("job", actor, reason)
    return deed_of(job_target(job_id), action, details, parts, by=actor, reason=reason)


def creation(job: Job, parts: Parts) -> Deed | None:
    """What a person's new job leaves on record: by whom the program that enqueues it says that it is made.

    None for jobs of the system, and of types whose settings switch it off.
    """
    if job.created_by == SYSTEM or not parts.deployment.settings_of(job.job_type).audit_creation:
        return None
    details: Record = {"job_type": job.job_type, "named_by": "program"}
    return deed_of(job_target(job.job_id), "create", details, parts, by=job.created_by, reason="created")


def advance_with_record(asked: Write | Ending, deed: Deed, parts: Parts) -> None:
    """Make a transition or an end that somebody asked for, with its record, or neither; TransitionRefused as ever."""
    write, changes = (asked, [transition(asked)]) if isinstance(asked, Write) else (asked.write, asked.changes)
    if not parts.store.audits.commit(changes, parts.store.audits.audit(deed), token=token_of(deed)):
        # The job is not what was read, or somebody else did something to it meanwhile: look again.
        raise TransitionRefused(write, None)


def token_of(deed: Deed) -> str:
    return request_token(deed.target, deed.deed_id)


def retried[Thing](what: str, attempt: Callable[[], Thing | None], parts: Parts) -> Thing:
    """Read, decide and write, until the write meets what was read; an attempt that came too late answers None."""
    for _ in tries(parts):
        done = attempt()
        if done is not None:
            return done
    raise contended(what)


def tries(parts: Parts) -> Iterator[int]:
    """Attempts at a change that others may be making too, with random pauses: without, three of them starve one."""
    give_up_at = parts.clock.now() + PATIENCE
    for number in itertools.count(1):
        yield number
        if number >= _FEWEST_TRIES and parts.clock.now() >= give_up_at:
            return
        parts.clock.sleep(min(_FIRST_PAUSE * 2**number, _LONGEST_PAUSE) * (0.1 + 0.9 * parts.chance.share()))


def contended(what: str) -> StoreUnavailableError:
    seconds = f"{PATIENCE.total_seconds():g}"
    return StoreUnavailableError(f"{what} was changed by others all the time, for {seconds} s; try again")


def _bounded(changed: Record) -> Record:
    payload = cast("str", changed.get("payload", "")).encode()
    if len(payload) <= _MAX_PAYLOAD_BYTES:
        return changed
    return {**changed, "payload": f"{len(payload)} bytes, sha256 {hashlib.sha256(payload).hexdigest()}"}
