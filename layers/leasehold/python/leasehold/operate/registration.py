"""Say what is deployed: a deployment's registry takes the place of the one before it, whose jobs must not be lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel import partitions
from leasehold.kernel.errors import InvalidOptionError, StoreUnavailableError
from leasehold.kernel.keys import SYSTEM_CODE
from leasehold.kernel.registry_records import registry_record
from leasehold.kernel.table import ConditionFailed, Equals, Missing, Put, TransactionCancelled, request_token
from leasehold.kernel.type_options import DELIVERY, type_scope

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from leasehold.features import Store
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Condition

_TYPES_AT_ONCE = 90
_TRIES = 5


def publish(registry: Registry, services: Services) -> None:
    """Say what is deployed; jobs that were held because their type was not are looked at."""
    token = request_token("publish", f"{services.random_source.bits(64):x}")
    register(registry, services.store, services.clock.now(), token=token)
    services.deployment.forget()


def register(registry: Registry, store: Store, now: datetime, *, token: str) -> None:
    """Say what is deployed, and wake the held jobs of types that were not deployed before.

    There are never fewer shards than there were, and no other codes: jobs where nobody looks would be lost.
    """
    for attempt in range(_TRIES):
        try:
            return _register(registry, store, now, f"{token}#{attempt}")
        except (ConditionFailed, TransactionCancelled):
            continue  # another deployment was faster, or our own try whose response was lost: look again
    raise StoreUnavailableError("the registry is changed by others all the time; deploy again")


def _register(registry: Registry, store: Store, now: datetime, token: str) -> None:
    known = store.control.registry()
    as_seen: tuple[Condition, ...] = (Missing("PK"),)
    new: list[str] = []
    if known is not None:
        registry = succeeding(known, registry)
        as_seen = (Equals("shards", known.shards),)
        new = [name for name in registry.types if name not in known.types]
    for start in range(0, len(new), _TYPES_AT_ONCE):
        # Together with its types' wake-ups, or a crash in between would leave jobs held whose type is deployed;
        # in steps, because a transaction holds a hundred changes.
        announced = {*registry.types} - {*new[start + _TYPES_AT_ONCE :]}
        types = {name: job_type for name, job_type in registry.types.items() if name in announced}
        step = _registration(replace(registry, types=types), as_seen)
        wakes = [
            features.awakened(type_scope(name), now, token, registry.shards)
            for name in new[start : start + _TYPES_AT_ONCE]
        ]
        store.table.transact([step, *wakes], token=request_token(token, str(start)))
        as_seen = (Equals("shards", registry.shards),)
    if not new:
        store.table.write(_registration(registry, as_seen))


def _registration(registry: Registry, as_seen: tuple[Condition, ...]) -> Put:
    return Put(key=partitions.control(partitions.REGISTRY), record=registry_record(registry), conditions=as_seen)


def succeeding(known: Registry, wanted: Registry) -> Registry:
    """What a deployment makes of the registry that it finds. What names partitions stays, or jobs would be lost."""
    if wanted.isolate_types is not known.isolate_types:
        raise InvalidOptionError(
            wanted.isolate_types,
            f"isolate_types was {known.isolate_types} when this table got its first jobs, and names their partitions",
            "Leave it as it was; a queue with another setting is another deployment.",
        )
    before = {name: each.code for name, each in known.types.items()} | dict(known.retired)
    for name, job_type in wanted.types.items():
        code = before.get(name, job_type.code)
        if wanted.isolate_types and code != job_type.code:
            raise InvalidOptionError(
                f"0x{job_type.code:04x}",
                f"{name} has had another code, and jobs in the partitions that it names",
                f"Write code = 0x{code:04x} in its job.toml, or use another name for the type.",
            )
    return replace(
        wanted,
        shards=max(wanted.shards, known.shards),
        retired={name: code for name, code in before.items() if name not in wanted.types and name != DELIVERY},
    )


def refuse_shared_codes(codes: Mapping[str, int]) -> None:
    """Two types with one code would share partitions, and with them rights."""
    owners: dict[int, str] = {}
    for name, code in sorted(codes.items()):
        if code in owners:
            raise InvalidOptionError(
                f"0x{code:04x}",
                f"{owners[code]} and {name} have the same code, which names the partitions of their jobs",
                f"Give the newer of them another in its job.toml: {free_code_line(codes.values())}.",
            )
        owners[code] = name


def free_code_line(taken: Collection[int]) -> str:
    return f"code = 0x{next(code for code in range(0x1000, SYSTEM_CODE) if code not in taken):04x}"
