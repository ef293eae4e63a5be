"""Who was refused knows what is there, and does not ask again while nothing has changed: a refused write costs too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.invocation import Invocation
    from tests.simulation.mirror import Key, Mirror

# A handler's heartbeat is told that the lease is lost, and so is its end.
_MOST = 2


class Insistence:
    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._refused: Counter[tuple[Invocation, Key, int]] = Counter()

    def note_refused(self, key: Key, writer: Invocation) -> None:
        """Of a job. A poller may be shown the same job by several records of the stream, and asks for each."""
        if writer.role == "poller":
            return
        about = (writer, key, self._mirror.changes[key])
        self._refused[about] += 1
        count = self._refused[about]
        hold(count <= _MOST, "who was refused does not insist", f"{key[1][-6:]}: {writer} was refused {count} times")
