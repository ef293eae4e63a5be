"""Which slots a schedule has, and which of them its policies ask for: written again, without the code under test.

Naive local times come from croniter; their moments in UTC from asking the zone, not from arithmetic on folds.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Definition:
    """A schedule in plain values, as `queue.schedules.create` takes them."""

    every: timedelta | None = None
    cron: str | None = None
    timezone: str | None = None
    on_dst_gap: str | None = None
    on_dst_overlap: str | None = None
    missed: str = "latest"
    missed_window: timedelta = timedelta(days=1)
    overlap: str = "skip"


def slots_of(definition: Definition, start: datetime, end: datetime) -> list[datetime]:
    """Every slot after `start`, up to `end`."""
    if definition.every is not None:
        count = -(-(start - _MONDAY) // definition.every)
        slots = []
        while (slot := _MONDAY + count * definition.every) <= end:
            slots.append(slot)
            count += 1
        return [slot for slot in slots if slot > start]
    assert definition.cron is not None
    zone = ZoneInfo(definition.timezone or "UTC")
    local_times = croniter(definition.cron, (start - 2 * _DAY).replace(tzinfo=None))
    found: set[datetime] = set()
    while (local := local_times.get_next(datetime)) <= (end + 2 * _DAY).replace(tzinfo=None):
        found.update(_moments(local, zone, definition))
    return sorted(moment for moment in found if start < moment <= end)


def _moments(local: datetime, zone: ZoneInfo, definition: Definition) -> list[datetime]:
    moments = _readings(local, zone)
    if len(moments) == 2:
        return {"once": moments[:1], "both": moments, "skip": []}[definition.on_dst_overlap or "once"]
    if moments or definition.on_dst_gap == "skip":
        return moments
    while not (moments := _readings(local, zone)):
        local += _MINUTE
    return moments


def _readings(local: datetime, zone: ZoneInfo) -> list[datetime]:
    """All moments at which clocks in this zone show this time."""
    near = local.replace(tzinfo=UTC)
    offsets = {(near + shift).astimezone(zone).utcoffset() or timedelta(0) for shift in (-_DAY, timedelta(0), _DAY)}
    readings = {near - offset for offset in offsets}
    return sorted(each for each in readings if each.astimezone(zone).replace(tzinfo=None) == local)


@dataclass
class Model:
    """Decides like the documentation says. `running_since` and `running_until` are of the last job."""

    definition: Definition
    slots: list[datetime]
    cursor: datetime
    running_since: datetime
    running_until: datetime
    looks_again_at: datetime | None = None
    made: list[datetime] = field(default_factory=list)

    def due_at(self) -> datetime | None:
        """When somebody has to look next."""
        if self.looks_again_at is not None:
            return self.looks_again_at
        following = bisect_right(self.slots, self.cursor)
        return self.slots[following] if following < len(self.slots) else None

    def look(self, now: datetime) -> list[datetime]:
        """The slots that are to be run now."""
        come = self.slots[bisect_right(self.slots, self.cursor) : bisect_right(self.slots, now)]
        if not come:
            return []
        self.looks_again_at = None
        wanted, cursor = self._not_missed(come, now)
        is_running = now < self.running_until
        match self.definition.overlap:
            case "queue" if wanted and is_running:
                eighth = (now - self.running_since) / 8
                self.looks_again_at = now + min(max(eighth, timedelta(seconds=30)), timedelta(minutes=10))
                return []
            case "queue" if wanted:
                wanted = wanted[:1]
                cursor = wanted[0]
            case "skip" if is_running:
                wanted = []
            case "skip":
                wanted = wanted[:1] if self.definition.missed == "all" else wanted[-1:]
        self.cursor = cursor
        self.made += wanted
        return wanted

    def _not_missed(self, come: list[datetime], now: datetime) -> tuple[list[datetime], datetime]:
        if self.definition.missed == "latest":
            return come[-1:], come[-1]
        window = timedelta(minutes=2) if self.definition.missed == "skip" else self.definition.missed_window
        wanted = [slot for slot in come if slot > now - window]
        return wanted, wanted[-1] if wanted else max(self.cursor, now - window)
