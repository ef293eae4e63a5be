"""Tables on wide, narrow and no terminals; cells; times as people type them."""

from __future__ import annotations

import importlib
import pkgutil
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from leasehold import cli
from leasehold.admin.pages import Page
from leasehold.cli.operating.dead_letters import DEAD_LETTERS
from leasehold.cli.operating.jobs import job_columns
from leasehold.cli.options import Pages, length_of, moment, past_moment
from leasehold.cli.output import Output
from leasehold.cli.pages import list_pages
from leasehold.cli.terminal import Column, cell, clean, show_details, show_table
from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.documents import Document

NARROW = ["job", "type", "status"]
NOW = datetime(2026, 1, 8, tzinfo=UTC)
JOB: Document = {
    "job_id": "019b7711-9680-8000-a556-219f5ba91faf",
    "job_type": "daily_summary",
    "status": "dead_letter",
    "priority": 1,
    "ended_at": "2026-01-01T01:00:00.000Z",
    "attempts": 1,
    "max_attempts": 5,
    "error": "ValueError: " + "x" * 100,
}


def shown(width: int, *, terminal: bool = True, **options: object) -> list[str]:
    output = StringIO()
    console = Console(file=output, force_terminal=terminal, width=width, **options)  # type: ignore[arg-type]
    show_table(job_columns(NOW), [JOB], console)
    return output.getvalue().splitlines()


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (200, [*NARROW, "when", *["due", "or", "ended", "attempts", "priority", "held", "by", "key", "error"]]),
        (120, [*NARROW, "when", "due", "or", "ended", "error"]),
        (100, [*NARROW, "when", "error"]),
        (80, [*NARROW, "when"]),
        (70, NARROW),
    ],
)
def test_the_narrower_a_terminal_the_fewer_columns_and_no_id_is_ever_cut(width: int, titles: list[str]):
    header, row = shown(width, no_color=True, color_system=None)

    assert header.split() == titles
    assert row.startswith(str(JOB["job_id"]))
    assert max(map(len, (header.rstrip(), row.rstrip()))) <= width


def test_where_not_even_the_ids_fit_each_value_has_its_line():
    lines = shown(40, no_color=True, color_system=None)

    assert lines[:3] == [f"job: {JOB['job_id']}", "type: daily_summary", "status: dead_letter"]


def test_a_pipe_gets_every_column_nothing_cut_and_no_colour():
    header, row = shown(40, terminal=False)

    assert header.split()[-1] == "error"
    assert row.endswith("x" * 100)
    assert "\x1b" not in header + row


def test_a_terminal_gets_colours_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in shown(200)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in shown(200)[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "yes"),
        ("2026-01-01T01:00:00.000Z", "2026-01-01 01:00:00Z"),
        (["a", "b"], "a, b"),
        ({"a": 1}, '{"a": 1}'),
        (1.0, "1"),
        ("[red]not markup[/red]", "[red]not markup[/red]"),
    ],
)
def test_a_value_is_written_as_people_read_it(value: object, text: str):
    assert cell(value) == text


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x07", "\x9b31m", "\r", "\u202e", "\x00"])
def test_nothing_in_a_value_can_speak_to_the_terminal(evil: str):
    assert evil not in clean(f"a{evil}b")


