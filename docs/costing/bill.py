"""A month's bill: lines of quantity times price, so that every dollar can be followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from docs.costing.prices import Price

DAYS = 30
MINUTES = DAYS * 24 * 60
SECONDS = MINUTES * 60


@dataclass(frozen=True, slots=True)
class Line:
    """`how` says where the quantity comes from."""

    what: str
    how: str
    quantity: float
    price: Price

    @property
    def dollars(self) -> float:
        return self.price.of(self.quantity)


@dataclass(frozen=True, slots=True)
class System:
    """A way to run jobs. `lines` makes the month's lines at so many jobs a second, the same lines at every rate."""

    name: str
    note: str
    lines: Callable[[float], Sequence[Line]]

    def dollars(self, rate: float) -> float:
        return sum(line.dollars for line in self.lines(rate))

    def dollars_a_million(self, rate: float = 100) -> float:
        """What a million jobs more cost at this rate: the idle month does not count."""
        jobs = rate * SECONDS
        return (self.dollars(rate) - self.dollars(0)) / jobs * 1_000_000
