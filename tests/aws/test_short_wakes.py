"""A wake by the stream is short, whatever it finds; and what it shows is waited for, also before an index shows it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold import JobType
from leasehold.aws.polling import Polling, Wake
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.job import job_record
from leasehold.kernel.keys import key_of
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.other_entries import FreedScope
from leasehold.pollers.waiting import WaitingSettings
from leasehold.telemetry import STREAM
from tests.contract.world import World

if TYPE_CHECKING:
    from leasehold import Job
    from leasehold.kernel.poll import PollReport

# The stream drops records that are older: a wake that lasts as long outlives those behind it.
OLDEST_RECORD = timedelta(seconds=60)


class SlowTable(MemoryTable):
    """Each call takes its time."""

    world: World | None = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in {"get", "query", "write", "transact", "update_many"} and self.world is not None:
            self.world.clock.advance(timedelta(milliseconds=100))
        return found


def answer(world: World, wake: Wake) -> tuple[PollReport, list[dict[str, Any]]]:
    """What a poller does that is started by this wake, and whom it starts."""
    started: list[bytes] = []
    polling = Polling(
        world.services,
        world.dispatches,
        worker_id="poller",
        time_left=timedelta(minutes=2),
        start_another=started.append,
        waiting=WaitingSettings(),
    )
    return polling.answer(wake), [json.loads(each) for each in started]


def shown(job: Job) -> Wake:
    """What the stream shows when this job was written."""
    image = to_item({**job_record(job), "PK": key_of(job.job_id).pk, "SK": key_of(job.job_id).sk})
    return Wake.parse({"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {"NewImage": image}}]})


def test_a_wake_that_meets_a_backlog_leaves_it_to_a_poller_that_may_stay() -> None:
    table = SlowTable()
    world = World(table)
    world.deploy(JobType(name="email", concurrency=200))
    world.poll()
    world.operator.pause("email", reason="provider is down")
    for _ in range(200):
        world.queue.enqueue("email")
    world.poll()
    world.operator.unpause("email")
    table.world, began_at = world, world.clock.now()

    report, started = answer(world, Wake(channel=STREAM, hints=[FreedScope("type:email")]))

    assert 0 < report.claimed < 200
    assert world.clock.now() - began_at < OLDEST_RECORD / 2
    assert [each["source"] for each in started] == ["leasehold.waiting"]


def test_a_job_that_no_index_shows_yet_is_waited_for() -> None:
    elsewhere, world = World(MemoryTable()), World(MemoryTable())
    job_id = elsewhere.queue.enqueue("report", run_in=timedelta(seconds=20)).job_id

    _, started = answer(world, shown(elsewhere.job(job_id)))

    assert [each["source"] for each in started] == ["leasehold.waiting"]
