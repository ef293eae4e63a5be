"""Prices as docs/prices.toml has them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent.parent / "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """`dollars` for every `per` of what it counts; `seen` is where the figure was read, if it was `checked`."""

    name: str
    dollars: float
    per: int
    each: str
    unit: str
    seen: str
    checked: bool

    def of(self, quantity: float) -> float:
        return quantity * self.dollars / self.per

    def written(self) -> str:
        """As people say it: $0.625 a million, $0.25 a GB-month, $0.10 an alarm."""
        digits = f"{self.dollars:.10f}".rstrip("0")
        whole, _, fraction = digits.partition(".")
        amount = f"${whole}.{fraction.ljust(2, '0')}"
        each = "million" if self.per == 1_000_000 else self.each
        return f"{amount} {'an' if each[0] in 'aeiou' else 'a'} {each}"


@dataclass(frozen=True, slots=True)
class Prices:
    region: str
    date: str
    prices: dict[str, Price]

    def __getitem__(self, name: str) -> Price:
        if name not in self.prices:
            raise KeyError(f"{FILE.name} has no price {name!r}; it has {', '.join(sorted(self.prices))}")
        return self.prices[name]


def load(path: Path = FILE) -> Prices:
    document = tomllib.loads(path.read_text())
    about = document.pop("about")
    return Prices(about["region"], about["date"], {name: Price(name, **each) for name, each in document.items()})
