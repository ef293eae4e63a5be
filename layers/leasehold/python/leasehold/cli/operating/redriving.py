"""Redriving: few dead letters by name, many after a look at what it would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from leasehold.admin.acting import DeadLettersWanted
from leasehold.admin.documents import redriven_document
from leasehold.admin.job_documents import dead_letter_document
from leasehold.admin.others import DeadLetterFilter
from leasehold.cli import exits
from leasehold.cli.operating.columns import LETTERS
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.operate.redrive import Redriven

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.cli.session import Session
    from leasehold.kernel.keys import JobId

_SHOWN = 10


def dead_letters_wanted(
    job_type: str | None, start: datetime | None, end: datetime | None, limit: int | None, now: datetime
) -> DeadLettersWanted:
    """What dies after the look was not looked at: it is left out."""
    checked = DeadLetterFilter(job_type=job_type, failed_from=start, failed_to=min(end or now, now))
    if limit is not None and limit < 1:
        raise InvalidOptionError(limit, "a limit is at least 1", "Leave it out for all of them.")
    return DeadLettersWanted(
        job_type=checked.job_type, failed_from=checked.failed_from, failed_to=checked.failed_to, limit=limit
    )


def redrive_matching(session: Session, wanted: DeadLettersWanted, *, reason: str, dry_run: bool, yes: bool) -> None:
    found = session.admin.act.matching_dead_letters(wanted)
    if dry_run or not found:
        _tell_dry_run(session, found, dry_run=dry_run)
        return
    if not yes:
        _show_some(session, found)
    session.confirm(f"Redrive {_count(found)}?", yes=yes)
    with session.out.progress("redriving") as progress:
        results = session.admin.act.redrive_many(
            wanted, reason=reason, progress=lambda done: progress(done, max(done, len(found)))
        )
    _tell_results(session, results)


def redrive_these(session: Session, job_ids: Sequence[str], *, reason: str, dry_run: bool) -> None:
    dead_letters = [session.admin.read.dead_letter(each) for each in job_ids]
    if dry_run:
        _tell_dry_run(session, [each.id for each in dead_letters], dry_run=True)
        return
    if len(job_ids) == 1:
        one = session.admin.act.redrive(job_ids[0], reason=reason)
        session.out.done(redriven_document(one), str(one.job_id))
        return
    _tell_results(session, [_redriven(session, each.id, reason) for each in dead_letters])


def _redriven(session: Session, dead_letter_id: JobId, reason: str) -> Redriven:
    """One that cannot be redriven does not stop the others."""
    try:
        return session.admin.act.redrive(dead_letter_id, reason=reason)
    except LeaseholdError as error:
        return Redriven(dead_letter_id=dead_letter_id, error=error)


def _tell_dry_run(session: Session, found: Sequence[JobId], *, dry_run: bool) -> None:
    if session.out.as_json:
        session.out.document({"dry_run": dry_run, "matching": len(found), "dead_letter_ids": list(found)})
        return
    _show_some(session, found)
    session.out.say(f"Would redrive {_count(found)}." if found else "No open dead letter matches.")


def _show_some(session: Session, found: Sequence[JobId]) -> None:
    if found and not session.out.as_json:
        some = [dead_letter_document(session.admin.read.dead_letter(each)) for each in found[:_SHOWN]]
        session.out.table(LETTERS, some)
        if len(found) > _SHOWN:
            session.out.say(f"… and {len(found) - _SHOWN:,} more")


def _tell_results(session: Session, results: Sequence[Redriven]) -> None:
    refused = [each for each in results if each.error is not None]
    document = {
        "redriven": len(results) - len(refused),
        "refused": len(refused),
        "results": [redriven_document(each) for each in results],
    }
    session.out.done(document, f"Redriven: {len(results) - len(refused):,}. Refused: {len(refused):,}.")
    for each in refused:
        assert each.error is not None
        session.out.hint(f"{each.dead_letter_id}: {each.error.code}: {each.error}")
    if refused:
        raise typer.Exit(exits.REFUSED)


def _count(found: Sequence[JobId]) -> str:
    return f"{len(found):,} dead letter{'' if len(found) == 1 else 's'}"
