"""A change that leaves a record is recognised when its response was lost and its token is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.audit.records import check_audit_entry, retried
from leasehold.kernel.errors import InvalidOptionError, StoreUnavailableError
from leasehold.kernel.table import JOBS
from leasehold.testing import FakeClock
from tests.unit.worlds import SpyTable, spied_queue

CHANGES = {
    "create": lambda queue: queue.templates.create("new", "user_sync"),
    "update": lambda queue: queue.templates.update("nightly", priority=3),
    "delete": lambda queue: queue.templates.delete("nightly"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_whose_response_is_lost_is_recognised_on_its_retry(change, monkeypatch):
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    queue.templates.create("nightly", "user_sync")
    clock.advance(timedelta(seconds=1))
    transact = SpyTable.transact

    def repeated(self, changes, *, token, foreign=()):
        """As a request is that is sent again once the ten minutes of its token are over."""
        transact(self, changes, token=token)
        transact(self, changes, token=token[::-1])

    monkeypatch.setattr(SpyTable, "transact", repeated)
    CHANGES[change](queue)

    name = "new" if change == "create" else "nightly"
    records = table.query(JOBS, f"audit#template#{name}", limit=99).records
    assert [record["action"] for record in records] == (["create"] if change == "create" else ["create", change])


def test_who_always_comes_too_late_is_told_so_after_ten_seconds():
    queue, _ = spied_queue(clock=(clock := FakeClock()))
    began_at, tries = clock.now(), []

    with pytest.raises(StoreUnavailableError, match="template 'x' was changed by others all the time, for 10 s"):
        retried("template 'x'", lambda: tries.append(1), queue.services)

    assert timedelta(seconds=10) <= clock.now() - began_at < timedelta(seconds=11)
    assert 5 < len(tries) < 100


@pytest.mark.parametrize(
    ("by", "reason"), [("", "r"), ("ada", ""), (None, "r"), ("a" * 257, "r"), ("ada", "r" * 1025), ("\ud800", "r")]
)
def test_a_change_by_nobody_or_for_no_reason_is_refused(by, reason):
    with pytest.raises(InvalidOptionError, match=r"a change of a template needs a name .* and a reason"):
        check_audit_entry("template", by, reason)
