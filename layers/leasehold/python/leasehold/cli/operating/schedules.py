"""`leasehold schedules`: recurring jobs, and runs outside of their plan."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from leasehold.cli.command import command
from leasehold.cli.operating.options import (
    Cursor,
    DryRun,
    Everything,
    Limit,
    MadeJobTypeOption,
    PayloadFileOption,
    PayloadOption,
    PriorityOption,
    Reason,
    Yes,
)
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

app = typer.Typer(
    no_args_is_help=True,
    help="Recurring jobs: list, show, create, update, pause, resume, delete, trigger, backfill.",
)

_SLOTS_SHOWN = 10

ScheduleName = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]
_Template = Annotated[str | None, typer.Option(help="Make its jobs from this template.")]
_Every = Annotated[str | None, typer.Option(help="At a rate, e.g. 30m, 1h or 1d.")]
_Cron = Annotated[str | None, typer.Option(help="By a five-field cron line, e.g. '0 9 * * 1-5'.")]
_Timezone = Annotated[str | None, typer.Option(help="Of the cron line, e.g. Europe/Berlin; UTC by default.")]
_InTheGap = Annotated[str | None, typer.Option(help="Times that a clock change leaves out: once or skip.")]
_WhenRepeated = Annotated[str | None, typer.Option(help="Times that come twice: once, both or skip.")]
_Missed = Annotated[str | None, typer.Option(help="Slots that passed in an outage: latest, all or skip.")]
_MissedWindow = Annotated[str | None, typer.Option(help="How far back --missed all goes, e.g. 1d.")]
_Overlap = Annotated[str | None, typer.Option(help="While the last job has not ended: skip, queue or allow.")]


@command(app, "list", example="leasehold schedules list")
def list_schedules(
    session: Session, *, limit: Limit = DEFAULT_LIMIT, everything: Everything = False, cursor: Cursor = None
) -> None:
    """List schedules by name, each with its next run."""
    from leasehold.admin.documents import schedule_view_document
    from leasehold.cli.operating.columns import SCHEDULES

    fetch = session.admin.read.schedules
    list_pages(fetch, schedule_view_document, SCHEDULES, session.out, limit=limit, cursor=cursor, everything=everything)


@command(app, "show", example="leasehold schedules show nightly --next 10")
def show(
    session: Session,
    name: ScheduleName,
    *,
    next_: Annotated[int, typer.Option("--next", help="How many coming runs to show.")] = 5,
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
    name: ScheduleName,
    *,
    reason: Reason = "",
    job_type: MadeJobTypeOption = None,
    payload: PayloadOption = None,
    payload_file: PayloadFileOption = None,
    template: _Template = None,
    every: _Every = None,
    cron: _Cron = None,
    timezone: _Timezone = None,
    on_dst_gap: _InTheGap = None,
    on_dst_overlap: _WhenRepeated = None,
    missed: _Missed = None,
    missed_window: _MissedWindow = None,
    overlap: _Overlap = None,
    priority: PriorityOption = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Make it, but run no slots yet.")] = False,
) -> None:
    """Run a job at every slot of a rate or of a cron line."""
    from leasehold.cli.operating.values import parse_priority, read_payload

    session.admin.queue.schedules.create(
        name,
        job_type,
        read_payload(payload, payload_file),
        template=template,
        timezone=timezone,
        cron=cron,
        on_dst_gap=on_dst_gap,
        on_dst_overlap=on_dst_overlap,
        missed=missed,
        overlap=overlap,
        priority=parse_priority(priority),
        enabled=not disabled,
        reason=reason,
        **_lengths(every, missed_window),
    )
    _show(session, name)


@command(
    app,
    "update",
    example="leasehold schedules update nightly --cron '0 4 * * *' --reason 'later is fine'",
)
def update(
    session: Session,
    name: ScheduleName,
    *,
    reason: Reason = "",
    job_type: MadeJobTypeOption = None,
    payload: PayloadOption = None,
    payload_file: PayloadFileOption = None,
    template: _Template = None,
    every: _Every = None,
    cron: _Cron = None,
    timezone: _Timezone = None,
    on_dst_gap: _InTheGap = None,
    on_dst_overlap: _WhenRepeated = None,
    missed: _Missed = None,
    missed_window: _MissedWindow = None,
    overlap: _Overlap = None,
    priority: PriorityOption = None,
    enabled: Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether its slots are run.")] = None,
) -> None:
    """Change what is passed and leave the rest. A new rate or line counts from now on."""
    from leasehold.cli.operating.values import parse_priority, read_payload

    session.admin.queue.schedules.update(
        name,
        job=job_type,
        payload=read_payload(payload, payload_file),
        template=template,
        timezone=timezone,
        cron=cron,
        on_dst_gap=on_dst_gap,
        on_dst_overlap=on_dst_overlap,
        missed=missed,
        overlap=overlap,
        priority=parse_priority(priority),
        enabled=enabled,
        reason=reason,
        **_lengths(every, missed_window),
    )
    _show(session, name)


@command(app, "pause", example="leasehold schedules pause nightly --reason 'the source is down'")
def pause(session: Session, name: ScheduleName, *, reason: Reason = "") -> None:
    """Run no slots until it is resumed; also of a schedule that is deployed."""
    session.admin.queue.schedules.pause(name, reason=reason)
    _show(session, name)


@command(app, "resume", example="leasehold schedules resume nightly --reason 'the source is back'")
def resume(session: Session, name: ScheduleName, *, reason: Reason = "") -> None:
    """Go on with the next slot; those that passed meanwhile are for `backfill`."""
    session.admin.queue.schedules.resume(name, reason=reason)
    _show(session, name)


@command(app, "delete", example="leasehold schedules delete nightly --reason 'nobody reads it'")
def delete(session: Session, name: ScheduleName, *, reason: Reason = "") -> None:
    """Remove a schedule. Its jobs stay."""
    session.admin.queue.schedules.delete(name, reason=reason)
    session.out.done({"name": name, "deleted": True}, f"{name} is deleted")


@command(app, "trigger", example="leasehold schedules trigger nightly --reason 'needed before tonight'")
def trigger(session: Session, name: ScheduleName, *, reason: Reason = "") -> None:
    """Run it once now, outside of its plan; prints the job's id. Twice within a minute makes one job."""
    job_id = session.admin.queue.schedules.trigger(name, reason=reason)
    session.out.done({"job_id": job_id}, job_id)


