"""Answers: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from leasehold.admin.job_documents import Document
    from leasehold.cli.terminal.tables import Column


class Output:
    """Whoever reads a pipe gets the answer alone: hints and progress are on the standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @cached_property
    def console(self) -> Console:
        from leasehold.cli.progress import console_for

        return console_for(sys.stdout)

    def document(self, document: Document) -> None:
        """One JSON document on one line; only ASCII, so that no encoding can spoil it."""
        print(json.dumps(document))

    def say(self, text: str) -> None:
        from leasehold.cli.terminal.cells import clean

        print(clean(text))

    def hint(self, text: str) -> None:
        """What helps people and is not the answer."""
        from leasehold.cli.terminal.cells import clean

        if not self.as_json:
            print(clean(text), file=sys.stderr)

    def done(self, document: Document, text: str) -> None:
        """The answer of an action."""
        if self.as_json:
            self.document(document)
        else:
            self.say(text)

    def table(self, columns: Sequence[Column], documents: Sequence[Document]) -> None:
        from leasehold.cli.terminal.tables import show_table

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
