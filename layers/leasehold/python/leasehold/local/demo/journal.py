"""What happened in a demo so far, so that a view can tell it."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    after_seconds: float
    text: str


class Journal:
    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        self._lines.append(Line(self.elapsed, text))

    def since(self, position: int) -> list[Line]:
        return self._lines[position:]
