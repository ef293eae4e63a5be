"""Answers: tables and sentences for people, JSON for programs; and what is said while people wait."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from leasehold.cli.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self, TextIO

    from rich.console import Console
    from rich.status import Status

    from leasehold.cli.terminal import Column
    from leasehold.documents import Document

# Wide enough for the demo's last table when nobody knows how wide the output is.
_PLAIN_WIDTH = 150
_TELL_AGAIN_AFTER_SECONDS = 10.0
_SHOWN = 70


def console_for(output: TextIO) -> Console:
    from rich.console import Console

    return Console(file=output) if output.isatty() else Console(file=output, width=_PLAIN_WIDTH)


class Output:
    """Whoever reads a pipe gets the answer alone: hints and progress are on the standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @cached_property
    def console(self) -> Console:
        return console_for(sys.stdout)

    def document(self, document: Document) -> None:
        """One JSON document on one line; only ASCII, so that no encoding can spoil it."""
        print(json.dumps(document))

    def say(self, *lines: str) -> None:
        for each in lines:
            print(clean(each))

    def hint(self, text: str) -> None:
        """What helps people and is not the answer."""
        if not self.as_json:
            print(clean(text), file=sys.stderr)

    def done(self, document: Document, *lines: str) -> None:
        """The answer of an action."""
        if self.as_json:
            self.document(document)
        else:
            self.say(*lines)

    def details(self, document: Document, *, shown: Document | None = None) -> None:
        """One thing; `shown` is the same as people read it, where that differs."""
        from leasehold.cli.terminal import show_details

        if self.as_json:
            self.document(document)
        else:
            show_details(document if shown is None else shown, self.console)

    def table(self, columns: Sequence[Column], documents: Sequence[Document]) -> None:
        from leasehold.cli.terminal import show_table

        show_table(columns, documents, self.console)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int | None], None]]:
        """A bar for bulk work, where somebody can see it: call what it gives with how many of how many are done.

        Whoever interrupts the work is told how far it came: what was done stays done.
        """
        from rich.console import Console
        from rich.progress import Progress

        console = Console(file=sys.stderr)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(title, total=None)
            try:
                yield lambda done, total: bar.update(task, completed=done, total=total)
            except KeyboardInterrupt:
                bar.stop()
                self.hint(f"Interrupted while {title}: {bar.tasks[0].completed:,.0f} done. Run it again to go on.")
                raise


class Steps:
    """Slow steps, told while they last: a spinner on a terminal, lines elsewhere.

    `say` begins a step; `hear` gets the newest line of the program behind it, again and again while there is no other.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._began = self._told = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def say(self, text: str) -> None:
        self.__exit__()
        self._began = self._told = time.monotonic()
        self._print(f"==> {text}")
        if self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()

    def hear(self, line: str) -> None:
        now = time.monotonic()
        text = f"{now - self._began:.0f} s  {line.strip()[:_SHOWN]}".rstrip()
        if self._status is not None:
            self._status.update(f"    {text}")
        elif now - self._told >= _TELL_AGAIN_AFTER_SECONDS:
            self._told = now
            self._print(f"    … {text}")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
