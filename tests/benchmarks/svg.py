"""A small SVG writer: text, lines, bars, and a style that is readable on light and on dark pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

# Colours that keep apart from each other and from both backgrounds, also for eyes that confuse red and green.
SERIES = ("#3b7dd8", "#d9822b", "#2a9d8f", "#8e5bb5", "#b5495b", "#6b7280", "#b8a11f")

_STYLE = """
  .page { fill: #ffffff }
  .grid { stroke: #d4d7dd; stroke-width: 1 }
  .axis { stroke: #6b7280; stroke-width: 1 }
  .bound { stroke: #c0392b; stroke-width: 1.5; stroke-dasharray: 6 4 }
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { fill: #59636e }
  .over { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    .grid { stroke: #30363d }
    .axis { stroke: #9198a1 }
    .bound { stroke: #ff7b72 }
    text { fill: #f0f6fc }
    .quiet { fill: #9198a1 }
    .over { stroke: #0d1117 }
  }
"""


@dataclass
class Drawing:
    """Shapes in the order in which they are drawn; `title` is what a screen reader says."""

    width: int
    height: int
    title: str
    _shapes: list[str] = field(default_factory=list)

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", style: str = "", turned: bool = False
    ) -> None:
        turn = f' transform="rotate(-90 {_number(x)} {_number(y)})"' if turned else ""
        kind = f' class="{style}"' if style else ""
        place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"'
        self._shapes.append(f"<text {place}{kind}{turn}>{escape(words)}</text>")

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        (x1, y1), (x2, y2) = start, end
        ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
        self._shapes.append(f'<line {ends} class="{style}"/>')

    def bar(self, x: float, y: float, *, width: float, height: float, colour: str, says: str) -> None:
        box = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(max(height, 0))}"'
        self._shapes.append(f'<rect {box} fill="{colour}"><title>{escape(says)}</title></rect>')

    def path(self, points: list[tuple[float, float]], colour: str) -> None:
        joined = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._shapes.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def dot(self, x: float, y: float, colour: str, says: str) -> None:
        place = f'cx="{_number(x)}" cy="{_number(y)}" r="4"'
        self._shapes.append(f'<circle {place} fill="{colour}"><title>{escape(says)}</title></circle>')

    def written(self) -> str:
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(self.title)}>'
        page = f'<rect class="page" width="{self.width}" height="{self.height}"/>'
        return "\n".join([head, f"<style>{_STYLE}</style>", page, *self._shapes, "</svg>\n"])


def _number(value: float) -> str:
    """Two decimals at most, so that the same figures make the same file."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
