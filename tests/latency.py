"""The latency profile: how long AWS takes for what we ask of it. Every figure about speed in virtual time uses it.

The figures are round and on the slow side of what is commonly measured within one region, so that a bound that holds
here holds there. Change one here, and run what measures with it (`make limits`) again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """All in seconds.

    call: one request to DynamoDB: AWS promises single-digit milliseconds; 3 to 6 are usual from Lambda in the region.
    batch: a page of 25 PartiQL statements: about two calls, since DynamoDB works on them side by side.
    transaction: prepare and commit are two rounds between its nodes, so more than two calls.
    invoke: an asynchronous invoke is accepted when Lambda has queued it: 15 to 30 ms.
    stream: from a write until its record starts a function; the event source mapping looks about four times a second.
    index_lag: from a write until a global secondary index shows it; mostly some 10 ms, seldom some 100.
    """

    call: float = 0.005
    batch: float = 0.010
    transaction: float = 0.012
    invoke: float = 0.020
    stream: float = 0.250
    index_lag: float = 0.050

    def batches(self, statements: int) -> float:
        """So many statements, a page after the other."""
        return self.batch * ceil(statements / STATEMENTS_PER_PAGE)


STATEMENTS_PER_PAGE = 25
AWS = Latencies()
# What limits are measured with: an index on a bad day, since each wake of a waiting lane is read from one.
SLOW_INDEX = Latencies(index_lag=0.250)
