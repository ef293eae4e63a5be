"""Grouped bars: one group per label, one bar per series, each with its figure on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.benchmarks.scales import ticks, written
from tests.benchmarks.svg import SERIES, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT = 860, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 94, 62


@dataclass(frozen=True, kw_only=True)
class BarChart:
    """`series` maps a name to one figure per label, None where nothing was measured; `bounds` are dashed lines."""

    title: str
    across: str
    up: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    bounds: Mapping[str, float] = field(default_factory=dict)

    def drawn(self) -> str:
        drawing = Drawing(_WIDTH, _HEIGHT, self.title)
        drawing.text(_LEFT, 26, self.title, style="title")
        axis = ticks(self._highest())
        self._axes(drawing, axis)
        self._legend(drawing)
        for group, label in enumerate(self.labels):
            self._group(drawing, group, label, axis[-1])
        for name, height in self.bounds.items():
            y = _y(height, axis[-1])
            drawing.line((_LEFT, y), (_WIDTH - _RIGHT, y), "bound")
            drawing.text(_LEFT + 6, y - 5, name, style="over")
        return drawing.written()

    def _highest(self) -> float:
        figures = [each for values in self.series.values() for each in values if each is not None]
        if not figures:
            raise ValueError(f"{self.title!r} has no figures to draw")
        return max([*figures, *self.bounds.values()])

    def _axes(self, drawing: Drawing, axis: Sequence[float]) -> None:
        for tick in axis:
            y = _y(tick, axis[-1])
            drawing.line((_LEFT, y), (_WIDTH - _RIGHT, y), "grid" if tick else "axis")
            drawing.text(_LEFT - 8, y + 4, written(tick), anchor="end", style="quiet")
        drawing.text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, self.across, anchor="middle", style="quiet")
        drawing.text(20, (_TOP + _HEIGHT - _BOTTOM) / 2, self.up, anchor="middle", style="quiet", turned=True)

    def _legend(self, drawing: Drawing) -> None:
        x, y = float(_LEFT), 40
        for number, name in enumerate(self.series if len(self.series) > 1 else ()):
            # Letters are as wide as the widest fonts have them: names never run into each other.
            room = 34 + 7.2 * len(name)
            if x > _LEFT and x + room > _WIDTH:
                x, y = float(_LEFT), y + 18
            drawing.bar(x, y, width=11, height=11, colour=_colour(number), says=name)
            drawing.text(x + 16, y + 10, name)
            x += room

    def _group(self, drawing: Drawing, group: int, label: str, top: float) -> None:
        room = (_WIDTH - _LEFT - _RIGHT) / len(self.labels)
        left = _LEFT + room * group
        drawing.text(left + room / 2, _HEIGHT - _BOTTOM + 18, label, anchor="middle")
        width = min(room * 0.8 / len(self.series), 60)
        start = left + (room - width * len(self.series)) / 2
        for number, (name, values) in enumerate(self.series.items()):
            value = values[group]
            if value is None:
                continue
            x, y = start + width * number, _y(value, top)
            says, height = f"{label}, {name}: {written(value)}", _HEIGHT - _BOTTOM - y
            drawing.bar(x + 1, y, width=width - 2, height=height, colour=_colour(number), says=says)
            drawing.text(x + width / 2, y - 5, written(value), anchor="middle", style="over")


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / top


def _colour(number: int) -> str:
    return SERIES[number % len(SERIES)]
