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
    """A job with its runs, and the letter that its death left, resolved or not."""

    job: Job
    letter: DeadLetter | None = None


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
