"""Axes: round steps from nothing to what is to be shown, and figures as people write them."""

from __future__ import annotations

import math

_STEPS = (1, 2, 2.5, 5, 10)


def ticks(highest: float, wanted: int = 5) -> list[float]:
    """Round numbers from 0 to at least `highest`, about `wanted` of them.

    >>> ticks(9)
    [0, 2, 4, 6, 8, 10]
    """
    if not math.isfinite(highest) or highest < 0:
        raise ValueError(f"an axis cannot end at {highest}: give it a figure of 0 or more")
    if highest == 0:
        return [0, 1]
    rough = highest / wanted
    power = 10 ** math.floor(math.log10(rough))
    step = next(each * power for each in _STEPS if each * power >= rough * (1 - 1e-9))
    count = math.ceil(highest / step - 1e-9)
    return [_clean(number * step) for number in range(count + 1)]


def written(value: float) -> str:
    """A figure with as many digits as it deserves.

    >>> [written(each) for each in (0, 0.0417, 1.5, 12.34, 1234.5, 100000)]
    ['0', '0.042', '1.5', '12.3', '1,234', '100,000']
    """
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) < 1 else 3
    return f"{value:.{digits}g}"


def _clean(value: float) -> float:
    rounded = round(value, 10)
    return int(rounded) if rounded == int(rounded) else rounded
