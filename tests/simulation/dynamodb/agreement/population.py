"""Few keys and few values, so that random requests meet each other."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import (
    BY_DATE_INDEX,
    BY_TYPE_INDEX,
    DEAD_LETTERS,
    DUE_INDEX,
    ENDED_INDEX,
    JOBS,
    Above,
    After,
    AnyOf,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    NotAfter,
    OneOf,
    Put,
    Update,
)

if TYPE_CHECKING:
    from random import Random

    from leasehold.kernel.table import Change, Condition, Index, TableDefinition

_STATUSES = ("pending", "dispatched", "in_progress", "completed")
_TIMES = tuple(f"2026-01-01T00:00:0{second}Z" for second in range(6))
_LANES = ("1#0", "1#1", "hold#Ω")
# Of lengths at which a KB of the item or of an index entry begins.
_LENGTHS = (0, 3, 400, 900, 1000, 1024, 3000, 5000)


class Population:
    """Keys, records, conditions and changes by one seeded chance."""

    def __init__(self, random_source: Random) -> None:
        self._random_source = random_source

    def definition(self) -> TableDefinition:
        return JOBS if self._random_source.random() < 0.7 else DEAD_LETTERS

    def index(self, table: TableDefinition) -> Index:
        return self._random_source.choice((DUE_INDEX, ENDED_INDEX) if table is JOBS else (BY_DATE_INDEX, BY_TYPE_INDEX))

    def key(self, table: TableDefinition) -> Key:
        partition, sort = f"p{self._random_source.randrange(3)}", f"s{self._random_source.randrange(4)}"
        return Key(table, (partition, sort) if table is JOBS else (f"{partition}{sort}",))

    def lane(self, index: Index) -> str:
        """A partition of the index; `open` has but one."""
        return "open" if index is BY_DATE_INDEX else self._random_source.choice(_LANES)

    def place(self, key: Key) -> str:
        """A sort key of an index, told apart by the item: the order of equal ones is nobody's promise."""
        return f"{self._random_source.choice(_TIMES)}#{'/'.join(key.values)}"

    def attributes(self, key: Key) -> dict[str, Any]:
        random_source = self._random_source
        made: dict[str, Any] = {
            "status": random_source.choice(_STATUSES),
            "attempts": random_source.choice([0, 1, 9, 10, 123456, -7]),
            "lock_expires_at": random_source.choice(_TIMES),
            "payload": "x" * random_source.choice(_LENGTHS),
            "packed": bytes(random_source.choice(_LENGTHS)),
            "is_held": random_source.random() < 0.5,
            "runs": [{"number": n, "worker": "w" * n} for n in range(random_source.randrange(3))],
            "job_type": random_source.choice(["mail", "ü" * 3, "x" * random_source.choice(_LENGTHS)]),
        }
        for index in (DUE_INDEX, ENDED_INDEX) if key.table is JOBS else (BY_DATE_INDEX, BY_TYPE_INDEX):
            made[index.partition] = self.lane(index)
            made[index.sort] = self.place(key)
        return dict(random_source.sample(sorted(made.items()), random_source.randrange(len(made) + 1)))

    def condition(self, *, plain: bool = False) -> Condition:
        random_source = self._random_source
        name = random_source.choice(
            ["status", "attempts", "lock_expires_at", "job_type", "due_lane", "due_key", "open", "PK"]
        )
        made: list[Condition] = [
            Exists(name),
            Missing(name),
            Equals("status", random_source.choice(_STATUSES)),
            Equals("attempts", random_source.choice([0, 1, 9])),
            OneOf("status", tuple(random_source.sample(_STATUSES, random_source.randrange(1, 4)))),
            After("lock_expires_at", random_source.choice(_TIMES)),
            NotAfter("lock_expires_at", random_source.choice(_TIMES)),
            Above("attempts", random_source.randrange(10)),
        ]
        if not plain and random_source.random() < 0.2:
            return AnyOf(tuple(random_source.sample(made, 2)))
        return random_source.choice(made)

    def conditions(self, *, plain: bool = False) -> tuple[Condition, ...]:
        """Often none or a likely one: most writes should be made, or there is little to refuse."""
        count = self._random_source.choice([0, 0, 0, 1, 1, 2])
        return tuple(self.condition(plain=plain) for _ in range(count))

    def change(self, key: Key) -> Change:
        roll = self._random_source.random()
        if roll < 0.35:
            conditions = None if self._random_source.random() < 0.4 else self.conditions()
            return Put(key=key, record=self.attributes(key), conditions=conditions)
        return self.update(key) if roll < 0.85 else Delete(key=key, conditions=self.conditions())

    def update(self, key: Key, *, plain: bool = False) -> Update:
        sets = self.attributes(key) or {"status": "pending"}
        others = sorted({"payload", "due_lane", "due_key", "ended_key", "open", "job_type"} - sets.keys())
        removes = frozenset(self._random_source.sample(others, self._random_source.randrange(len(others) + 1)))
        adds = {} if plain else {"dispatches": self._random_source.choice([1, 7])}
        return Update(key=key, conditions=self.conditions(plain=plain), sets=sets, removes=removes, adds=adds)


def on_the_wire(request: Any) -> Any:
    """As JSON carries it: bytes are base64."""
    return json.loads(json.dumps(request, default=lambda data: b64encode(data).decode()))
