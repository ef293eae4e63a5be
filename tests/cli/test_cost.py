"""What a look costs: docs/cli.md states these figures."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from leasehold import JobType, Operator, Queue, Registry
from leasehold.admin.reading import Admin
from leasehold.cli.commands import app
from leasehold.cli.session import Session, SharedOptions
from leasehold.features import Store
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.services import Services
from leasehold.testing import FakeClock
from tests.docs.markdown import text_of

if TYPE_CHECKING:
    from leasehold.kernel.table import Key, Page, Record


class CountingTable(MemoryTable):
    """Counts what would be requests to DynamoDB."""

    reads = 0

    def get(self, key: Key) -> Record | None:
        self.reads += 1
        return super().get(key)

    def get_many(self, keys: Any) -> list[Record]:
        found = super().get_many(keys)
        # A batch is one request, though this table gets its items one by one.
        self.reads += 1 - len(set(keys))
        return found

    def query(self, *args: Any, **options: Any) -> Page:
        """Counts too: this table makes a count of a query."""
        self.reads += 1
        return super().query(*args, **options)


@pytest.fixture
def table() -> CountingTable:
    return CountingTable()


@pytest.fixture
def queue(table: CountingTable) -> Queue:
    queue = Queue(Services(store=Store(table), clock=FakeClock()))
    names = ("daily_summary", "send_mail", "user_sync")
    Operator(queue.services).publish(Registry(types={name: JobType(name=name) for name in names}))
    return queue


def reads_of(queue: Queue, table: CountingTable, *arguments: str) -> int:
    before = table.reads
    # Each command is a process of its own, with nothing in its caches.
    services = Services(store=queue.services.store, clock=queue.services.clock)

    def session(options: SharedOptions) -> Session:
        opened = Session(options)
        opened.admin, opened.clock = Admin(services), services.clock
        return opened

    result = CliRunner().invoke(app, arguments, obj=session)
    assert result.exit_code == 0, result.output
    return table.reads - before


def test_a_status_of_three_types_makes_as_many_requests_as_the_page_says(queue: Queue, table: CountingTable):
    reads = reads_of(queue, table, "status")

    assert f"{reads} requests for three job types" in " ".join(text_of("docs/cli.md").split())


def test_a_look_at_one_job_is_two_requests_and_four_for_its_position_if_it_has_one(queue: Queue, table: CountingTable):
    later = queue.enqueue("daily_summary", run_in=timedelta(hours=1)).job_id
    due = queue.enqueue("daily_summary").job_id

    assert (reads_of(queue, table, "job", later), reads_of(queue, table, "job", due)) == (2, 2 + 4)
