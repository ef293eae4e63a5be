"""`leasehold logs`: what was logged about one job, in any deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from leasehold.cli.command import LOOK, command
from leasehold.cli.operating.options import JobIdArgument
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.aws.job_logs import JobLogLine
    from leasehold.verify.site import Site

app = typer.Typer()


@command(app, "logs", rich_help_panel=LOOK, example="leasehold logs 01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d --queue dev")
def logs(session: Session, job_id: JobIdArgument) -> None:
    """Print what the handler and the poller logged about a job: time, level, function, message.

    It finds the lines that name the job: all of ours, and what its handler writes by `context.logger`.
    """
    from leasehold.aws.job_logs import job_log_lines
    from leasehold.kernel.keys import to_text

    site = session.site()
    job = site.queue.get(job_id)
    until = job.completed_at or session.now()
    lines = job_log_lines(
        job.job_id, _groups(site, job.job_type), site.client("logs"), since=job.created_at, until=until
    )
    for line in lines:
        if session.out.as_json:
            session.out.document(
                {
                    "at": to_text(line.at),
                    "level": line.level,
                    "function": line.function,
                    "message": line.message,
                    "fields": dict(line.fields),
                    **({"text": line.text} if line.text else {}),
                }
            )
        else:
            for each in shown(line):
                session.out.say(each)
    if not lines:
        session.out.hint(
            f"No line names it. It is {job.status}; CloudWatch shows lines some seconds after they were written, and "
            "keeps them as long as log_retention says."
        )


def _groups(site: Site, job_type: str) -> dict[str, str]:
    """The log groups of a type's handler, and of the poller."""
    return {
        each.job_type or each.kind: each.configuration.get("LoggingConfig", {}).get("LogGroup")
        or f"/aws/lambda/{each.name}"
        for each in site.functions
        if each.kind == "poller" or each.job_type == job_type
    }


def shown(line: JobLogLine) -> list[str]:
    """Time, level, function and message; below it, what it has to say in several lines."""
    # Of a traceback, the last line says what it was.
    details = " ".join(f"{name}={str(value).rstrip().rpartition('\n')[2]}" for name, value in line.fields.items())
    at = f"{line.at:%Y-%m-%d %H:%M:%S}.{line.at.microsecond // 1000:03d}Z"
    first = f"{at}  {line.level:<7}  {line.function}  {line.message}{f'  {details}' if details else ''}"
    return [first, *(f"    {each}" for each in (line.text or "").splitlines())]
