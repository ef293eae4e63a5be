"""Slow steps, told while they last: a spinner on a terminal, lines elsewhere, nothing where a program reads along."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from typing import Self, TextIO

    from rich.status import Status

# Wide enough for the demo's last table when nobody knows how wide the output is.
_PLAIN_WIDTH = 150
_TELL_AGAIN_AFTER_SECONDS = 10.0
_SHOWN = 70


def console_for(output: TextIO) -> Console:
    return Console(file=output) if output.isatty() else Console(file=output, width=_PLAIN_WIDTH)


class Progress:
    """`say` begins a step; `hear` gets what the program behind it says, or an empty line while it is silent."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._step = ""
        self._began = self._told = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_step()

    def say(self, text: str) -> None:
        self._end_step()
        self._step = text
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

    def _end_step(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
