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
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.type_options import whole_number
from leasehold.operate.redrive import redrive_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leasehold.admin.others import DeadLetterFilter
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.session import Session
    from leasehold.cli.terminal import Column
    from leasehold.documents import Document
    from leasehold.kernel.errors import LeaseholdError
    from leasehold.kernel.keys import JobId
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.redrive import Redriven

_SHOWN = 10
MAX_CANCELLED = 1000


def redrive_matching(session: Session, wanted: DeadLetterFilter, *, limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise InvalidOptionError(limit, "a limit is at least 1", "Leave it out for all of them.")
    operator = session.admin.queue.operator
    found = [each.id for each in islice(operator.dead_letters(**wanted.as_options), limit)]
    if session.dry_run or not found:
        _tell_dry_run(session, found)
        return
    if not session.yes:
        _show_dead_letters(session, found)
    session.confirm(f"Redrive {counted(len(found), 'dead letter')}?")
    with session.out.progress("redriving") as progress:
        results = operator.redrive_many(
            **wanted.as_options,
            limit=limit,
            reason=session.reason,
            progress=lambda done: progress(done, max(done, len(found))),
        )
    _tell_redriven(session, results)


def redrive_these(session: Session, job_ids: Sequence[str], *, payload_text: str | None = None) -> None:
    if payload_text is not None and len(job_ids) > 1:
        raise InvalidOptionError(len(job_ids), "a payload is that of one dead job", "Name one.")
    found = [session.admin.queue.operator.dead_letter(each) for each in job_ids]
    if session.dry_run:
        _tell_dry_run(session, [each.id for each in found])
    elif len(job_ids) == 1:
        one = session.admin.queue.operator.redrive(job_ids[0], reason=session.reason, payload_text=payload_text)
        session.out.done(redriven_document(one), str(one.job_id))
    else:
        _tell_redriven(session, list(redrive_many(found, session.admin.services, reason=session.reason)))


def _tell_dry_run(session: Session, found: Sequence[JobId]) -> None:
    _show_dead_letters(session, found)
    would = f"Would redrive {counted(len(found), 'dead letter')}." if found else "No open dead letter matches."
    session.out.done({"dry_run": session.dry_run, "matching": len(found), "dead_letter_ids": list(found)}, would)


def _show_dead_letters(session: Session, found: Sequence[JobId]) -> None:
    if not session.out.as_json:
        some = [dead_letter_document(session.admin.queue.operator.dead_letter(each)) for each in found[:_SHOWN]]
        _show_some(session, DEAD_LETTERS, some, len(found))


def _show_some(session: Session, columns: Sequence[Column], some: Sequence[Document], count: int) -> None:
    if some and not session.out.as_json:
        session.out.table(columns, some)
        if count > len(some):
            session.out.say(f"… and {count - len(some):,} more")


def _tell_redriven(session: Session, results: Sequence[Redriven]) -> None:
    refused = [(each.dead_letter_id, each.error) for each in results if each.error is not None]
    _tell_results(session, map(redriven_document, results), refused, redriven=len(results) - len(refused))


def cancel_these(session: Session, job_ids: Sequence[str]) -> None:
    if len(job_ids) == 1:
        one = session.admin.queue.cancel(job_ids[0], reason=session.reason)
        text = "is cancelled" if one.job_ended else "runs, and was asked to stop"
        session.out.done(cancelled_document(one), f"{one.job_id} {text}")
    else:
        _tell_cancelled(session, session.admin.queue.operator.cancel_many(job_ids, reason=session.reason))


def cancel_matching(session: Session, wanted: JobFilter, *, limit: int) -> None:
    """Those that were looked at are cancelled, and nothing that came since."""
    whole_number(limit, "--limit", MAX_CANCELLED, "Run it again for more.")
    check_type(session.admin.services, wanted.job_type)
    jobs, is_complete = session.admin.read.jobs_to_cancel(wanted, limit=limit)
    items = [job_summary(each) for each in jobs]
    more = "" if is_complete else " More may match: run it again for these."
    if session.dry_run or not session.yes:
        _show_some(session, job_columns(session.now()), items[:_SHOWN], len(jobs))
    count = counted(len(jobs), "job")
    if session.dry_run or not jobs:
        document: Document = {"dry_run": session.dry_run, "is_complete": is_complete, "items": items}
        text = f"Would cancel {count}." if jobs else "No job that could be cancelled matches."
        session.out.done(document, f"{text}{more}")
        return
    session.confirm(f"Cancel {count}?")
    with session.out.progress("cancelling") as progress:
        results = session.admin.queue.operator.cancel_many(
            [each.job_id for each in jobs], reason=session.reason, progress=lambda done: progress(done, len(jobs))
        )
    _tell_cancelled(session, results)
    if more:
        session.out.hint(more.strip())


def _tell_cancelled(session: Session, results: Sequence[Cancelled]) -> None:
    refused = [(each.job_id, each.error) for each in results if each.error is not None]
    ended = sum(each.job_ended for each in results)
    asked = len(results) - ended - len(refused)
    _tell_results(session, map(cancelled_document, results), refused, cancelled=ended, asked_to_stop=asked)


def _tell_results(
    session: Session, documents: Iterable[Document], refused: Sequence[tuple[JobId, LeaseholdError]], **counts: int
) -> None:
    counts["refused"] = len(refused)
    text = " ".join(f"{name.replace('_', ' ').capitalize()}: {count:,}." for name, count in counts.items())
    session.out.done({**counts, "results": list(documents)}, text)
    for job_id, error in refused:
        session.out.hint(f"{job_id}: {error.code}: {error}")
    if refused:
        raise typer.Exit(exits.REFUSED)
