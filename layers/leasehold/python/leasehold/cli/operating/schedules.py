"""`leasehold schedules`: recurring jobs, and runs outside of their plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from leasehold.cli.command import command
from leasehold.cli.options import (
    MadeJobTypeOption,
    Pages,
    Preset,
    given,
    length_of,
    option,
    past_moment,
)
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Acting, Previewing, Session
from leasehold.cli.terminal import NOTHING, Column, cell, length, short_time

if TYPE_CHECKING:
    from leasehold.documents import Document
    from leasehold.schedules.model import Schedule

app = typer.Typer(
    no_args_is_help=True, help="Recurring jobs: list, show, create, update, pause, resume, delete, trigger, backfill."
)

_SLOTS_SHOWN = 10


def _recurrence(document: Document) -> str:
    every = document.get("every")
    if isinstance(every, int | float):
        return f"every {length(timedelta(seconds=every))}"
    return f"{document['cron']} {document['timezone']}"


def _next_run(document: Document) -> str:
    runs = document["next_runs"]
    return cell(runs[0]) if isinstance(runs, list) and runs else NOTHING


def _state(document: Document) -> str:
    if document["paused"]:
        return "paused"
    return "active" if document["is_active"] else "disabled"


SCHEDULES = (
    Column("schedule", "name", rank=0),
    Column("type", "job_type", rank=1),
    Column("when", _recurrence, rank=0),
    Column("state", _state, rank=0),
    Column("next run", _next_run, rank=1),
    Column("last run", "last_triggered_at", rank=3),
    Column("origin", "origin", rank=4),
    Column("EventBridge", "mirror_error", rank=5, stretches=True),
)
_Name = Annotated[str, Argument(metavar="NAME", help="The schedule's name.")]


@dataclass(frozen=True, kw_only=True)
class _Plan(Preset):
    job: MadeJobTypeOption = None
    template: str | None = option(help="Make its jobs from this template.")
    every: str | None = option(reads=length_of, help="At a rate, e.g. 30m, 1h or 1d.")
    cron: str | None = option(help="By a five-field cron line, e.g. '0 9 * * 1-5'.")
    timezone: str | None = option(help="Of the cron line, e.g. Europe/Berlin; UTC by default.")
    on_dst_gap: str | None = option(help="Times that a clock change leaves out: once or skip.")
    on_dst_overlap: str | None = option(help="Times that come twice: once, both or skip.")
    missed: str | None = option(help="Slots that passed in an outage: latest, all or skip.")
    missed_window: str | None = option(reads=length_of, help="How far back --missed all goes, e.g. 1d.")
    overlap: str | None = option(help="While the last job has not ended: skip, queue or allow.")
    enabled: bool | None = option("--enabled/--disabled", help="Whether its slots are run; from the start by default.")


@command(app, "leasehold schedules list")
def list_(session: Session, pages: Pages) -> None:
    """List schedules by name, each with its next run."""
    read = session.admin.read
    list_pages(read.schedules, partial(read.schedule, next_runs=1), SCHEDULES, session.out, pages)


@command(app, "leasehold schedules show nightly --next 10")
def show(
    session: Session, name: _Name, *, next_: Annotated[int, Option("--next", help="How many coming runs to show.")] = 5
) -> None:
    """Show a schedule with its coming runs."""
    _show(session, name, next_runs=next_)


@command(app, "leasehold schedules create nightly --type daily_summary --cron '0 3 * * *' --reason 'asked for'")
def create(session: Acting, name: _Name, plan: _Plan) -> None:
    """Run a job at every slot of a rate or of a cron line."""
    wanted = given(plan) | {"enabled": plan.enabled is not False}
    _show(session, session.admin.queue.schedules.create(name, reason=session.reason, **wanted))


@command(app, "leasehold schedules update nightly --cron '0 4 * * *' --reason 'later is fine'")
def update(session: Acting, name: _Name, plan: _Plan) -> None:
    """Change what is passed and leave the rest. A new rate or line counts from now on."""
    _show(session, session.admin.queue.schedules.update(name, reason=session.reason, **given(plan)))


@command(app, "leasehold schedules pause nightly --reason 'the source is down'")
def pause(session: Acting, name: _Name) -> None:
    """Run no slots until it is resumed; also of a schedule that is deployed."""
    _show(session, session.admin.queue.schedules.pause(name, reason=session.reason))


@command(app, "leasehold schedules resume nightly --reason 'the source is back'")
def resume(session: Acting, name: _Name) -> None:
    """Go on with the next slot; those that passed meanwhile are for `backfill`."""
    _show(session, session.admin.queue.schedules.resume(name, reason=session.reason))


@command(app, "leasehold schedules delete nightly --reason 'nobody reads it'")
def delete(session: Acting, name: _Name) -> None:
    """Remove a schedule. Its jobs stay."""
    session.admin.queue.schedules.delete(name, reason=session.reason)
    session.out.done({"name": name, "deleted": True}, f"{name} is deleted")


@command(app, "leasehold schedules trigger nightly --reason 'needed before tonight'")
def trigger(session: Acting, name: _Name) -> None:
    """Run it once now, outside of its plan; prints the job's id. Twice within a minute makes one job."""
    job_id = session.admin.queue.schedules.trigger(name, reason=session.reason)
    session.out.done({"job_id": job_id}, job_id)


@command(app, "leasehold schedules backfill nightly --from 7d --dry-run --reason 'the outage'")
def backfill(
    session: Previewing,
    name: _Name,
    *,
    from_: Annotated[str, Option("--from", help="The first slot: a time, or how long ago: 2h, 7d.")],
    to: Annotated[str | None, Option(help="The last slot; now by default.")] = None,
    beyond_retention: Annotated[
        bool, Option("--beyond-retention", help="Also slots so old that nobody knows whether they were run before.")
    ] = False,
) -> None:
    """Make the jobs of past slots that have none, after a look and a confirmation."""
    from leasehold.kernel.keys import to_text

    now = session.now()
    start = past_moment(from_, now, what="--from")
    end = now if to is None else past_moment(to, now, what="--to")
    schedules = session.admin.queue.schedules
    missing = [to_text(slot) for slot in schedules.missing_runs(name, start, end, beyond_retention=beyond_retention)]
    if session.dry_run or not missing:
        document = {"name": name, "dry_run": session.dry_run, "missing": len(missing), "slots": missing}
        session.out.done(document, _told(missing) if missing else "Every slot has its job.")
        return
    if not session.yes:
        session.out.hint(_told(missing))
    session.confirm(f"Make {len(missing):,} jobs of {name}?")
    with session.out.progress("backfilling") as progress:
        made = schedules.backfill(
            name, start, end, reason=session.reason, beyond_retention=beyond_retention, progress=progress
        )
    session.out.done({"name": name, "made": len(made), "job_ids": list(made)}, f"Made {len(made):,} jobs.")


def _told(missing: list[str]) -> str:
    some = ", ".join(map(short_time, missing[:_SLOTS_SHOWN]))
    return f"Slots without a job: {len(missing):,} ({some}{', …' if len(missing) > _SLOTS_SHOWN else ''})"


def _show(session: Session, schedule: str | Schedule, *, next_runs: int = 5) -> None:
    """With its coming runs."""
    document = session.admin.read.schedule(schedule, next_runs=next_runs)
    lengths = {
        name: length(timedelta(seconds=each))
        for name in ("every", "missed_window")
        if isinstance(each := document.get(name), float)
    }
    session.out.details(document, shown=document | lengths)
