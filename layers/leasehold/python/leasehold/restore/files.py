"""Exports: both tables as files, in the lines that DynamoDB's own exports to S3 have; and tables filled from them.

A restored queue starts halted: the halt is the first thing that a load writes. What stands in the tables is never
overwritten, so a load that broke off is just done again.
"""

from __future__ import annotations

import base64
import gzip
import json
from contextlib import suppress
from datetime import timedelta
from itertools import batched
from typing import TYPE_CHECKING, Any, cast

from leasehold.audit.records import audit_entry_of, check_audit_entry
from leasehold.kernel import partitions
from leasehold.kernel.dynamodb.expressions import from_item, to_item
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.registry import CACHE_FOR, Switch
from leasehold.kernel.table import DEAD_LETTERS, JOBS, ConditionFailed, Key, Put
from leasehold.lean import dataclass
from leasehold.operate.operator import halted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record, TableDefinition

HALT_TARGET = "control#halt"
_FILES = {"jobs": JOBS, "dead-letters": DEAD_LETTERS}
_AT_ONCE = 25
# Of the deployment that the export was taken from, not of the data: what is deployed here says these anew.
_OWN = {(partitions.CONTROL, partitions.REGISTRY), (partitions.CONTROL, partitions.HALT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """`there`: records that the tables had already, and kept."""

    loaded: int
    there: int


def export(folder: Path, services: Services, *, progress: Callable[[int, None], None] | None = None) -> int:
    """Write every record of both tables; the number of them. Of a table that is in use, no single moment is seen."""
    _make_room(folder)
    count = 0
    for name, definition in _FILES.items():
        with gzip.open(_file(folder, name), "xt", encoding="utf-8") as file:
            for record in services.store.table.scan(definition):
                file.write(json.dumps({"Item": to_item(record)}, default=_as_text) + "\n")
                count += 1
                if progress is not None and count % 1000 == 0:
                    progress(count, None)
    return count


def _make_room(folder: Path) -> None:
    """Nothing that is there is overwritten: it may be all that is left of the old tables."""
    there = [folder] if folder.is_file() else [path for name in _FILES if (path := _file(folder, name)).exists()]
    if there:
        raise InvalidOptionError(
            str(folder),
            f"{there[0].name} is there already, and is not overwritten",
            "Name a folder that is new or empty.",
        )
    folder.mkdir(parents=True, exist_ok=True)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json.gz"


def records_of(folder: Path, definition: TableDefinition) -> Iterator[Record]:
    """What an export holds of one table: ours, or DynamoDB's own with one folder for each table."""
    (name,) = (name for name, each in _FILES.items() if each is definition)
    files = sorted(path for path in folder.rglob("*.json.gz") if name in path.relative_to(folder).as_posix())
    if not files:
        raise InvalidOptionError(
            str(folder),
            f"no export of the table of {name.replace('-', ' ')} is there",
            f"Make one with `leasehold restore export`, or put DynamoDB's own below a folder {name!r}.",
        )
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    yield from_item(json.loads(line)["Item"])


def load(
    folder: Path, services: Services, *, reason: str, progress: Callable[[int, None], None] | None = None
) -> Loaded:
    """Fill this queue's tables from an export. It is halted from the first write on, until somebody resumes it."""
    actor = services.identity.actor()
    reason = check_audit_entry("queue", actor, reason, services)
    for definition in _FILES.values():
        next(records_of(folder, definition), None)  # refused before anything is written
    _halt_unrecorded(actor, reason, services)
    loaded = there = 0
    for definition in _FILES.values():
        for batch in batched(_puts(folder, definition), _AT_ONCE):
            for answer in services.store.table.insert_many(batch):
                if isinstance(answer, ConditionFailed):
                    there += 1
                elif answer is not None:
                    raise answer
                else:
                    loaded += 1
            if progress is not None:
                progress(loaded + there, None)
    # Now that the chain of the halt is here it goes on: a chain that was begun before would not be the one it was.
    entry = audit_entry_of(HALT_TARGET, "restore", {"loaded": loaded}, services, by=actor, reason=reason)
    services.store.audits.commit([], services.store.audits.audit(entry))
    services.deployment.forget()
    return Loaded(loaded=loaded, there=there)


def _halt_unrecorded(actor: str, reason: str, services: Services) -> None:
    with suppress(ConditionFailed):  # it is halted already
        services.store.table.write(halted(Switch(by=actor, at=services.clock.now(), reason=f"restored: {reason}")))
        # Until every poller has seen it.
        services.clock.sleep(CACHE_FOR + timedelta(seconds=1))


def _puts(folder: Path, definition: TableDefinition) -> Iterator[Put]:
    for record in records_of(folder, definition):
        place = (record.get("PK"), record.get("SK"))
        if place not in _OWN and place[0] != partitions.WATCH:
            key = Key(definition, tuple(cast("str", record[name]) for name in definition.key))
            yield Put(key=key, record={name: value for name, value in record.items() if name not in definition.key})


def _as_text(content: Any) -> str:
    """Binary values as DynamoDB writes them into JSON."""
    return base64.b64encode(bytes(content)).decode()
