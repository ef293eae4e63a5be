"""Keeps the root of all audit trails, once a day, where those who may write to the table may not."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from leasehold.audit.roots import keep_root
from leasehold.aws.archive import open_bucket
from leasehold.aws.container import open_container
from leasehold.kernel.keys import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping


_container = cache(partial(open_container, "audit_root"))
_bucket = cache(open_bucket)


def lambda_handler(_event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    container = _container()
    root = keep_root(container.services, _bucket())
    return {"at": to_text(root.at), "targets": root.targets, "digest": root.digest}
