"""What was hit: each fault at each kind of call, by the state of the job that the call was about."""

from __future__ import annotations

from collections import Counter

type Cell = tuple[str, str, str]


class Coverage:
    def __init__(self) -> None:
        self.cells: Counter[Cell] = Counter()
        self.calls: Counter[str] = Counter()
        self.transitions: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        # Calls that found nobody there, by what they asked for.
        self.outages: Counter[str] = Counter()

    def add(self, other: Coverage) -> None:
        self.cells.update(other.cells)
        self.calls.update(other.calls)
        self.transitions.update(other.transitions)
        self.actions.update(other.actions)
        self.outages.update(other.outages)
