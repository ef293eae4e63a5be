"""Writes to jobs as drawn: any transition, with what a writer saw or believes to have seen, and values of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from leasehold.kernel.job import Outcome, Run
from leasehold.kernel.jobs import Write
from leasehold.kernel.keys import Due, JobPartition, from_text, make_job_id, run_lane, to_text
from leasehold.kernel.records import encode_all
from leasehold.kernel.table import AnyOf, Seen
from leasehold.kernel.transitions import TRANSITIONS, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Condition, Record
    from leasehold.kernel.transitions import Transition

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENTS = tuple(NOW + timedelta(minutes=minutes) for minutes in (-5, 0, 5))
JOB_IDS = tuple(make_job_id(NOW, JobPartition(1), number) for number in (1, 2))


def new_job(job_id: JobId) -> Record:
    return {
        "job_id": job_id,
        "job_type": "report",
        "payload": '{"n":0}',
        "scheduled_for": to_text(NOW),
        "status": str(JobStatus.PENDING),
        "priority": 1,
        "max_attempts": 3,
        "created_at": to_text(NOW),
        "due_lane": run_lane(1, 0),
        "due_key": Due(NOW, "0", job_id).key,
        "start_by": to_text(MOMENTS[2]),
    }


@st.composite
def writes(draw: st.DrawFn, job_id: JobId, stored: Record, number: int) -> Write:
    """The `number` is in every text that it sets: no two writers make the same value."""
    fitting = [step for step in TRANSITIONS if stored["status"] in step.sources]
    step = draw(st.sampled_from(fitting) | st.sampled_from(TRANSITIONS), label="transition")
    taken = draw(st.sets(st.sampled_from(sorted(step.may_set)))) if step.may_set else set()
    at = draw(st.sampled_from(MOMENTS), label="at")
    values = {name: _value(name, at, job_id, number) for name in step.sets | taken}
    return Write(job_id=job_id, transition=step, seen=draw(_seen(step, stored)), values=values)


def after(write: Write, before: Record) -> Record:
    """What the job is after a write that is accepted, by the meaning of the transition's data."""
    record: dict[str, Any] = {name: value for name, value in before.items() if name not in write.transition.removes}
    record |= encode_all(write.values)
    for name, amount in write.transition.adds:
        record[name] = record.get(name, 0) + amount
    if write.transition.target is not None:
        record["status"] = str(write.transition.target)
    return record


def changes_anything(write: Write) -> bool:
    step = write.transition
    return bool(write.values or step.adds or step.removes or step.target)


@st.composite
def _seen(draw: st.DrawFn, step: Transition, stored: Record) -> dict[str, object]:
    """Mostly what is stored; now and then what was, or never was."""
    seen: dict[str, object] = {}
    for name in sorted(_names(step.guards)):
        if name in {"now", "until"}:
            seen[name] = draw(st.sampled_from(MOMENTS), label=name)
        elif draw(st.integers(0, 7), label=f"knows {name}") > 0 and name in stored:
            seen[name] = stored[name]
        else:
            seen[name] = 7 if name == "priority" else "something else"
    return seen


def _names(guards: Iterable[Condition]) -> set[str]:
    names = set()
    for guard in guards:
        if isinstance(guard, AnyOf):
            names |= _names(guard.conditions)
        elif isinstance(getattr(guard, "value", None), Seen):
            names.add(guard.value.name)  # type: ignore[union-attr]
    return names


def _value(name: str, at: datetime, job_id: JobId, number: int) -> object:
    # Never the same twice, as the engine's are: of random bits, or a time that only moves forward.
    moment = at + timedelta(milliseconds=number)
    match name:
        case "due_key":
            return Due(moment, "0", job_id)
        case "runs":
            run = Run(number=number, worker=f"nonce-{number}", started_at=NOW, ended_at=at, outcome=Outcome.FAILED)
            return (run,)
        case "wake":
            return True
        case "artifacts":
            return (f"file-{number}",)
        case "dispatches" | "priority":
            return 0
        case "max_attempts" | "expires_at":
            return number + 1
        case "due_lane":
            return run_lane(1, 0)
        case "cancel_requested":
            return f"operator-{number}"
        case _ if name.endswith(("_at", "_since")):
            return from_text(to_text(moment))
        case _:
            return f"{name}-{number}"
