"""`leasehold schedules`: recurring jobs, and runs outside of their plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from leasehold.cli.command import command
from leasehold.cli.options import (
    DryRun,
    MadeJobTypeOption,
    Pages,
    PayloadFileOption,
    PayloadOption,
    PriorityOption,
    Reason,
    Yes,
    given,
    length_of,
    past_moment,
)
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Session
from leasehold.cli.terminal import NOTHING, Column, cell, length, short_time

if TYPE_CHECKING:
    from leasehold.admin.job_documents import Document

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
class _Plan:
    """Fields are named as what makes a schedule calls them."""

    job: MadeJobTypeOption = None
    payload: PayloadOption = None
    payload_file: PayloadFileOption = None
    template: Annotated[str | None, Option(help="Make its jobs from this template.")] = None
    every: Annotated[str | None, Option(help="At a rate, e.g. 30m, 1h or 1d."), length_of] = None
    cron: Annotated[str | None, Option(help="By a five-field cron line, e.g. '0 9 * * 1-5'.")] = None
    timezone: Annotated[str | None, Option(help="Of the cron line, e.g. Europe/Berlin; UTC by default.")] = None
    on_dst_gap: Annotated[str | None, Option(help="Times that a clock change leaves out: once or skip.")] = None
    on_dst_overlap: Annotated[str | None, Option(help="Times that come twice: once, both or skip.")] = None
    missed: Annotated[str | None, Option(help="Slots that passed in an outage: latest, all or skip.")] = None
    missed_window: Annotated[str | None, Option(help="How far back --missed all goes, e.g. 1d."), length_of] = None
    overlap: Annotated[str | None, Option(help="While the last job has not ended: skip, queue or allow.")] = None
    priority: PriorityOption = None


@command(app, "list", example="leasehold schedules list")
def list_schedules(session: Session, pages: Pages) -> None:
    """List schedules by name, each with its next run."""
    from leasehold.admin.documents import schedule_view_document

    list_pages(session.admin.read.schedules, schedule_view_document, SCHEDULES, session.out, pages)


@command(app, "show", example="leasehold schedules show nightly --next 10")
def show(
    session: Session, name: _Name, *, next_: Annotated[int, Option("--next", help="How many coming runs to show.")] = 5
) -> None:
    """Show a schedule with its coming runs."""
    _show(session, name, next_runs=next_)


@command(
    app,
    "create",
    example="leasehold schedules create nightly --type daily_summary --cron '0 3 * * *' --reason 'asked for'",
)
def create(
    session: Session,
    name: _Name,
    *,
    reason: Reason = "",
    plan: _Plan,
    disabled: Annotated[bool, Option("--disabled", help="Make it, but run no slots yet.")] = False,
) -> None:
    """Run a job at every slot of a rate or of a cron line."""
    session.admin.queue.schedules.create(name, enabled=not disabled, reason=reason, **given(plan))
    _show(session, name)


@command(app, "update", example="leasehold schedules update nightly --cron '0 4 * * *' --reason 'later is fine'")
def update(
    session: Session,
    name: _Name,
    *,
    reason: Reason = "",
    plan: _Plan,
    enabled: Annotated[bool | None, Option("--enabled/--disabled", help="Whether its slots are run.")] = None,
) -> None:
    """Change what is passed and leave the rest. A new rate or line counts from now on."""
    session.admin.queue.schedules.update(name, enabled=enabled, reason=reason, **given(plan))
    _show(session, name)


@command(app, "pause", example="leasehold schedules pause nightly --reason 'the source is down'")
def pause(session: Session, name: _Name, *, reason: Reason = "") -> None:
    """Run no slots until it is resumed; also of a schedule that is deployed."""
    session.admin.queue.schedules.pause(name, reason=reason)
    _show(session, name)


@command(app, "resume", example="leasehold schedules resume nightly --reason 'the source is back'")
def resume(session: Session, name: _Name, *, reason: Reason = "") -> None:
    """Go on with the next slot; those that passed meanwhile are for `backfill`."""
    session.admin.queue.schedules.resume(name, reason=reason)
    _show(session, name)


@command(app, "delete", example="leasehold schedules delete nightly --reason 'nobody reads it'")
def delete(session: Session, name: _Name, *, reason: Reason = "") -> None:
    """Remove a schedule. Its jobs stay."""
    session.admin.queue.schedules.delete(name, reason=reason)
    session.out.done({"name": name, "deleted": True}, f"{name} is deleted")


@command(app, "trigger", example="leasehold schedules trigger nightly --reason 'needed before tonight'")
def trigger(session: Session, name: _Name, *, reason: Reason = "") -> None:
    """Run it once now, outside of its plan; prints the job's id. Twice within a minute makes one job."""
    job_id = session.admin.queue.schedules.trigger(name, reason=reason)
    session.out.done({"job_id": job_id}, job_id)


@command(app, "backfill", example="leasehold schedules backfill nightly --from 7d --dry-run --reason 'the outage'")
def backfill(
    session: Session,
    name: _Name,
    *,
    reason: Reason = "",
    from_: Annotated[str, Option("--from", help="The first slot: a time, or how long ago: 2h, 7d.")],
    to: Annotated[str | None, Option(help="The last slot; now by default.")] = None,
    beyond_retention: Annotated[
        bool, Option("--beyond-retention", help="Also slots so old that nobody knows whether they were run before.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Make the jobs of past slots that have none, after a look and a confirmation."""
    from leasehold.kernel.keys import to_text

    now = session.now()
    start = past_moment(from_, now, what="--from")
    end = now if to is None else past_moment(to, now, what="--to")
    schedules = session.admin.queue.schedules
    missing = [to_text(slot) for slot in schedules.missing_runs(name, start, end, beyond_retention=beyond_retention)]
    if dry_run or not missing:
        document = {"name": name, "dry_run": dry_run, "missing": len(missing), "slots": missing}
        session.out.done(document, _told(missing) if missing else "Every slot has its job.")
        return
    if not yes:
        session.out.hint(_told(missing))
    session.confirm(f"Make {len(missing):,} jobs of {name}?", yes=yes)
    with session.out.progress("backfilling") as progress:
        made = schedules.backfill(name, start, end, reason=reason, beyond_retention=beyond_retention, progress=progress)
    session.out.done({"name": name, "made": len(made), "job_ids": list(made)}, f"Made {len(made):,} jobs.")


def _told(missing: list[str]) -> str:
    some = ", ".join(map(short_time, missing[:_SLOTS_SHOWN]))
    return f"Slots without a job: {len(missing):,} ({some}{', …' if len(missing) > _SLOTS_SHOWN else ''})"


def _show(session: Session, name: str, *, next_runs: int = 5) -> None:
    """As it is now, with its coming runs."""
    from leasehold.admin.documents import schedule_view_document

    document = schedule_view_document(session.admin.read.schedule(name, next_runs=next_runs))
    lengths = {
        name: length(timedelta(seconds=each))
        for name in ("every", "missed_window")
        if isinstance(each := document.get(name), float)
    }
    session.out.details(document, shown=document | lengths)
