"""Quantities and dollars as a page writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def dollars(amount: float) -> str:
    """Cents for what is small, whole dollars for what is not.

    >>> [dollars(each) for each in (0, 0.004, 0.42, 17.3, 1234.5)]
    ['$0', '< $0.01', '$0.42', '$17.30', '$1,234']
    """
    if amount == 0:
        return "$0"
    if amount < 0.005:
        return "< $0.01"
    return f"${amount:,.0f}" if amount >= 100 else f"${amount:.2f}"


def quantity(amount: float) -> str:
    """
    >>> [quantity(each) for each in (0, 12, 43_200, 23_328_000, 0.0042)]
    ['0', '12', '43.2 k', '23.3 M', '0.0042']
    """
    for size, name in _LARGE:
        if amount >= size:
            return f"{amount / size:.3g} {name}"
    return f"{amount:.3g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
