"""What a member that fails means for the others, and what a cancel does to all of them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Cancel, JobStatus, NewJob, NonRetryableError, Outcome
from leasehold.admin.others import Auditor
from leasehold.groups.model import GroupEndedError, GroupState
from leasehold.kernel.hooks import NOTHING, Feature, Hooks, Joining
from leasehold.telemetry import COMPLETED, Event
from tests.contract.grouping import callbacks, counts, group, make, members, order_of_runs, run_out, states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold import Job
    from leasehold.kernel.end import Ending
    from leasehold.kernel.services import Services
    from tests.contract.world import World

BROKEN = NonRetryableError("broken")
MINUTE = timedelta(minutes=1)


def fail_second(world: World, on_failure: str) -> None:
    make(world, 5, on_failure=on_failure, callback=NewJob(job="email"))
    world.script.then(None, BROKEN)
    run_out(world)


def test_stop_cancels_the_members_that_wait_and_says_why(world: World) -> None:
    fail_second(world, "stop")

    assert states(world) == ["completed", "failed", "cancelled", "cancelled", "cancelled"]
    assert counts(world) == ("failed", 1, 1, 3, 0)
    assert {job.cancel_reason for job in members(world)[2:]} == {"group import stopped: member 1 failed: non_retryable"}
    assert group(world).reason == "member 1 failed: non_retryable"
    assert len(callbacks(world)) == 1
    assert world.recorder.total(COMPLETED, status="cancelled") == 3


def test_skip_remaining_completes_the_members_that_wait_as_skipped(world: World) -> None:
    fail_second(world, "skip_remaining")

    assert states(world) == ["completed", "failed", "completed", "completed", "completed"]
    assert counts(world) == ("failed", 1, 1, 0, 3)
    (run,) = members(world)[4].runs
    assert (run.outcome, run.reason) == (Outcome.SKIPPED, "group import stopped: member 1 failed: non_retryable")
    assert len(callbacks(world)) == 1


def test_continue_runs_the_others_all_the_same(world: World) -> None:
    fail_second(world, "continue")

    assert order_of_runs(world)[:5] == [0, 1, 2, 3, 4]
    assert counts(world) == ("failed", 4, 1, 0, 0)


@pytest.mark.parametrize("on_failure", ["stop", "skip_remaining", "continue"])
def test_a_failure_of_the_last_member_ends_the_group_as_failed(world: World, on_failure: str) -> None:
    make(world, 2, on_failure=on_failure)
    world.script.then(None, BROKEN)

    run_out(world)

    assert counts(world) == ("failed", 1, 1, 0, 0)


@pytest.mark.parametrize(
    ("on_failure", "ended"), [("stop", ("failed", 1, 1, 3, 0)), ("skip_remaining", ("failed", 1, 1, 0, 3))]
)
def test_what_runs_when_a_parallel_group_stops_finishes(
    world: World, on_failure: str, ended: tuple[str, int, int, int, int]
) -> None:
    # Two at once by the type's limit: the others wait when one of them fails.
    make(world, 5, "limited", mode="parallel", on_failure=on_failure)
    first, second = world.claim()

    def pause_and_fail(_context: object) -> None:
        # Between the failure and its count a free seat could let another one in, which would then finish too.
        world.operator.pause("limited", reason="a test")
        raise BROKEN

    world.script.then(pause_and_fail)
    assert world.worker.run(first) == "dead_letter"
    world.poll()
    world.operator.unpause("limited")

    assert (group(world).state, group(world).left) == (GroupState.STOPPING, 1)
    assert world.worker.run(second) == "completed"
    run_out(world)

    assert counts(world) == ended
    assert order_of_runs(world) == [0, 1]


def test_a_member_that_waits_for_its_next_try_is_ended_like_those_that_never_ran(world: World) -> None:
    make(world, 2, mode="parallel")
    world.script.then(RuntimeError("not this time"), BROKEN)

    run_out(world)

    assert counts(world) == ("failed", 0, 1, 1, 0)


def test_a_stop_ends_and_counts_more_members_than_one_visit_sees(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.groups.stop._PAGE", 2)
    monkeypatch.setattr("leasehold.groups.stop._PAGES_A_VISIT", 2)
    make(world, 12)
    world.script.then(BROKEN)

    run_out(world)

    assert counts(world) == ("failed", 0, 1, 11, 0)
    assert world.recorder.of(Event.ENTRY_FAILED) == []


def test_a_member_that_owes_something_else_does_that_before_it_is_counted(world: World) -> None:
    counted_when_settled: list[tuple[object, ...]] = []

    class Owed(Hooks):
        def with_end(self, end: Ending, services: Services) -> Joining:
            return Joining(is_owed=True)

        def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
            counted_when_settled.append(counts(world))
            return NOTHING

    other = Feature(name="other", load=Owed, concerns=lambda job, _: job.member == 2)
    world.services.features = [other, *world.services.features]
    make(world, 3)
    world.script.then(BROKEN)

    assert run_out(world) == ["dead_letter"]

    assert counted_when_settled == [("stopping", 0, 1, 1, 0)]
    assert counts(world) == ("failed", 0, 1, 2, 0)


def test_a_cancel_ends_what_waits_and_asks_what_runs_to_stop(world: World) -> None:
    make(world, 5, "limited", mode="parallel", callback=NewJob(job="email"))
    started, unstarted = world.claim()

    def cancelled_meanwhile(_context: object) -> None:
        world.queue.groups.cancel("import", reason="wrong file")
        world.poll()
        raise RuntimeError("interrupted")

    world.script.then(cancelled_meanwhile)
    assert world.worker.run(started) == "cancelled"
    run_out(world)

    assert states(world) == ["cancelled"] * 5
    assert counts(world) == ("cancelled", 0, 0, 5, 0)
    assert {job.cancel_reason for job in members(world)} == {"group import was cancelled: wrong file"}
    assert world.worker.run(unstarted) == "not_started"
    (told,) = callbacks(world)
    assert told.payload == {"group": group(world).progress}


def test_a_member_that_completes_after_the_cancel_counts_as_completed(world: World) -> None:
    make(world, 3)
    (handover,) = world.claim()
    world.script.then(lambda _context: str(world.queue.groups.cancel("import", reason="wrong file").state))

    assert world.worker.run(handover) == "completed"
    run_out(world)

    assert counts(world) == ("cancelled", 1, 0, 2, 0)
    assert order_of_runs(world) == [0]


def test_a_cancel_of_a_group_that_stops_already_ends_it_as_cancelled(world: World) -> None:
    make(world, 3, "limited", mode="parallel")
    first, second = world.claim()
    world.script.then(BROKEN)
    world.worker.run(first)
    world.poll()
    assert group(world).state is GroupState.STOPPING

    world.queue.groups.cancel("import", reason="wrong file")
    run_out(world)

    assert counts(world) == ("cancelled", 0, 1, 2, 0)
    assert world.worker.run(second) == "not_started"


def test_a_cancel_says_why_and_a_second_one_changes_nothing(world: World) -> None:
    make(world, 3)
    first = world.queue.groups.cancel("import", reason="wrong file")

    second = world.queue.groups.cancel("import", reason="another reason")

    assert (second.state, second.reason) == (GroupState.CANCELLING, "wrong file")
    assert second == first


def test_a_cancel_leaves_one_record_of_who_did_it_and_none_for_each_member(world: World) -> None:
    make(world, 3, mode="parallel")
    world.claim()
    world.queue.groups.cancel("import", reason="wrong file")
    run_out(world)

    (record,) = Auditor(world.services).records(limit=9).items

    assert (record.audit_entry.target, record.audit_entry.action) == ("group#import", "cancel")
    assert (record.audit_entry.by, record.audit_entry.reason) == (world.services.identity.actor(), "wrong file")
    assert record.is_sound


def test_a_group_that_has_ended_cannot_be_cancelled(world: World) -> None:
    make(world, 1)
    run_out(world)

    with pytest.raises(GroupEndedError, match=r"cannot cancel group 'import': it has ended already \(completed\)"):
        world.queue.groups.cancel("import", reason="too late")


def test_a_member_whose_handler_cancels_it_is_no_failure(world: World) -> None:
    make(world, 2)
    world.script.then(Cancel("no longer wanted"))

    run_out(world)

    assert counts(world) == ("completed", 1, 0, 1, 0)


def test_a_stopped_group_is_not_seen_by_polls_any_more(world: World) -> None:
    fail_second(world, "stop")
    world.clock.advance(MINUTE)

    report = world.poll()

    assert (report.scanned, report.settled) == (0, 0)
    assert all(job.due is None for job in members(world))


def test_a_dead_member_stays_a_dead_letter_with_its_group(world: World) -> None:
    fail_second(world, "stop")

    assert world.status(members(world)[1].job_id) is JobStatus.DEAD_LETTER
    assert [dead_letter.id for dead_letter in world.operator.dead_letters()] == [members(world)[1].job_id]
