"""Redrive and cancel: few by name, many after a look at what it would be."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import typer

from leasehold.admin.documents import cancelled_document, redriven_document
from leasehold.admin.job_documents import dead_letter_document, job_summary
from leasehold.cli import exits
from leasehold.cli.operating.dead_letters import DEAD_LETTERS
from leasehold.cli.operating.jobs import job_columns
from leasehold.cli.options import check_type
from leasehold.cli.terminal import counted
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.operate.redrive import Redriven

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.admin.job_documents import Document
    from leasehold.admin.others import DeadLetterFilter
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.session import Session
    from leasehold.kernel.keys import JobId
    from leasehold.operate.jobs import Cancelled

_SHOWN = 10
MAX_CANCELLED = 1000


def redrive_matching(
    session: Session, wanted: DeadLetterFilter, *, limit: int | None, reason: str, dry_run: bool, yes: bool
) -> None:
    if limit is not None and limit < 1:
        raise InvalidOptionError(limit, "a limit is at least 1", "Leave it out for all of them.")
    operator = session.admin.queue.operator
    found = [each.id for each in islice(operator.dead_letters(**wanted.as_options), limit)]
    if dry_run or not found:
        _tell_dry_run(session, found, dry_run=dry_run)
        return
    if not yes:
        _show_dead_letters(session, found)
    session.confirm(f"Redrive {counted(len(found), 'dead letter')}?", yes=yes)
    with session.out.progress("redriving") as progress:
        results = operator.redrive_many(
            **wanted.as_options, limit=limit, reason=reason, progress=lambda done: progress(done, max(done, len(found)))
        )
    _tell_redriven(session, results)


def redrive_these(
    session: Session, job_ids: Sequence[str], *, reason: str, dry_run: bool, payload_text: str | None = None
) -> None:
    if payload_text is not None and len(job_ids) > 1:
        raise InvalidOptionError(len(job_ids), "a payload is that of one dead job", "Name one.")
    found = [session.admin.read.dead_letter(each).id for each in job_ids]
    if dry_run:
        _tell_dry_run(session, found, dry_run=True)
    elif len(job_ids) == 1:
        one = session.admin.queue.operator.redrive(job_ids[0], reason=reason, payload_text=payload_text)
        session.out.done(redriven_document(one), str(one.job_id))
    else:
        _tell_redriven(session, [_redriven(session, each, reason) for each in found])


def _redriven(session: Session, dead_letter_id: JobId, reason: str) -> Redriven:
    """One that cannot be redriven does not stop the others."""
    try:
        return session.admin.queue.operator.redrive(dead_letter_id, reason=reason)
    except LeaseholdError as error:
        return Redriven(dead_letter_id=dead_letter_id, error=error)


def _tell_dry_run(session: Session, found: Sequence[JobId], *, dry_run: bool) -> None:
    if session.out.as_json:
        session.out.document({"dry_run": dry_run, "matching": len(found), "dead_letter_ids": list(found)})
        return
    _show_dead_letters(session, found)
    would = f"Would redrive {counted(len(found), 'dead letter')}."
    session.out.say(would if found else "No open dead letter matches.")


def _show_dead_letters(session: Session, found: Sequence[JobId]) -> None:
    if found and not session.out.as_json:
        some = [dead_letter_document(session.admin.read.dead_letter(each)) for each in found[:_SHOWN]]
        session.out.table(DEAD_LETTERS, some)
        _say_more(session, len(found))


def _say_more(session: Session, count: int) -> None:
    if count > _SHOWN:
        session.out.say(f"… and {count - _SHOWN:,} more")


def _tell_redriven(session: Session, results: Sequence[Redriven]) -> None:
    refused = [(each.dead_letter_id, each.error) for each in results if each.error is not None]
    counts = {"redriven": len(results) - len(refused), "refused": len(refused)}
    _tell_results(session, counts, [redriven_document(each) for each in results], refused)


def cancel_these(session: Session, job_ids: Sequence[str], *, reason: str) -> None:
    if len(job_ids) == 1:
        one = session.admin.queue.cancel(job_ids[0], reason=reason)
        text = "is cancelled" if one.job_ended else "runs, and was asked to stop"
        session.out.done(cancelled_document(one), f"{one.job_id} {text}")
        return
    _tell_cancelled(session, session.admin.queue.operator.cancel_many(job_ids, reason=reason))


def cancel_matching(session: Session, wanted: JobFilter, *, reason: str, limit: int, dry_run: bool, yes: bool) -> None:
    """Those that were looked at are cancelled, and nothing that came since."""
    if not 1 <= limit <= MAX_CANCELLED:
        raise InvalidOptionError(
            limit, f"at most {MAX_CANCELLED:,} jobs are cancelled at once", "Run it again for more."
        )
    check_type(session.admin.services, wanted.job_type)
    found = session.admin.read.jobs_to_cancel(wanted, limit=limit)
    jobs, items = found.jobs, [job_summary(each) for each in found.jobs]
    more = "" if found.is_complete else " More may match: run it again for these."
    if session.out.as_json and (dry_run or not jobs):
        session.out.document({"dry_run": dry_run, "is_complete": found.is_complete, "items": items})
        return
    if jobs and not session.out.as_json and (dry_run or not yes):
        session.out.table(job_columns(session.now()), items[:_SHOWN])
        _say_more(session, len(jobs))
    count = counted(len(jobs), "job")
    if dry_run or not jobs:
        session.out.say(f"Would cancel {count}.{more}" if jobs else f"No job that could be cancelled matches.{more}")
        return
    session.confirm(f"Cancel {count}?", yes=yes)
    with session.out.progress("cancelling") as progress:
        results = session.admin.queue.operator.cancel_many(
            [each.job_id for each in jobs], reason=reason, progress=lambda done: progress(done, len(jobs))
        )
    _tell_cancelled(session, results)
    if more:
        session.out.hint(more.strip())


def _tell_cancelled(session: Session, results: Sequence[Cancelled]) -> None:
    refused = [(each.job_id, each.error) for each in results if each.error is not None]
    ended = sum(each.job_ended for each in results)
    counts = {"cancelled": ended, "asked_to_stop": len(results) - ended - len(refused), "refused": len(refused)}
    _tell_results(session, counts, [cancelled_document(each) for each in results], refused)


def _tell_results(
    session: Session, counts: dict[str, int], documents: list[Document], refused: Sequence[tuple[JobId, LeaseholdError]]
) -> None:
    text = " ".join(f"{name.replace('_', ' ').capitalize()}: {count:,}." for name, count in counts.items())
    session.out.done({**counts, "results": documents}, text)
    for job_id, error in refused:
        session.out.hint(f"{job_id}: {error.code}: {error}")
    if refused:
        raise typer.Exit(exits.REFUSED)
