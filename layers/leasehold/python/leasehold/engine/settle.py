"""Settle: do what an ended job owes, then take it out of the due index."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.effects import Effect, EffectKind
from leasehold.domain.errors import LeaseholdError
from leasehold.domain.ids import derive_job_id
from leasehold.domain.lifecycle import SETTLE, Write
from leasehold.engine.count_ends import count_end
from leasehold.engine.draft import JobRequest, draft
from leasehold.engine.endings import due_values, settled_values
from leasehold.engine.enqueue import OnDuplicate, write
from leasehold.engine.telemetry import Event
from leasehold.engine.tidy import retire_dedup_record
from leasehold.engine.trust import trusted_job
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueJob

_TRY_AGAIN_AFTER = timedelta(minutes=1)


def follow_up(job_type: str, payload_text: str, *, statuses: tuple[str, ...] = ()) -> Effect:
    """A job to make once another has ended."""
    data = json.dumps({"job_type": job_type, "payload": payload_text}, separators=(",", ":"))
    return Effect(kind=EffectKind.ENQUEUE, data=data, statuses=statuses)


def settle(entry: DueJob, parts: Parts) -> bool:
    """Do the effects that a job owes; False if it owes none (any more)."""
    job = trusted_job(parts.store.jobs.get(entry.job_id), parts)
    if job is None or not job.has_ended or job.due is None or job.due.key != entry.due_key:
        return False
    now = parts.clock.now()
    try:
        for number, effect in enumerate(job.effects):
            if effect.is_owed_after(job.status):
                _do(effect, number, job, parts)
        values, is_done = settled_values(job, parts), True
    except LeaseholdError as error:
        # It stays owed. Later, so that it does not stand first in its lane at every poll.
        parts.telemetry.event(
            Event.EFFECT_FAILED, job_id=job.job_id, job_type=job.job_type, error_code=error.code, error=str(error)
        )
        values, is_done = due_values(job, now + _TRY_AGAIN_AFTER, now), False
    was_settled = count_end(job, parts) if is_done and job.group_id is not None else _leave(job, values, parts)
    if was_settled and is_done:
        retire_dedup_record(job, values.get("expires_at"), parts)
    return was_settled


def _leave(job: Job, values: Mapping[str, object], parts: Parts) -> bool:
    try:
        parts.store.jobs.advance(Write(job_id=job.job_id, transition=SETTLE, seen={"due_key": job.due}, values=values))
    except TransitionRefused:
        return False
    return True


def _do(effect: Effect, number: int, job: Job, parts: Parts) -> None:
    match effect.kind:
        case EffectKind.ENQUEUE:
            wanted = json.loads(effect.data)
            ended_at = job.completed_at
            assert ended_at is not None
            request = JobRequest(job_type=wanted["job_type"], payload_text=wanted["payload"], trace=job.trace)
            # The same end gives the same id: a second try finds the job made. A halt does not stop it, since the
            # work it follows was accepted before.
            partition = parts.deployment.registry().partition_of(wanted["job_type"], job.shard)
            job_id = derive_job_id(ended_at, partition, job.job_id, str(number))
            write(draft(request, parts, job_id=job_id), parts, on_duplicate=OnDuplicate.RETURN_EXISTING)
        case _:
            assert_never(effect.kind)
