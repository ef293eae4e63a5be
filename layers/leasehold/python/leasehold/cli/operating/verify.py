"""`leasehold verify`: prove a deployment on its own account."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Option

from leasehold.cli import exits
from leasehold.cli.command import command
from leasehold.cli.session import Session
from leasehold.cli.terminal import Column

if TYPE_CHECKING:
    from leasehold.documents import Document
    from leasehold.verify.report import Report

app = typer.Typer()

_COLUMNS = (
    Column("phase", "phase"),
    Column("check", "name"),
    Column("outcome", "outcome"),
    Column("took", lambda each: f"{each['seconds']:.1f} s"),
    Column("what was seen", "detail"),
)


@command(app, "leasehold verify --queue dev")
def verify(
    session: Annotated[Session, "yes"],
    *,
    phase: Annotated[
        list[str] | None,
        Option(metavar="PHASE", help="Only this phase (repeat it for more): preflight, probe, flow, watch."),
    ] = None,
    output: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write the report here, redacted: for docs/real-aws, or to show to others."),
    ] = None,
) -> None:
    """Prove this deployment on its account: settings, rights, statements, real jobs, metrics. Asks first.

    Ends with 6 if anything is not as it should be, and says what.
    """
    import json

    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.verify.run import CHOSEN, WHAT_IT_DOES
    from leasehold.verify.run import verify as prove

    unknown = [each for each in phase or () if each not in CHOSEN]
    if unknown:
        raise InvalidOptionError(unknown[0], "there is no such phase", f"Use {', '.join(CHOSEN)}.")
    site = session.site()
    for line in WHAT_IT_DOES.format(queue=site.name).splitlines():
        session.out.hint(line)
    session.confirm(f"Verify {site.name}?")
    report = prove(site, phases=phase or CHOSEN, say=session.out.hint)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(report.redacted(), indent=2) + "\n")
    _show(session, report)
    if report.wrong:
        raise typer.Exit(exits.FLAWED)


def _show(session: Session, report: Report) -> None:
    document = report.document()
    if not session.out.as_json:
        session.out.table(_COLUMNS, cast("list[Document]", document["checks"]))
    because = "Not proven: see what is wrong or was not shown."
    if report.engine != "AWS":
        because = f"Not proven on AWS: this ran on {report.engine}."
    session.out.done(
        document,
        f"{len(report.wrong)} of {len(report.checks)} checks found something wrong.",
        *(f"  {each.phase}: {each.name}: {each.detail}" for each in report.wrong),
        "Left behind:" if report.leftovers else "Nothing is left behind.",
        *(f"  {left}" for left in report.leftovers),
        "Proven on AWS." if report.is_proven else because,
    )
