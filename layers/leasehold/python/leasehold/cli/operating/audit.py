"""`leasehold audit`: who did what, when and why; and whether the trail is as it was written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli import exits
from leasehold.cli.command import command
from leasehold.cli.operating.options import Cursor, Everything, Limit
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.engine.audit_root import Root

app = typer.Typer(no_args_is_help=True, help="Who did what, when and why: list, verify.")

_Target = Annotated[
    str | None,
    typer.Option(
        metavar="TARGET",
        help="One target: a job's id, or job#ID, dead-letter#ID, schedule#NAME, template#NAME, group#ID, control#halt.",
    ),
]


@command(app, "list", example="leasehold audit list --target schedule#nightly")
def list_records(
    session: Session,
    *,
    target: _Target = None,
    limit: Limit = DEFAULT_LIMIT,
    everything: Everything = False,
    cursor: Cursor = None,
) -> None:
    """List audit records, the newest first, of one target or all."""
    from leasehold.admin.documents import audit_document
    from leasehold.cli.operating.columns import AUDIT

    fetch = partial(session.admin.audit.records, _named(target))
    list_pages(fetch, audit_document, AUDIT, session.out, limit=limit, cursor=cursor, everything=everything)


_Roots = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="Check the daily roots too: the bucket where they are kept, or a folder with a copy of it.",
    ),
]


@command(app, "verify", example="leasehold audit verify")
def verify(session: Session, *, target: _Target = None, roots: _Roots = None) -> None:
    """Check that no record was edited, removed, reordered or cut off; ends with 6 if one was."""
    from leasehold.admin.deed_documents import trail_document

    checked, flawed = 0, []
    with session.out.progress("verifying") as progress:
        for name, flaws in session.admin.audit.verify(_named(target)):
            checked += 1
            progress(checked, None)
            if flaws:
                flawed.append(trail_document(name, flaws))
    kept = [] if roots is None else _kept_in(roots)
    flawed += [
        {"target": f"root of {root.at.date()}", "problems": ["the trails of that day no longer lead to it"]}
        for root in session.admin.audit.broken_roots(kept)
    ]
    if session.out.as_json:
        session.out.document({"checked": checked, "roots": len(kept), "is_sound": not flawed, "flawed": flawed})
    else:
        for trail in flawed:
            session.out.say(f"{trail['target']}: {'; '.join(map(str, trail['problems']))}")  # type: ignore[call-overload]
        with_roots = f" and {_counted(len(kept), 'daily root')}" if kept else ""
        session.out.say(f"{_counted(checked, 'trail')}{with_roots} checked, {len(flawed):,} flawed.")
    if flawed:
        raise typer.Exit(exits.FLAWED)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _kept_in(place: str) -> list[Root]:
    from pathlib import Path

    from leasehold.aws.audit_roots import RootFolder, open_bucket
    from leasehold.domain.errors import InvalidOptionError

    folder = Path(place)
    if "/" in place.removeprefix("s3://") and not folder.is_dir():
        raise InvalidOptionError(place, "there is no such folder", "Name a folder that exists, or a bucket.")
    roots = list((RootFolder(folder) if folder.is_dir() else open_bucket(place.removeprefix("s3://"))).all())
    if not roots:
        # Nothing to compare with must not look like nothing amiss.
        raise InvalidOptionError(place, "no roots are kept there", "Name the bucket of the stack, or a copy of it.")
    return roots


def _named(target: str | None) -> str | None:
    """A bare job id is a target too."""
    from leasehold.domain.ids import parse_job_id

    return target if target is None or "#" in target else f"job#{parse_job_id(target)}"
