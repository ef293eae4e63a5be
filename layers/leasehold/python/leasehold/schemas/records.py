"""What handlers said about their payloads, as it is kept: one item for each type."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from leasehold.kernel import partitions
from leasehold.kernel.table import Put
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from leasehold.kernel.table import Key, Table
    from leasehold.schemas.shape import Shape

# Larger ones are not kept: an item holds 400 KB, and a form of that size helps nobody.
MAX_SCHEMA_BYTES = 100_000
# What reading an item raises that is damaged, or written by a release that is newer than this one.
UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadSchema:
    """What a handler said about its payloads.

    digest: names the shape; the registry says which one holds.
    code: what was asked: code, layers and environment of the function.
    document: the model's JSON schema, for people: forms and examples. None if it has none.
    """

    digest: str
    shape: Shape
    code: str
    document: dict[str, Any] | None = None


def digest_of(shape: Shape) -> str:
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


def read_schema(job_type: str, table: Table) -> PayloadSchema | None:
    """None also for an item that cannot be read: the next deployment writes it anew."""
    record = table.get(schema_key(job_type))
    if record is None:
        return None
    try:
        document = record.get("document")
        return PayloadSchema(
            digest=cast("str", record["digest"]),
            shape=json.loads(cast("str", record["shape"])),
            code=cast("str", record["code"]),
            document=json.loads(cast("str", document)) if document else None,
        )
    except UNREADABLE:
        return None


def write_schema(job_type: str, schema: PayloadSchema, table: Table) -> bool:
    """False if it is too large to be kept."""
    shape, document = json.dumps(schema.shape), json.dumps(schema.document)
    if len(shape) > MAX_SCHEMA_BYTES:
        return False
    optional: dict[str, Any] = {"document": document} if schema.document and len(document) <= MAX_SCHEMA_BYTES else {}
    record = {"digest": schema.digest, "shape": shape, "code": schema.code, **optional}
    table.write(Put(key=schema_key(job_type), record=record, conditions=()))
    return True


def schema_key(job_type: str) -> Key:
    """What a type's handler said about its payloads."""
    return partitions.control(f"schema#{job_type}")
