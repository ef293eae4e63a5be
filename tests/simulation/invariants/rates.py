"""No stretch of time as long as a rate's sees more claims than the rate allows.

By the clocks of those who claim: a seat says until when by the clock of whoever took it, and the next one compares it
with its own. So this holds however far the clocks are apart. When the handlers start is Lambda's affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.keys import from_text
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from datetime import datetime

    from tests.simulation.limits import Limits


class Rates:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._claims: dict[str, list[datetime]] = {}

    def check_claim(self, job: dict[str, Any]) -> None:
        for scope, period in self._limits.rates_of(job):
            claims, most = self._claims.setdefault(scope, []), self._limits.most(scope)
            claims.append(from_text(job["locked_at"]))
            # One clock may be behind another, so the newest need not be the last.
            claims.sort()
            for first, last in zip(claims, claims[most:], strict=False):
                told = f"{scope} saw {most + 1} claims from {first} to {last}, {most} may be"
                hold(last - first >= period, "rates are never exceeded", told)
