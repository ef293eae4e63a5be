"""What a job owes the rest of the system once it has ended.

Effects are fixed when the job is made and done by `settle` after its end state is committed: a crash between the two
loses none, since the job stays in the due index until they are done. Doing one twice has the effect of doing it once.
"""

from __future__ import annotations

from enum import StrEnum

from leasehold.domain.lean import dataclass


class EffectKind(StrEnum):
    # Make the job whose record is in `data`; its id is derived, so that a second try finds it made.
    ENQUEUE = "enqueue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """`statuses` names the end states after which it is owed; empty means all of them."""

    kind: EffectKind
    data: str
    statuses: tuple[str, ...] = ()

    def is_owed_after(self, status: str) -> bool:
        return not self.statuses or status in self.statuses
