"""A scenario: one operation by one process, which is struck at one of its calls."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World


def _nothing(_world: World) -> None:
    return


def _anything(_world: World, _end: Snapshot, _prepared: Any) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """act: the operation; it returns what its caller is told, without ids, and is struck by the fault.
    calls: the writes and hand-overs that it makes at least, so that a harness that strikes at nothing is noticed.
    prepare: what is done before, in good health; what it returns is passed on.
    again: what the caller does who got no answer, if it does anything.
    lift: what an operator does later, without which the jobs would rightly wait.
    check: what else must be true at the end.
    """

    name: str
    act: Callable[[Process, Any], object]
    calls: tuple[str, ...]
    prepare: Callable[[World], Any] = _nothing
    again: Callable[[Process, Any], object] | None = None
    lift: Callable[[World], object] = _nothing
    check: Callable[[World, Snapshot, Any], None] = _anything

    def __str__(self) -> str:
        return self.name


def insistently(act: Callable[[Process, Any], object]) -> Callable[[Process, Any], object]:
    """Who got no answer asks again, and may be told that it was done already."""

    def again(process: Process, prepared: object) -> None:
        with suppress(LeaseholdError):
            act(process, prepared)

    return again
