"""A running job has the seats that it took, nobody else has them, and there are never more than the limit says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.limits.model import Places
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.limits import Limits
    from tests.simulation.mirror import Mirror


def seats_of(job: dict[str, Any]) -> list[tuple[tuple[str, str], str]]:
    """The keys of the seats that a job says it has, each with its taker."""
    if "seat" not in job:
        return []
    places = Places.parse(job["seat"])
    return [((f"seat#{scope}", f"{number:06d}"), places.taken_by) for scope, number in places.seats]


class Seats:
    def __init__(self, mirror: Mirror, limits: Limits) -> None:
        self._mirror = mirror
        self._limits = limits
        # Which running job took each seat.
        self._takers: dict[tuple[str, str], tuple[str, str]] = {}

    def note(self, key: tuple[str, str], old: dict[str, Any] | None, new: dict[str, Any]) -> list[tuple[str, str]]:
        """A job changed; the seats to look at."""
        before, after = seats_of(old or {}), seats_of(new)
        if before == after:
            return []
        for seat, _ in before:
            if self._takers.get(seat) == key:
                del self._takers[seat]
        for seat, _ in after:
            other = self._takers.get(seat)
            hold(other is None, "a seat is taken once", f"{seat} has {other} and {key}")
            self._takers[seat] = key
        return [seat for seat, _ in after]

    def check(self, seat: tuple[str, str]) -> None:
        """It is one of those that its limit has; and if a running job has it, it is there, and says so."""
        record = self._mirror.items.get(seat)
        if record is not None and seat[1].isdigit() and "taken_by" in record:
            most = self._limits.most(seat[0].removeprefix("seat#"))
            hold(int(seat[1]) < most, "limits are never exceeded", f"{seat} was taken, there are {most}")
        key = self._takers.get(seat)
        if key is None:
            return
        takers = dict(seats_of(self._mirror.items[key]))
        is_kept = record is not None and record.get("taken_by") == takers.get(seat)
        hold(is_kept, "who runs keeps its seat", f"{seat} of {key} is {record}")
