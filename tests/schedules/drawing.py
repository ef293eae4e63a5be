"""Random schedules, and random misfortunes of the system that runs them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.schedules.oracle import Definition

if TYPE_CHECKING:
    from random import Random

START = datetime(2025, 1, 1, 0, 0, 17, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)
# By the hour in both directions, by half an hour, against the sun (Casablanca sets its clocks back for Ramadan), never.
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca")


def draw_definition(random_source: Random, zone: str) -> Definition:
    policies = {
        "missed": random_source.choice(["latest", "all", "skip"]),
        "missed_window": timedelta(hours=random_source.choice([1, 12, 72, 240])),
        "overlap": random_source.choice(["allow", "skip", "queue"]),
    }
    if random_source.random() < 0.15:
        rate = random_source.choice([timedelta(days=2), timedelta(weeks=1), timedelta(hours=79), timedelta(days=3)])
        return Definition(every=rate, **policies)  # type: ignore[arg-type]
    return Definition(
        cron=_draw_line(random_source),
        timezone=zone,
        on_dst_gap=random_source.choice([None, "once", "skip"]),
        on_dst_overlap=random_source.choice([None, "once", "both", "skip"]),
        **policies,  # type: ignore[arg-type]
    )


def _draw_line(random_source: Random) -> str:
    """Clocks change at night, mostly on Sundays: that is where most lines fall."""
    minute, hour = random_source.choice([0, 15, 30, 59]), random_source.choice([0, 1, 2, 2, 3, 4, 17])
    weekday = random_source.choice(["0", "7", "SUN", "1-5", "sat,sun", "1-5/2", "*/3"])
    return random_source.choice(
        [
            f"{minute} {hour} * {random_source.choice(['*', '3-4', '10-12', '1-4'])} *",
            f"*/{random_source.choice([20, 30])} 0-3 * 3,4,10,11 0",
            f"{minute},{(minute + 31) % 60} 1-2 * 2-4,10-11 7",
            f"{minute} {hour} * * {weekday}",
            f"{minute} {hour} 1,15,31 * *",
            f"{minute} {hour} */9 * *",
            f"{minute} {hour} 13 * 5",
            f"{minute} */6 1-7 jan-dec/3 *",
            f"{minute} {hour} 29 2-3 *",
        ]
    )


@dataclass(frozen=True)
class Outages:
    """Stretches of time in which something does not work."""

    spans: tuple[tuple[datetime, datetime], ...]

    def end_of(self, now: datetime) -> datetime | None:
        """When the outage of this moment ends; None if there is none."""
        return next((end for start, end in self.spans if start <= now < end), None)


def draw_outages(random_source: Random) -> Outages:
    """A dozen in two years, of minutes to weeks, that do not touch each other."""
    seconds = int((END - START).total_seconds())
    marks = sorted(START + timedelta(seconds=random_source.randrange(seconds)) for _ in range(12))
    spans = []
    for start, following in zip(marks, [*marks[1:], END], strict=True):
        length = timedelta(minutes=random_source.choice([3, 40, 300, 3000, 30_000]))
        end = min(start + length, following - timedelta(minutes=5))
        if start < end:
            spans.append((start, end))
    return Outages(tuple(spans))
