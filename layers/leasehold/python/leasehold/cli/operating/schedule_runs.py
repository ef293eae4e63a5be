"""`leasehold schedules trigger` and `backfill`: runs outside of the plan."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli.command import command
from leasehold.cli.operating.options import DryRun, Reason, ReasonUnlessDry, Yes
from leasehold.cli.operating.schedules import ScheduleName, app
from leasehold.cli.session import Session
from leasehold.cli.terminal.cells import short_time

_SHOWN = 10


@command(app, "trigger", example="leasehold schedules trigger nightly --reason 'needed before tonight'")
def trigger(session: Session, name: ScheduleName, *, reason: Reason) -> None:
    """Run it once now, outside of its plan; prints the job's id. Twice within a minute makes one job."""
    job_id = session.admin.act.schedules.trigger(name, reason=reason)
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
    reason: ReasonUnlessDry = None,
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
    from leasehold.cli.operating.values import needed
    from leasehold.cli.times import past_moment
    from leasehold.kernel.keys import to_text

    why = "" if dry_run else needed(reason)
    now = session.now()
    start = past_moment(from_, now, what="--from")
    end = past_moment(to, now, what="--to") or now
    assert start is not None
    schedules = session.admin.act.schedules
    missing = [to_text(slot) for slot in schedules.missing_runs(name, start, end, beyond_retention=beyond_retention)]
    if dry_run or not missing:
        document = {"name": name, "dry_run": dry_run, "missing": len(missing), "slots": missing}
        session.out.done(document, _told(missing) if missing else "Every slot has its job.")
        return
    if not yes:
        session.out.hint(_told(missing))
    session.confirm(f"Make {len(missing):,} jobs of {name}?", yes=yes)
    with session.out.progress("backfilling") as progress:
        made = schedules.backfill(name, start, end, reason=why, beyond_retention=beyond_retention, progress=progress)
    session.out.done({"name": name, "made": len(made), "job_ids": list(made)}, f"Made {len(made):,} jobs.")


def _told(missing: list[str]) -> str:
    some = ", ".join(map(short_time, missing[:_SHOWN]))
    return f"Slots without a job: {len(missing):,} ({some}{', …' if len(missing) > _SHOWN else ''})"
