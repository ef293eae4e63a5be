"""The hooks by which features join in. The kernel knows no feature: `leasehold/features.py` says which there are.

A feature is asked only about jobs that concern it, and its code is imported when the first of them comes: a plain job
passes through none of it, and no cold start pays for what it does not use.

| hook | asks a feature |
| --- | --- |
| `stops_start(handover)`, `never_started(handover)` | why a hand-over may not start now; it was given back |
| `with_end(end)` | what commits together with an end, and what the ended job owes from then on |
| `settle(jobs)` | do what jobs owe since a run's end, as often as it is asked |
| `after(end)` | tidy up behind an end that stands; may be lost in a crash, or come twice |

Beside these, a poll asks for two things by name (`leasehold/features.py`): the gate that decides about jobs that are
not plain, opened once per poll (limits/gate.py); and who tends entries that are due and no jobs. An enqueue asks by
name, too, for what fills in a new job, checks it, or is written with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.end import Ending
    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What a feature adds to a write of the kernel's.

    changes: commit with it, or nothing does. Where one is refused, the write is not made either: an end of a run
        raises, and what is settled is decided anew.
    is_owed: the job is due at once, and the feature is asked to `settle` it until that has succeeded. One that has not
        ended waits for its next run after that.
    note: which of it is owed, for the feature itself: it is stored with its name.
    then: called once a settlement is committed.
    """

    changes: Sequence[Change] = ()
    is_owed: bool = False
    note: str | None = None
    then: Callable[[], None] | None = None


NOTHING = Joining()


def owed(name: str, note: str | None) -> str:
    """How a job notes that it owes a feature something."""
    return name if note is None else f"{name}:{note}"


class Hooks:
    """What a feature implements; whatever it leaves out means that it has nothing to say there."""

    def stops_start(self, handover: Handover, services: Services) -> str | None:
        """Why this hand-over may not start now, if so: its job is given back."""
        return None

    def never_started(self, handover: Handover, services: Services) -> None:
        """It was given back for another reason, or it was too late for it."""

    def with_end(self, end: Ending, services: Services) -> Joining:
        """Before an end is written. It is asked once per end, however often that has to be written."""
        return NOTHING

    def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
        """Do what one job owes, or several members of a group that have ended.

        What it joins commits together with their leaving the place where they owe it.
        """
        return NOTHING

    def after(self, end: Ending, services: Services) -> None:
        """Behind an end that stands. Trouble here must not show: it raises StoreError at most, which is logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature as it is registered.

    name: what a job notes that it owes; it is stored.
    load: imports its hooks, when they are needed; those that it loaded before are the same.
    job_field, type_field: it may have something to say about ends of jobs that have this field, or whose type has it.
    concerns: the same where a field does not say it. It is asked about every end, so it only looks.
    joins_starts: whether it may stop starts of such a type's jobs, too.
    """

    name: str
    load: Callable[[], Hooks]
    job_field: str | None = None
    type_field: str | None = None
    concerns: Callable[[Job, JobType], bool] | None = None
    joins_starts: bool = False
