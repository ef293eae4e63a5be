"""How much the state machines try: a little in `make test`, 2,000 examples of 100 steps in `make properties`.

A server of its own answers ten times as slowly as a model in this process: there, a hundred examples must do.

Both repeat themselves exactly. A failure prints the blob that replays it, and the steps in words.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# Named by `make properties`.
FULL = "LEASEHOLD_PROPERTIES"


def is_full() -> bool:
    return os.environ.get(FULL) == "full"


def sized(examples: int, steps: int, *, full: int = 2_000) -> settings:
    """The settings of a machine; it is small unless the full size is asked for."""
    return settings(
        max_examples=full if is_full() else examples,
        stateful_step_count=100 if is_full() else steps,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
