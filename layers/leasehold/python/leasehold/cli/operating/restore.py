"""`leasehold restore`: the way back from a point-in-time recovery or an export."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from leasehold.cli.command import command
from leasehold.cli.options import past_moment
from leasehold.cli.session import Asking, Previewing, Session

if TYPE_CHECKING:
    from leasehold.restore.settle import Report

app = typer.Typer(no_args_is_help=True, help="The way back from a disaster: export, load, settle.")

_Folder = Annotated[Path, Argument(metavar="FOLDER", help="The folder with the files of both tables.")]


@command(app, "leasehold restore export before-the-move")
def export(session: Session, folder: _Folder) -> None:
    """Write both tables into a folder, in the lines of DynamoDB's own exports. Reads everything: halt first."""
    from leasehold.restore.files import export as write

    with session.out.progress("exporting") as progress:
        count = write(folder, session.admin.services, progress=progress)
    session.out.done({"folder": str(folder), "records": count}, f"Wrote {count:,} records to {folder}.")


@command(app, "leasehold restore load before-the-move --queue prod2 --reason 'we move to Ireland'")
def load(session: Asking, folder: _Folder) -> None:
    """Fill the tables of a deployment from an export. It is halted first, and what is there is never overwritten."""
    from leasehold.restore.files import load as fill

    services = session.admin.services
    session.confirm(f"Halt {services.store.table.name} and load {folder} into it?")
    with session.out.progress("loading") as progress:
        loaded = fill(folder, services, reason=session.reason, progress=progress)
    text = (
        f"Loaded {loaded.loaded:,} records; {loaded.there:,} were there. It is halted. Next: leasehold restore settle"
    )
    session.out.done({"loaded": loaded.loaded, "there": loaded.there, "halted": True}, text)


@command(app, "leasehold restore settle --at 2026-11-15T09:30Z --old old-tables --reason 'the bad deploy'")
def settle(
    session: Previewing,
    *,
    at: Annotated[str, Option(help="The moment that was restored: a time, or how long ago: 2h.")],
    old: Annotated[
        Path | None, Option(metavar="FOLDER", help="An export of the old tables, where they can still be read.")
    ] = None,
    unknown: Annotated[
        str | None,
        Option(metavar="run|cancel", help="What becomes of jobs of which nobody knows whether they ran since."),
    ] = None,
) -> None:
    """Find the jobs that ran after the restored moment, and cancel them: none is run again without being asked.

    Halts first; it stays halted until `leasehold resume`. Run one again with `leasehold retry`.
    """
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.restore.settle import Unknown, look
    from leasehold.restore.settle import settle as put_right

    if unknown not in {None, *Unknown}:
        raise InvalidOptionError(unknown, "--unknown says what becomes of such jobs", "Use run or cancel.")
    moment = past_moment(at, session.now(), what="--at")
    services = session.admin.services
    if session.dry_run:
        report = look(moment, services, old=old)
    else:
        session.confirm(f"Halt {services.store.table.name} and cancel the jobs that ran since {at}?")
        chosen = None if unknown is None else Unknown(unknown)
        report = put_right(moment, services, reason=session.reason, old=old, unknown=chosen)
    session.out.done({"dry_run": session.dry_run, **_document(report)}, *_told(report, dry_run=session.dry_run))


def _document(report: Report) -> dict[str, object]:
    from leasehold.kernel.keys import to_text

    document = asdict(report) | {"at": to_text(report.at)}
    for found in (*document["ran"], *document["made"], *document["unknown"]):
        found["ran_at"] = to_text(found["ran_at"]) if found["ran_at"] else None
    return document


def _told(report: Report, *, dry_run: bool) -> list[str]:
    return [
        f"{len(report.ran):,} jobs ran since and {'would be' if dry_run else 'are'} cancelled here:",
        *(f"  {each.job_id}  {each.job_type}  {each.then} then, {each.since} since" for each in report.ran),
        f"{len(report.made):,} jobs were made since, and are only in the old tables:",
        *(f"  {each.job_id}  {each.job_type}  {each.since}" for each in report.made),
        f"{len(report.unknown):,} jobs were due since, and nobody knows whether they ran:",
        *(f"  {each.job_id}  {each.job_type}  {each.then}" for each in report.unknown),
        f"{len(report.schedules):,} schedules go on with their next slot: {', '.join(report.schedules) or 'none'}",
        f"{report.goes_on:,} other jobs go on when you resume: leasehold resume",
    ]
