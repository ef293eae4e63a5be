"""`leasehold audit`: who did what, when and why; and whether the trail is as it was written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from leasehold.cli import exits
from leasehold.cli.command import command
from leasehold.cli.options import Pages
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Session
from leasehold.cli.terminal import Column, counted

if TYPE_CHECKING:
    from leasehold.audit.roots import Flaw, KeptRoots
    from leasehold.documents import Document

app = typer.Typer(no_args_is_help=True, help="Who did what, when and why: list, verify.")

_Target = Annotated[
    str | None,
    Option(
        metavar="TARGET",
        help="One target: a job's id, or job#ID, dead-letter#ID, schedule#NAME, template#NAME, group#ID, control#halt.",
    ),
]


AUDIT = (
    Column("at", "at", rank=0),
    Column("action", "action", rank=0),
    Column("target", "target", rank=0),
    Column("by", "by", rank=2, stretches=True),
    Column("reason", "reason", rank=1, stretches=True),
)


@command(app, "leasehold audit list --target schedule#nightly")
def list_(session: Session, *, target: _Target = None, pages: Pages) -> None:
    """List audit entries, the newest first, of one target or all."""
    from leasehold.admin.documents import audit_document

    fetch = partial(session.admin.audit.records, _named(target))
    list_pages(fetch, audit_document, AUDIT, session.out, pages)


_Roots = Annotated[
    str | None,
    Option(
        metavar="PLACE",
        help="Where the daily roots are: a bucket, or a folder with a copy of it; by default the deployment's own.",
    ),
]
_WithoutRoots = Annotated[
    bool, Option("--without-roots", help="Check the chains only, e.g. without rights to the bucket.")
]


@command(app, "leasehold audit verify")
def verify(
    session: Session, *, target: _Target = None, roots: _Roots = None, without_roots: _WithoutRoots = False
) -> None:
    """Check that no entry was edited, removed, reordered or cut off, and the daily roots; ends with 6 if one was.

    Chains show edits; only the roots, which are kept outside of the table, show that a whole trail was written anew.
    Their first versions count: later ones, deletions and missing days are findings.
    """
    from leasehold.admin.documents import trail_document
    from leasehold.audit.roots import check_roots

    checked = 0
    found: dict[str, list[Flaw]] = {}
    with session.out.progress("verifying") as progress:
        for checked, (name, flaws) in enumerate(session.admin.audit.verify(_named(target)), 1):
            progress(checked, None)
            found |= {name: flaws} if flaws else {}
    kept = None if without_roots else _kept_in(roots, session)
    for flaw in check_roots(kept, session.admin.services) if kept else ():
        found.setdefault(flaw.target, []).append(flaw)
    document: Document = {
        "checked": checked,
        "roots": len(kept.roots) if kept else 0,
        "roots_from": kept.place if kept else None,
        "is_sound": not found,
        "flawed": [trail_document(name, flaws) for name, flaws in found.items()],
    }
    problems = (f"{name}: {'; '.join(each.problem for each in flaws)}" for name, flaws in found.items())
    with_roots = f" and {counted(len(kept.roots), 'daily root')} from {kept.place}" if kept else ""
    session.out.done(document, *problems, f"{counted(checked, 'trail')}{with_roots} checked, {len(found):,} flawed.")
    if kept is None:
        session.out.hint("Without daily roots: a trail that was written anew from its beginning does not show.")
    if found:
        raise typer.Exit(exits.FLAWED)


def _kept_in(place: str | None, session: Session) -> KeptRoots | None:
    """The roots at a place that is named, or in the deployment's own bucket; None where there is none."""
    from pathlib import Path

    from leasehold.aws.archive import RootFolder
    from leasehold.kernel.errors import InvalidOptionError

    bucket = session.admin.audit.root_bucket() if place is None else place.removeprefix("s3://").removesuffix("/roots/")
    if bucket is None:
        return None
    folder = Path(place or "")
    if "/" in bucket and not folder.is_dir():
        raise InvalidOptionError(place, "there is no such folder", "Name a folder that exists, or a bucket.")
    archive = RootFolder(folder) if place and folder.is_dir() else session.root_archive(bucket)
    kept = archive.read()
    if place is not None and not kept.roots and not kept.flaws:
        # Nothing to compare with must not look like nothing amiss.
        raise InvalidOptionError(place, "no roots are kept there", "Name the bucket of the stack, or a copy of it.")
    return kept


def _named(target: str | None) -> str | None:
    """A bare job id is a target too."""
    from leasehold.kernel.keys import parse_job_id

    return target if target is None or "#" in target else f"job#{parse_job_id(target)}"
