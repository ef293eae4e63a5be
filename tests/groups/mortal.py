"""A table whose users die: at each different write once before it is made, and once after, with the answer unread."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import Update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.memory import MemoryTable
    from leasehold.kernel.table import Change


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """The table as all processes see it; what was struck once is remembered across their deaths."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table
        self._met: Counter[object] = Counter()

    @property
    def deaths(self) -> int:
        return sum(min(times, 2) for times in self._met.values())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, change: Change) -> Any:
        return self._struck([change], lambda: self._table.write(change))

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[Any] = ()) -> None:
        self._struck(changes, lambda: self._table.transact(changes, token=token, foreign=foreign))

    def _struck(self, changes: Sequence[Change], make: Callable[[], Any]) -> Any:
        what = tuple(_named(change) for change in changes)
        self._met[what] += 1
        if self._met[what] == 1:
            raise Killed(f"before {what}")
        answer = make()
        if self._met[what] == 2:
            raise Killed(f"after {what}")
        return answer


def _named(change: Change) -> object:
    """What a write is, whoever makes it and whenever: the same step of another process has other tokens and times."""
    if not isinstance(change, Update):
        return type(change).__name__, change.key.values[0]
    return change.key.values, *sorted(change.sets), *(change.sets.get(name) for name in ("status", "turn", "made"))
