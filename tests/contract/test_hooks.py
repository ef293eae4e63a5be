"""What a feature that joins in may rely on: what commits with an end, what is owed after it, and what is tidied up."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, NonRetryableError
from leasehold.kernel import keys
from leasehold.kernel.enqueue import JobRequest, NewJob, OnDuplicate, draft, write
from leasehold.kernel.hooks import NOTHING, Feature, Hooks, Joining
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import JobPartition, derive_job_id, partition_of
from leasehold.kernel.table import Update
from leasehold.pollers.settle import settle
from leasehold.telemetry import Event
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold import Job
    from leasehold.kernel.end import Ending
    from leasehold.kernel.services import Services
    from tests.contract.world import World


class FollowUps(Hooks):
    """A feature that owes a follow-up to every job that ends as one of these."""

    def __init__(self, job_type: str, statuses: frozenset[JobStatus]) -> None:
        self._job_type = job_type
        self._statuses = statuses
        self.ends: list[str] = []

    def with_end(self, end: Ending, services: Services) -> Joining:
        return Joining(is_owed=True) if end.step.target in self._statuses else NOTHING

    def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
        (job,) = jobs
        assert job.completed_at is not None
        # The same end gives the same id: a second try finds the job made.
        home = JobPartition(services.deployment.registry().code_of(self._job_type), partition_of(job.job_id).shard)
        job_id = derive_job_id(job.completed_at, home, job.job_id, "follow-up")
        request = JobRequest(wanted=NewJob(), job_type=self._job_type, payload_text='{"n":2}')
        write(draft(request, services, job_id=job_id), services, on_duplicate=OnDuplicate.RETURN_EXISTING)
        return NOTHING

    def after(self, end: Ending, services: Services) -> None:
        self.ends.append(end.step.name)


ENDED = frozenset({JobStatus.COMPLETED, JobStatus.CANCELLED, JobStatus.DEAD_LETTER})


def follow(world: World, job_type: str = "email", statuses: frozenset[JobStatus] = ENDED) -> FollowUps:
    hooks = FollowUps(job_type, statuses)
    concerns = Feature(name="follow-ups", load=lambda: hooks, concerns=lambda job, _: job.job_type == "report")
    world.services.features = [concerns]
    return hooks


def owed(world: World, job: Job) -> DueJob:
    """The job's entry in the due index."""
    assert job.due_lane is not None
    (entry,) = world.store.jobs.due(job.due_lane, world.clock.now(), limit=5).entries
    assert isinstance(entry, DueJob)
    return entry


def test_what_a_job_owes_is_done_after_its_end(world: World) -> None:
    follow(world)
    job_id = world.queue.enqueue("report").job_id
    assert world.work() == ["completed"]
    assert (world.job(job_id).due_at, world.job(job_id).owed) == (world.clock.now(), ("follow-ups",))

    report = world.poll()

    assert report.settled == 1
    assert (world.job(job_id).due, world.job(job_id).owed) == (None, ())
    assert world.work() == ["completed"]
    (made,) = [each for each in world.recorder.of(Event.JOB_ENQUEUED) if each["job_type"] == "email"]
    made_job = world.job(str(made["job_id"]))
    assert (made_job.payload, made_job.status) == ({"n": 2}, JobStatus.COMPLETED)
    assert world.poll().settled == 0


def test_what_was_done_before_a_crash_is_not_done_again(world: World) -> None:
    follow(world)
    job_id = world.queue.enqueue("report").job_id
    world.work()
    entry, before = owed(world, world.job(job_id)), world.job(job_id)

    assert settle(entry, world.services)
    # As if the poller had died before it took the job out of the index: it is settled once more.
    world.table.write(
        Update(
            key=keys.job(before.job_id),
            conditions=(),
            sets={"due_lane": str(before.due_lane), "due_key": entry.due_key, "owed": ["follow-ups"]},
        )
    )
    assert settle(entry, world.services)

    assert world.work() == ["completed"]
    assert world.work() == []


def test_what_was_settled_is_not_settled_again(world: World) -> None:
    follow(world)
    job_id = world.queue.enqueue("report").job_id
    world.work()
    entry = owed(world, world.job(job_id))

    assert [settle(entry, world.services), settle(entry, world.services)] == [True, False]


def test_an_end_that_owes_nothing_leaves_the_index_at_once(world: World) -> None:
    follow(world, statuses=frozenset({JobStatus.COMPLETED}))
    job_id = world.queue.enqueue("report").job_id
    world.script.then(NonRetryableError("broken"))

    assert world.work() == ["dead_letter"]

    assert world.job(job_id).due is None
    assert world.work() == []


def test_a_cancelled_job_owes_too(world: World) -> None:
    follow(world)
    job_id = world.queue.enqueue("report").job_id
    world.queue.cancel(job_id, reason="not needed")

    assert world.poll().settled == 1
    assert world.work() == ["completed"]


def test_what_is_owed_is_done_although_the_system_was_halted_meanwhile(world: World) -> None:
    follow(world)
    job_id = world.queue.enqueue("report").job_id
    world.worker.run(world.claim_one())
    world.operator.halt(reason="bad deploy")

    assert settle(owed(world, world.job(job_id)), world.services)

    assert world.job(job_id).due is None
    world.operator.resume()
    assert world.work() == ["completed"]


def test_what_cannot_be_done_stays_owed_and_is_tried_again_later(world: World) -> None:
    follow(world, "newcomer")
    job_id = world.queue.enqueue("report").job_id
    world.work()

    world.poll()

    assert world.job(job_id).due_at == world.clock.now() + timedelta(minutes=1)
    assert world.job(job_id).owed == ("follow-ups",)
    assert len(world.recorder.of(Event.SETTLE_FAILED)) == 1
    world.deploy(*TYPES, JobType(name="newcomer"))
    world.clock.advance(timedelta(minutes=1))
    assert world.poll().settled == 1
    assert world.work() == ["completed"]


def test_what_is_owed_to_a_feature_that_nobody_knows_waits_for_a_version_that_does(world: World) -> None:
    follow(world)
    job_id = world.queue.enqueue("report").job_id
    world.work()
    known, world.services.features = world.services.features, []

    world.poll()

    assert world.job(job_id).owed == ("follow-ups",)
    world.services.features = known
    world.clock.advance(timedelta(minutes=1))
    assert world.poll().settled == 1


def test_a_feature_hears_of_every_end_once_and_of_no_job_that_does_not_concern_it(world: World) -> None:
    hooks = follow(world)
    world.queue.enqueue("email")
    world.work()
    assert hooks.ends == []

    world.queue.cancel(world.queue.enqueue("report").job_id, reason="not needed")
    world.queue.enqueue("report")
    world.script.then(RuntimeError("not this time"))
    world.work()

    assert hooks.ends == ["cancel", "fail"]


def test_the_code_of_a_feature_is_loaded_by_the_first_job_that_it_concerns(world: World) -> None:
    def load() -> Hooks:
        pytest.fail("a plain job needs no feature")

    world.services.features = [Feature(name="any", load=load, concerns=lambda job, _: job.job_type == "report")]
    world.queue.enqueue("email")

    assert world.work() == ["completed"]