def test_markup_in_a_value_stays_text():
    output = StringIO()
    show_table([Column("x", "x", rank=0)], [{"x": "[bold]b[/bold]"}], Console(file=output, force_terminal=True))

    assert "[bold]b[/bold]" in output.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("2h", NOW - timedelta(hours=2)),
        ("7d", datetime(2026, 1, 1, tzinfo=UTC)),
        ("1w", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T09:30Z", datetime(2026, 1, 1, 9, 30, tzinfo=UTC)),
        ("2026-01-01T09:30+01:00", datetime(2026, 1, 1, 8, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_iso_or_how_long_ago(text: str, expected: datetime):
    assert past_moment(text, NOW, what="--since") == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2x", "-2h", "999999w", "h", "2026-13-01", "0001-01-01"])
def test_what_is_no_time_is_refused_by_the_name_of_its_option(text: str):
    with pytest.raises(InvalidInputError, match="--since"):
        past_moment(text, NOW, what="--since")


def test_a_time_without_a_timezone_is_refused_as_the_sdk_and_the_api_do():
    with pytest.raises(InvalidInputError, match=r"--at has no timezone.*2026-01-01T09:30Z"):
        moment("2026-01-01T09:30", what="--at")


def test_a_future_time_is_not_how_long_ago():
    with pytest.raises(InvalidInputError, match="--at is no time"):
        moment("2h", what="--at")
    with pytest.raises(InvalidInputError, match="--in is a length of time"):
        length_of("2 fortnights", what="--in")


def test_whoever_interrupts_bulk_work_is_told_how_far_it_came(capsys: pytest.CaptureFixture[str]):
    def work() -> None:
        with Output(as_json=False).progress("redriving") as progress:
            progress(3, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()

    assert capsys.readouterr().err == "Interrupted while redriving: 3 done. Run it again to go on.\n"


# As long as a time, with a T and a Z where a time has them.
ESCAPES = "\x1b]0;owned\x07T\x1b[2J\x1b[1;1H..Z"


def test_a_text_that_is_built_like_a_time_is_cleaned_like_any_other() -> None:
    assert (len(ESCAPES), ESCAPES[10], ESCAPES[-1]) == (len("2026-11-15T09:30:00.000Z"), "T", "Z")

    assert cell(ESCAPES) == clean(ESCAPES)
    assert "\x1b" not in cell(ESCAPES)


class Hostile(dict[str, Any]):
    """A document whose every field, whatever a column asks for, speaks to the terminal; but for what is counted."""

    def __missing__(self, name: str) -> object:
        return ESCAPES

    def get(self, name: str, default: object = None) -> Any:
        return self[name]


def _listings() -> dict[str, Sequence[Column]]:
    """The columns of every listing of the command line: found, not named, so that none is forgotten."""
    found: dict[str, Sequence[Column]] = {}
    for module in pkgutil.walk_packages(cli.__path__, "leasehold.cli."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, tuple) and value and isinstance(value[0], Column):
                found[name] = value
            elif name.endswith("_columns") and callable(value):
                found[name] = value(NOW)
    return found


LISTINGS = _listings()


def test_terminal_escapes_stay_out_of_every_cell_of_every_listing() -> None:
    hostile = Hostile({ESCAPES: ESCAPES, "next_runs": [ESCAPES], "total": 2, "left": 1, "seconds": 1.0})

    cells = {(name, each.title): each.text(hostile) for name, columns in LISTINGS.items() for each in columns}

    assert len(LISTINGS) >= 11, sorted(LISTINGS)
    assert {where for where, text in cells.items() if not text.isprintable()} == set()
    # Most show what they were given, so there was something to clean.
    assert sum("x1b" in text for text in cells.values()) > len(cells) / 2


def test_neither_a_hint_nor_the_fields_of_a_thing_speak_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output = StringIO()

    Output(as_json=False).hint(f"{ESCAPES}: no such job")
    show_details({ESCAPES: ESCAPES}, Console(file=output, force_terminal=False))

    assert "\x1b" not in capsys.readouterr().err + output.getvalue()


@pytest.mark.parametrize("everything", [True, False])
def test_what_cannot_be_read_is_named_below_the_list_and_a_line_of_its_own_for_programs(
    capsys: pytest.CaptureFixture[str], everything: bool
) -> None:
    unreadable = Unreadable(key="schedule nightly", problem="KeyError: 'cron' \x1b[2J")
    page = Page(items=(JOB,), unreadable=(unreadable,))

    for as_json in (False, True):
        list_pages(
            lambda **_: page,
            lambda job: job,
            DEAD_LETTERS,
            Output(as_json=as_json),
            Pages(limit=5, everything=everything),
        )

    told = capsys.readouterr()
    assert "unreadable: schedule nightly: KeyError: 'cron'" in told.err
    assert "\x1b" not in told.err + told.out
    assert '"key": "schedule nightly"' in told.out
