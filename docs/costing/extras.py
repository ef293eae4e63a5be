"""What is switched on or added costs besides: by itself, and twenty job types together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from docs.costing.bill import MINUTES, Line

if TYPE_CHECKING:
    from docs.costing.bill import System
    from docs.costing.figures import Assumptions
    from docs.costing.prices import Prices

_TYPES = 20
_SECRETS = 2
_RATE = 100
# With `metrics_per_type` each type has these of its own: depth, oldest due, claimed, completed, processing, lateness.
_METRICS_PER_TYPE = 6
_ALARMS_PER_TYPE = 4
# DynamoDB asks for a table's key at most every five minutes for each caller: poller, reporter and one handler.
_KEY_CALLS = 2 * 3 * MINUTES / 5


@dataclass(frozen=True, slots=True)
class Extra:
    """A row of the page: what, and the lines that it adds to a month."""

    what: str
    lines: tuple[Line, ...]

    @property
    def dollars(self) -> float:
        return sum(line.dollars for line in self.lines)


def extras(assumed: Assumptions, prices: Prices) -> list[Extra]:
    def line(what: str, quantity: float, price: str) -> Line:
        return Line(what, "", quantity, prices[price])

    per_type = (
        line("metrics", _METRICS_PER_TYPE, "metric"),
        line("alarms more", _ALARMS_PER_TYPE - assumed.alarms_a_type, "alarm"),
    )
    return [
        Extra("a further job type", (line("alarms", assumed.alarms_a_type, "alarm"),)),
        Extra("`metrics_per_type`, each type", per_type),
        Extra("`dashboard`", (line("dashboard", 1, "dashboard"),)),
        Extra("`customer_key`", (line("key", 1, "kms_key"), line("calls of it", _KEY_CALLS, "kms_call"))),
        Extra("a secret (Sentry's DSN, webhook keys), each", (line("secret", 1, "secret"),)),
    ]


def twenty_types(idle: System, batched: System, assumed: Assumptions, prices: Prices) -> list[tuple[str, str, float]]:
    """The same queue with twenty types: by default, with metrics of each and a dashboard, and at work with much of it.

    Billed starts are part of every bill.
    """
    further = prices["alarm"].of(assumed.alarms_a_type * (_TYPES - 1))
    watched = prices["metric"].of(_METRICS_PER_TYPE * _TYPES) + prices["dashboard"].of(1)
    alarms = prices["alarm"].of((_ALARMS_PER_TYPE - assumed.alarms_a_type) * _TYPES)
    added = {each.what: each.dollars for each in extras(assumed, prices)}
    besides = added["`customer_key`"] + _SECRETS * next(each for what, each in added.items() if "secret" in what)
    return [
        (f"{_TYPES} job types, default settings", "an idle month", idle.dollars(0) + further),
        (f"{_TYPES} job types, each watched by itself", "an idle month", idle.dollars(0) + further + watched + alarms),
        (
            f"{_TYPES} job types with batches, `customer_key`, {_SECRETS} secrets, billed starts",
            f"{_RATE} jobs a second",
            batched.dollars(_RATE) + further + besides,
        ),
    ]
