"""`leasehold enqueue`: put one job into the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli.command import OPERATE, command
from leasehold.cli.operating.options import PayloadFileOption, PayloadOption, PriorityOption, Reason, complete_job_type
from leasehold.cli.session import Session

app = typer.Typer()


@command(
    app,
    "enqueue",
    rich_help_panel=OPERATE,
    example="""leasehold enqueue daily_summary --payload '{"user_id": "ada"}' --in 2h --reason 'ada asked'""",
)
def enqueue(
    session: Session,
    job_type: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE", help="The job type; may be left to --template.", autocompletion=complete_job_type
        ),
    ] = None,
    *,
    reason: Reason = "",
    payload: PayloadOption = None,
    payload_file: PayloadFileOption = None,
    template: Annotated[str | None, typer.Option(help="Take type, payload and options from this template.")] = None,
    at: Annotated[str | None, typer.Option(help="When, e.g. 2026-11-15T09:30Z; now by default.")] = None,
    in_: Annotated[str | None, typer.Option("--in", help="After so long, e.g. 2h.")] = None,
    start_by: Annotated[str | None, typer.Option(help="Not after this time: a job that is late is cancelled.")] = None,
    dedup_key: Annotated[str | None, typer.Option(help="At most one job with this key.")] = None,
    dedup_window: Annotated[
        str | None, typer.Option(help="day, day:Europe/Berlin, or a time like 24h; until it ends by default.")
    ] = None,
    on_duplicate: Annotated[
        str, typer.Option(help="If the key is taken: return_existing, raise or replace.")
    ] = "return_existing",
    priority: PriorityOption = None,
    max_attempts: Annotated[int | None, typer.Option(help="How often it is tried.")] = None,
    retry_delays: Annotated[str | None, typer.Option(help="Delays of its own, e.g. 10s,1m,5m.")] = None,
    concurrency_key: Annotated[str | None, typer.Option(help="What limits per key count.")] = None,
    webhook: Annotated[str | None, typer.Option(help="An https address that is told of each run's end.")] = None,
) -> None:
    """Put a job into the queue, now or for later; prints its id."""
    from leasehold.admin.documents import enqueued_document
    from leasehold.cli.operating.values import (
        parse_delays,
        parse_on_duplicate,
        parse_priority,
        parse_window,
        read_payload,
    )
    from leasehold.cli.times import length_of, moment
    from leasehold.kernel.enqueue import NewJob

    wanted = NewJob(
        job=job_type,
        payload=read_payload(payload, payload_file),
        template=template,
        run_at=moment(at, what="--at"),
        run_in=None if in_ is None else length_of(in_, what="--in"),
        start_by=moment(start_by, what="--start-by"),
        dedup_key=dedup_key,
        dedup_window=parse_window(dedup_window),
        priority=parse_priority(priority),
        max_attempts=max_attempts,
        retry=parse_delays(retry_delays),
        concurrency_key=concurrency_key,
        webhook=webhook,
    )
    made = session.admin.queue.operator.enqueue(wanted, reason=reason, on_duplicate=parse_on_duplicate(on_duplicate))
    session.out.done(enqueued_document(made), made.job_id)
    if not made.created:
        session.out.hint("The dedup key is taken: this is the job that holds it.")
    if made.replaced:
        session.out.hint(f"It replaces {made.replaced}, which was cancelled.")