@command(
    app,
    "backfill",
    example="leasehold schedules backfill nightly --from 7d --dry-run --reason 'the outage'",
)
def backfill(
    session: Session,
    name: ScheduleName,
    *,
    reason: Reason = "",
    from_: Annotated[str, typer.Option("--from", help="The first slot: a time, or how long ago: 2h, 7d.")],
    to: Annotated[str | None, typer.Option(help="The last slot; now by default.")] = None,
    beyond_retention: Annotated[
        bool,
        typer.Option("--beyond-retention", help="Also slots so old that nobody knows whether they were run before."),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Make the jobs of past slots that have none, after a look and a confirmation."""
    from leasehold.cli.times import past_moment
    from leasehold.kernel.keys import to_text

    now = session.now()
    start = past_moment(from_, now, what="--from")
    end = past_moment(to, now, what="--to") or now
    assert start is not None
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
    from leasehold.cli.terminal.cells import short_time

    some = ", ".join(map(short_time, missing[:_SLOTS_SHOWN]))
    return f"Slots without a job: {len(missing):,} ({some}{', …' if len(missing) > _SLOTS_SHOWN else ''})"


def _lengths(every: str | None, missed_window: str | None) -> dict[str, Any]:
    from leasehold.cli.times import length_of

    return {
        "every": None if every is None else length_of(every, what="--every"),
        "missed_window": None if missed_window is None else length_of(missed_window, what="--missed-window"),
    }


def _show(session: Session, name: str, *, next_runs: int = 5) -> None:
    """As it is now, with its coming runs."""
    from datetime import timedelta

    from leasehold.admin.documents import schedule_view_document
    from leasehold.cli.terminal.cells import length
    from leasehold.cli.terminal.details import show_fields, show_json

    document = schedule_view_document(session.admin.read.schedule(name, next_runs=next_runs))
    if session.out.as_json:
        session.out.document(document)
        return
    lengths = {
        name: length(timedelta(seconds=each))
        for name in ("every", "missed_window")
        if isinstance(each := document.get(name), float)
    }
    show_fields(document | lengths, session.out.console, without=("payload",))
    show_json("payload", document["payload"], session.out.console)
