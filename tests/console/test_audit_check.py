"""What the console says of the audit: one trail or all, and the daily roots that vouch for them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold import Operator
from leasehold.audit.keys import audit_head_key, audit_partition, audit_record_key
from leasehold.audit.roots import keep_root
from leasehold.aws.archive import RootFolder
from leasehold.console.console import Console
from leasehold.console.security import Guard
from leasehold.kernel.table import Delete
from leasehold.testing import FakeClock
from tests.worlds import DEPLOYED, spied_queue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leasehold import Queue


def console_on(queue: Queue, open_roots: Callable[[str], RootFolder] | None = None) -> Console:
    return Console(queue.services, Guard(port=0), name="dev", open_roots=open_roots)


def check(console: Console, query: str = "") -> dict[str, Any]:
    answer = console.verified(query)
    assert answer.status == 200, answer.body
    document: dict[str, Any] = json.loads(answer.body)
    return document


def test_a_trail_that_was_removed_shows_in_the_roots(tmp_path: Path) -> None:
    queue, table = spied_queue(clock=(clock := FakeClock()))
    Operator(queue.services).publish(replace(DEPLOYED, audit_roots="the-bucket"))
    Operator(queue.services).pause("user_sync", reason="noise")
    Operator(queue.services).pause("daily_summary", reason="noise")
    clock.advance(timedelta(hours=2))
    archive = RootFolder(tmp_path)
    keep_root(queue.services, archive)
    console = console_on(queue, {"the-bucket": archive}.__getitem__)
    sound = {"from": str(tmp_path), "kept": 1, "flaws": []}
    assert check(console) == {"target": None, "checked": 2, "flaws": [], "roots": sound}
    one = "control#type#user_sync"
    assert check(console, "target=control%23type%23user_sync") == {
        "target": one,
        "checked": 1,
        "flaws": [],
        "roots": sound,
    }

    for record in table.query(audit_head_key(one).table, audit_partition(one), limit=9).records:
        table.write(Delete(key=audit_record_key(str(record["PK"]), str(record["SK"])), conditions=()))
    table.write(Delete(key=audit_head_key(one), conditions=()))

    told = check(console)
    assert told["flaws"] == []
    assert told["roots"]["flaws"] == ["root of 2026-01-01: the trails of that day no longer lead to it"]


def test_without_roots_it_says_so() -> None:
    queue, _ = spied_queue()

    assert check(console_on(queue))["roots"] is None


def test_a_target_of_no_kind_is_refused() -> None:
    queue, _ = spied_queue()

    assert console_on(queue).verified("target=nonsense").status == 400
