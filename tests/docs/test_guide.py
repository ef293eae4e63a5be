"""The guide's code is run, word for word."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from leasehold import Fixed, JobStatus, Priority
from tests.docs.markdown import code_blocks

if TYPE_CHECKING:
    from leasehold.testing import LeaseholdTest

PAGE = "docs/guide.md"


def test_the_scheduler_ports_example_completes_its_job(deployed: LeaseholdTest, shown: dict[str, Any]) -> None:
    exec(block_with("JobScheduler("), shown)

    assert deployed.queue.get(str(shown["job_id"])).status is JobStatus.COMPLETED


def test_the_recurring_job_of_the_guide_is_at_nine_on_weekdays(shown: dict[str, Any]) -> None:
    exec(block_with('schedules.create("morning"'), shown)

    local = [slot.astimezone(ZoneInfo("Europe/Berlin")) for slot in shown["coming"]]
    assert [(slot.hour, slot.weekday() < 5) for slot in local] == [(9, True)] * 3


def test_the_templates_example_makes_a_job_that_is_partly_the_templates(
    deployed: LeaseholdTest, shown: dict[str, Any]
) -> None:
    exec(block_with("schedules.create"), shown)
    exec(block_with("templates.create"), shown)

    job = deployed.queue.get(shown["summary"].job_id)
    assert (job.payload, job.retry) == ({"user_id": "bob", "style": "long"}, Fixed(timedelta(minutes=5)))
    assert deployed.queue.schedules.get("fridays").template == "weekly"


def test_the_example_of_priorities_and_order_changes_the_order(deployed: LeaseholdTest, shown: dict[str, Any]) -> None:
    exec(block_with("queue.move"), shown)

    early, late = (deployed.queue.get(shown[name].job_id) for name in ("early", "late"))
    assert (early.priority, early.due_at) == (Priority.CRITICAL, deployed.clock.now())
    assert (late.priority, late.due_at) == (Priority.NORMAL, early.scheduled_for)
    assert deployed.drain()["completed"] == 1
    assert deployed.queue.get(early.job_id).status is JobStatus.COMPLETED


def test_the_group_of_the_guide_runs_in_order_and_is_made_once(deployed: LeaseholdTest, shown: dict[str, Any]) -> None:
    exec(block_with("groups.create"), shown)

    assert (shown["made"].created, shown["again"].created, shown["progress"].left) == (True, False, 3)
    assert deployed.drain()["completed"] == 4
    group = deployed.queue.groups.get(shown["made"].group_id)
    assert (group.state, group.completed) == ("completed", 3)
    assert group.callback_job_id is not None
    assert deployed.queue.get(group.callback_job_id).payload == {"user_id": "team", "group": group.progress}


def test_the_direct_run_of_the_guide_is_answered_and_makes_no_job(
    deployed: LeaseholdTest, shown: dict[str, Any]
) -> None:
    jobs = deployed.jobs()

    exec(block_with("queue.run_now"), shown)

    assert shown["answer"] == {"user_id": "ada", "summary": "The day went well."}
    assert deployed.jobs() == jobs


def test_the_cancelling_example_ends_a_waiting_job_and_a_running_one_that_looks(
    deployed: LeaseholdTest, shown: dict[str, Any]
) -> None:
    exec(block_with("context.cancel_requested"), shown)
    assert shown["stopped"].job_ended
    assert deployed.queue.get(shown["job"].job_id).status is JobStatus.CANCELLED
    running = deployed.queue.enqueue("daily_summary", {"user_id": "bob"}).job_id

    def has_more_to_do(*_: object) -> bool:
        deployed.queue.cancel(running, reason="bob has left")
        deployed.clock.advance(timedelta(seconds=5))
        return True

    shown["ThoroughSummaryHandler"].has_more_to_do = has_more_to_do
    deployed.register("daily_summary", shown["ThoroughSummaryHandler"])

    assert deployed.drain(until_idle=True)["cancelled"] == 1
    assert deployed.queue.get(running).cancel_reason == "as requested"


def test_the_circuit_breakers_example_of_a_users_test_passes(shown: dict[str, Any], leasehold: LeaseholdTest) -> None:
    exec(block_with("CircuitBreaker("), shown)

    shown["test_a_mail_server_that_is_down_costs_three_attempts_and_not_a_hundred"](leasehold)

    assert leasehold.operator.switches().pauses == {}


def block_with(text: str) -> str:
    return next(block for block in code_blocks(PAGE, "python") if text in block)


def test_every_code_block_of_the_guide_is_run_by_a_test() -> None:
    assert len(code_blocks(PAGE, "python")) == 9
