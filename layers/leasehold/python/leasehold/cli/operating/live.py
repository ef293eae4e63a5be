"""The live view of `leasehold top`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from rich.console import Group
from rich.live import Live
from rich.text import Text

from leasehold.cli.operating.jobs import job_columns
from leasehold.cli.operating.overview import TYPES, headlines, live_overview, rows_by_type
from leasehold.cli.terminal import clean, fitting_table, length, short_time, table_of
from leasehold.kernel.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType

    from leasehold.cli.session import Session
    from leasehold.cli.terminal import Column
    from leasehold.documents import Document

_BARS = " ▁▂▃▄▅▆▇█"


def watch(session: Session, interval: timedelta, *, once: bool) -> None:
    """Print each look: on a terminal in place, as JSON one a line; elsewhere once."""
    console, now = session.out.console, session.now()
    # The first look may fail like any command; a later one is told in its place, and tried again.
    shown = live_overview(session.admin, now)
    if session.out.as_json:
        session.out.document(shown)
        while not once:
            session.clock.sleep(interval)
            session.out.document(live_overview(session.admin, session.now()))
    elif once or not console.is_terminal:
        console.print(render(shown, now, console))
    else:
        live = Live(render(shown, now, console), console=console, screen=True, auto_refresh=False)
        try:
            with live:
                while True:
                    session.clock.sleep(interval)
                    now, trouble = session.now(), ""
                    try:
                        shown = live_overview(session.admin, now)
                    except StoreError as error:
                        trouble = clean(f"{error.code}: {error}")
                    live.update(render(shown, now, console, trouble=trouble), refresh=True)
        finally:
            # Ctrl-C while the first frame is painted comes before `with` could undo what it began.
            live.stop()


def render(document: Document, now: datetime, console: Console, *, trouble: str = "") -> RenderableType:
    lines: list[RenderableType] = [Text(f"leasehold  {short_time(str(document['at']))}  (Ctrl-C ends)", style="dim")]
    if trouble:
        lines.append(Text(f"{trouble}; trying again", style="bold red"))
    lines += [Text(line, style=style) for line, style in headlines(document, now)]
    lines += _last_hour(cast("dict[str, Any] | None", document.get("last_hour")), console.width)
    lines += [Text(""), _table(TYPES, rows_by_type(document, now), console)]
    running = cast("dict[str, Any]", document["running"])
    if running["items"]:
        more = "+" if "cursor" in running else ""
        lines += [
            Text(f"\nrunning: {len(running['items'])}{more}", style="bold"),
            _table(job_columns(now), running["items"], console),
        ]
    return Group(*lines)


def _last_hour(hour: dict[str, Any] | None, width: int) -> list[RenderableType]:
    if hour is None:
        return []
    ended = [sum(minute["ended"].values()) for minute in hour["minutes"]]
    line = f"ended in the last hour: {sum(ended):,}"
    lateness = hour.get("lateness")
    if lateness:
        late = {name: length(timedelta(seconds=lateness[name])) for name in ("median", "p95")}
        line += f"; started late by {late['median']} (median), {late['p95']} (p95)"
    # The latest minutes, where there is no room for all.
    return [Text(line), Text(f"▕{sparkline(ended[-(width - 2) :])}▏", no_wrap=True)]


def sparkline(values: Sequence[int]) -> str:
    """
    >>> sparkline([0, 1, 4, 8])
    ' ▁▄█'
    """
    highest = max(values, default=0)
    steps = len(_BARS) - 1
    return "".join(_BARS[-(-value * steps // highest) if highest else 0] for value in values)


def _table(columns: Sequence[Column], documents: Sequence[Document], console: Console) -> RenderableType:
    # Narrower than an id: the fields that are always shown, cut short.
    always = [each for each in columns if not each.rank]
    return fitting_table(columns, documents, console.width) or table_of(always, documents, max_width=10)
