"""What a command imports, and how many of its requests wait for each other: both are the seconds that people wait."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from leasehold import JobType, Operator, Queue, Registry
from leasehold.admin.reading import Admin
from leasehold.cli.operating.overview import overview
from leasehold.features import Store
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.services import Services
from leasehold.pool import InTurn, Threads
from leasehold.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.table import Key, Page, Record
    from leasehold.pool import Pool

# Each takes a twentieth of a second or more to import, and `status --json` needs none of them. (pydantic it does: typer
# reads every option with it.)
NOT_FOR_STATUS = [
    "boto3",
    "leasehold.groups.stop",
    "rich",
    "s3transfer",
    "markdown_it",
    "pygments",
    "typer.rich_utils",
    "aws_lambda_powertools",
]
_IMPORTS = """
import sys, time
began = time.process_time()
sys.argv = ["leasehold", "status", "--json", "--local", "--root", {root!r}]
from leasehold.cli.main import main
try:
    main()
except SystemExit:
    pass
import leasehold.cli.operating.overview, leasehold.local.aws.connection
from leasehold.cli.session import Session, SharedOptions
Session(SharedOptions(jobs_table="jobs", dead_letters_table="dead", region="us-east-1")).admin
print(f"{{time.process_time() - began:.2f}} s of CPU for the imports of status (goal, with its calls: 0.5 s)")
print(",".join(sys.modules))
"""


class WatchedTable(MemoryTable):
    """Knows of each request how many others had to end before it began."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = self.in_sequence = 0
        self._counting = threading.Lock()

    def get(self, key: Key) -> Record | None:
        return self._watched(lambda: super(WatchedTable, self).get(key))

    def query(self, *args: Any, **options: Any) -> Page:
        return self._watched(lambda: super(WatchedTable, self).query(*args, **options))

    def _watched[T](self, ask: Callable[[], T]) -> T:
        with self._counting:
            self.requests += 1
            place = self.in_sequence + 1
        time.sleep(0.02)
        answer = ask()
        with self._counting:
            self.in_sequence = max(self.in_sequence, place)
        return answer


def looked(pool: Pool) -> WatchedTable:
    table = WatchedTable()
    queue = Queue(Services(store=Store(table), clock=FakeClock(), pool=pool))
    Operator(queue.services).publish(Registry(types={f"type_{n}": JobType(name=f"type_{n}") for n in range(12)}))
    table.requests = table.in_sequence = 0
    overview(Admin(queue.services), queue.services.clock.now())
    return table


def test_a_status_imports_no_more_than_it_needs(tmp_path: Any):
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS.format(root=str(tmp_path))],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )

    figure, modules = done.stdout.splitlines()[-2:]
    print(figure)
    imported = set(modules.split(","))
    assert imported.isdisjoint(NOT_FOR_STATUS)
    others = {name for name in imported if name.startswith("leasehold.cli.operating.")}
    assert others == {f"leasehold.cli.operating.{name}" for name in ("status", "overview")}


def test_the_requests_of_a_status_run_side_by_side():
    alone, together = looked(InTurn()), looked(Threads())

    assert alone.in_sequence == alone.requests > 40
    assert together.requests == alone.requests
    assert together.in_sequence < alone.requests / 2
    print(f"{together.requests} requests, {together.in_sequence} in sequence")
