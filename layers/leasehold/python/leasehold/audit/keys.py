"""Where audit records live, and the head of each target's chain."""

from __future__ import annotations

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.table import JOBS, Key

AUDIT_HEADS = "audit-head"
# What something can be done to: the first word of a target. Each has a partition that a role can be narrowed to.
AUDIT_KINDS = ("control", "dead-letter", "direct-run", "group", "job", "schedule", "template")


def audit_key(target: str, at: str, entry_id: str) -> Key:
    return Key(JOBS, (audit_partition(target), f"{at}#{entry_id}"))


def audit_record_key(partition: str, sort: str) -> Key:
    return Key(JOBS, (partition, sort))


def audit_partition(target: str) -> str:
    return f"audit#{target}"


def target_of_audit(partition: str) -> str:
    return partition.removeprefix("audit#")


def audit_head_key(target: str) -> Key:
    return Key(JOBS, (audit_heads(target.partition("#")[0]), target))


def audit_heads(kind: str) -> str:
    """The partition of the heads of one kind of targets."""
    if kind not in AUDIT_KINDS:
        raise InvalidOptionError(kind, "this is no kind of audit target", f"Use one of {', '.join(AUDIT_KINDS)}.")
    return f"{AUDIT_HEADS}#{kind}"
