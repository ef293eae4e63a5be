"""One invocation: what a process does now, on whose behalf, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.keys import to_text

if TYPE_CHECKING:
    from tests.simulation.process import Process


@dataclass(eq=False, slots=True)
class Invocation:
    """role: sdk, poller, handler or operator; what a writer may do depends on it.

    tokens: the hand-overs that a handler was given.
    makes: how many jobs it was asked to make.
    """

    worker_id: str
    role: str
    process: Process
    tokens: tuple[str, ...] = ()
    makes: int = 0
    made: int = 0
    lease_length: timedelta = timedelta()
    # Each job as it read it last.
    seen: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    # Jobs as the refusals of its own writes showed them.
    refused: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.role} {self.worker_id}"

    @property
    def clock_text(self) -> str:
        """Its own clock now."""
        return to_text(self.process.now())

    @property
    def tolerance(self) -> timedelta:
        """How far apart two clocks may be."""
        return timedelta(seconds=2 * self.process.world.plan.skew)
