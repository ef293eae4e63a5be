"""What is decided about a job that is not plain: it is admitted (admission.py), waits, or is turned away."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.kernel.table import Change
    from leasehold.limits.admission import Admitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What commits together with a claim: changes of other records, and values of the job itself."""

    changes: Sequence[Change]
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Waits:
    """It waits in this lane: whoever decided so has seen to it that the lane is looked at."""

    lane: str
    scope: str
    why: str


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """It ends, because its type does not want to wait."""

    why: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """Others changed what it depends on, again and again: it stays as it is, and the next poll decides."""


class Outcome(Enum):
    """What came of the claim of an admitted job."""

    CLAIMED = auto()
    # The job is not what the index showed: another was faster, or it is too late for it.
    LOST = auto()
    # What was to join the claim is not what it was: decide anew.
    CHANGED = auto()


type Decision = Admitted | Waits | TurnedAway | Undecided
