"""What a surface shows of one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.control import Registry, Switches
    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.job import Job
    from leasehold.domain.run import Run
    from leasehold.domain.schedule import Schedule


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with its runs, and the letter that its death left, resolved or not.

    place: of those that are due and wait, the how-manieth it is to be dispatched; None if that was not asked for.
    """

    job: Job
    letter: DeadLetter | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class QueueView:
    """Waiting jobs with their places, the next first; `is_complete` if nobody waits behind them."""

    places: tuple[tuple[int, Job], ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class RunView:
    """`run` is None while it goes on: what is known of it then stands on the job."""

    job: Job
    run: Run | None


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """`next_runs` are the coming slots; none while it is disabled or paused."""

    schedule: Schedule
    next_runs: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Control:
    switches: Switches
    registry: Registry
