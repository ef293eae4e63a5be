"""The tables: names of keys and indexes, once, for every store and for the stacks that deploy them."""

from __future__ import annotations

from leasehold.domain.lean import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A sparse index: only records that have both attributes are in it."""

    name: str
    partition: str
    sort: str
    projected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    key: tuple[str, ...]
    indexes: tuple[Index, ...]
    ttl: str = "expires_at"

    def index(self, name: str) -> Index:
        return next(index for index in self.indexes if index.name == name)


DUE_INDEX = Index(
    name="due", partition="due_lane", sort="due_key", projected=("job_type", "status", "concurrency_key", "priority")
)
ENDED_INDEX = Index(name="ended", partition="ended_lane", sort="ended_key", projected=("job_type", "status"))
JOBS = TableDefinition(key=("PK", "SK"), indexes=(DUE_INDEX, ENDED_INDEX))

BY_DATE_INDEX = Index(name="by_date", partition="open", sort="open_key", projected=("job_type", "reported_at"))
BY_TYPE_INDEX = Index(name="by_type", partition="open_type", sort="open_key")
DEAD_LETTERS = TableDefinition(key=("id",), indexes=(BY_DATE_INDEX, BY_TYPE_INDEX))
