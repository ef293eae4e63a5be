"""A change that leaves a record is recognised when its response was lost and its token is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.audit.records import check_audit_entry, retried
from leasehold.kernel.errors import InvalidOptionError, StoreUnavailableError
from leasehold.kernel.table import JOBS
from leasehold.testing import FakeClock
from tests.worlds import SpyTable, require_reasons, spied_queue

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
    ("by", "reason"),
    [("", "r"), (None, "r"), ("a" * 257, "r"), ("\ud800", "r"), ("ada", "r" * 1025), ("ada", None), ("ada", "\ud800")],
)
def test_a_change_by_nobody_or_with_a_reason_that_is_none_is_refused(by, reason):
    with pytest.raises(InvalidOptionError, match=r"a change of a template needs a name|a reason is text"):
        check_audit_entry("template", by, reason, spied_queue()[0].services)


def test_a_reason_is_read_up_only_where_none_is_given():
    queue, table = spied_queue()
    queue.services.deployment.forget()

    assert check_audit_entry("switch", "ada", "fire", queue.services) == "fire"
    assert table.reads == []
    assert check_audit_entry("switch", "ada", "", queue.services) == "no reason given"


def test_a_program_needs_a_reason_too_where_the_deployment_asks_for_one():
    queue, _ = spied_queue()
    job_id = queue.enqueue("user_sync").job_id
    require_reasons(queue.services)

    with pytest.raises(InvalidOptionError, match="this queue asks for a reason"):
        queue.cancel(job_id)
    with pytest.raises(InvalidOptionError, match="this queue asks for a reason"):
        queue.operator.pause("user_sync")
    with pytest.raises(InvalidOptionError, match="this queue asks for a reason"):
        queue.operator.redrive_many()

    assert queue.cancel(job_id, reason="wrong user").job_ended
