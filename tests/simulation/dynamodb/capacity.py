"""What calls cost: units as AWS bills them, per table and index, for one request and for a whole run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The part of a bill that is the table's own, as opposed to the name of an index.
TABLE = ""
_WRITE_BLOCK, _READ_BLOCK = 1024, 4096


def write_units(*sizes: int) -> float:
    """One per started KB of the largest, at least one."""
    return max(1, -(-max(sizes) // _WRITE_BLOCK))


def read_units(size: int, *, consistent: bool) -> float:
    """One per started 4 KB, at least one; half as much for a read that may be stale."""
    return max(1, -(-size // _READ_BLOCK)) * (1 if consistent else 0.5)


class Units:
    """Totals of a run, by table and index."""

    def __init__(self) -> None:
        self.written: Counter[tuple[str, str]] = Counter()
        self.read: Counter[tuple[str, str]] = Counter()

    @property
    def write_units(self) -> float:
        return sum(self.written.values())

    @property
    def read_units(self) -> float:
        return sum(self.read.values())


class Bill:
    """What one request costs. It is added to the totals at once, so that a refused request is billed as well."""

    def __init__(self, totals: Units) -> None:
        self._totals = totals
        self._tables: dict[str, dict[str, float]] = {}

    def write(self, table: str, units: Mapping[str, float], *, factor: int = 1) -> None:
        for part, count in units.items():
            self._totals.written[table, part] += count * factor  # type: ignore[assignment]
        self._add(table, units, factor)

    def read(self, table: str, part: str, units: float) -> None:
        self._totals.read[table, part] += units  # type: ignore[assignment]
        self._add(table, {part: units}, 1)

    def _add(self, table: str, units: Mapping[str, float], factor: int) -> None:
        billed = self._tables.setdefault(table, {})
        for part, count in units.items():
            billed[part] = billed.get(part, 0) + count * factor

    def listed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """For calls that may touch many tables."""
        level = request.get("ReturnConsumedCapacity", "NONE")
        if level == "NONE":
            return {}
        return {"ConsumedCapacity": [_consumed(table, services, level) for table, services in self._tables.items()]}

    def of_transaction(self, request: Mapping[str, Any], kind: str) -> dict[str, Any]:
        """A transaction also says whether its units were of reads or of writes."""
        answer = self.listed(request)
        for consumed in answer.get("ConsumedCapacity", []):
            for part in (consumed, *([consumed["Table"]] if "Table" in consumed else [])):
                part[kind] = part["CapacityUnits"]
        return answer

    def single(self, request: Mapping[str, Any]) -> dict[str, Any]:
        listed = self.listed(request).get("ConsumedCapacity")
        return {"ConsumedCapacity": listed[0]} if listed else {}


def _consumed(table: str, services: Mapping[str, float], level: str) -> dict[str, Any]:
    consumed: dict[str, Any] = {"TableName": table, "CapacityUnits": float(sum(services.values()))}
    if level == "INDEXES":
        consumed["Table"] = {"CapacityUnits": float(services.get(TABLE, 0))}
        indexes = {name: {"CapacityUnits": float(units)} for name, units in services.items() if name != TABLE}
        if indexes:
            consumed["GlobalSecondaryIndexes"] = indexes
    return consumed
