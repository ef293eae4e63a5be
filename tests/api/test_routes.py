"""What each route does, through the resolver; every answer is as the description says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import NewJob
from leasehold.api import documents
from leasehold.api.application import OPERATIONS
from leasehold.kernel.keys import to_text
from leasehold.kernel.transitions import JobStatus
from leasehold.webhooks.model import external_status
from tests.api.world import ADMIN, Answered, Api, ErrandHandler, Things, filled, furnished, in_memory
from tests.worlds import require_reasons

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.testing import LeaseholdTest
    from tests.api.world import Errand

REASON = {"reason": "a test"}
# What each action is sent; what is not in here needs a reason only.
BODIES: dict[str, dict[str, Any]] = {
    "POST /api/jobs": {"job_type": "report"},
    "POST /api/jobs/cancel": {"job_type": "report", "dry_run": True},
    "POST /api/jobs/{job_id}/reschedule": {"run_in": 60},
    "POST /api/jobs/{job_id}/priority": {"priority": 0},
    "POST /api/direct-runs": {"job_type": "errand"},
    "POST /api/schedules": {"name": "daily", "job_type": "report", "cron": "0 9 * * *"},
    "PATCH /api/schedules/{name}": {"every": 7200},
    "POST /api/schedules/{name}/backfill": {"start": "2025-12-31T00:00:00Z", "end": "2026-01-01T00:00:00Z"},
    "POST /api/templates": {"name": "weekly", "job_type": "report", "retry": {"kind": "fixed", "delay": 5}},
    "PATCH /api/templates/{name}": {"priority": 2},
    "POST /api/groups": {"jobs": [{"job_type": "report"}], "mode": "parallel"},
}

# What is made says "created" for itself, and a dry run leaves no record.
MAKE_OR_LOOK = {"create_job", "create_group", "cancel_jobs"}


@dataclass
class World:
    test: LeaseholdTest
    api: Api
    things: Things

    def act(self, route: str, body: object = None, **options: Any) -> Answered:
        return self.api.send(route.replace("{waiting}", self.things.waiting), body, **options)

    def done(self, route: str, **body: Any) -> dict[str, Any]:
        answer = self.act(route, {**REASON, **body})
        assert answer.status in {200, 201}, answer.body
        return answer.body

    def shown(self, route: str, query: str = "") -> dict[str, Any]:
        answer = self.act(route, query=query)
        assert answer.status == 200, answer.body
        return answer.body


@pytest.fixture
def world() -> World:
    test = in_memory()
    things = furnished(test)
    return World(test, Api(test.services), things)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_route_answers_as_described(operation: Any, world: World) -> None:
    path = filled(operation.path, world.things)
    if operation.name in {"purge_job"}:
        path = path.replace(world.things.waiting, world.things.completed)
    if operation.name == "move_job":
        BODIES[operation.route] = {"before": world.test.queue.enqueue("report").job_id}
    if operation.name == "get_direct_run":
        path = f"/api/direct-runs/{world.done('POST /api/direct-runs', job_type='errand')['run_id']}"
    body = {**REASON, **BODIES.get(operation.route, {})} if operation.body else None

    query = "every=3600" if operation.name == "preview_schedule" else ""

    answer = world.api.send(f"{operation.method} {path}", body, query=query)

    assert answer.status in operation.answers, answer.body
    getattr(documents, operation.answers[answer.status]).model_validate(answer.body)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.method != "GET"], ids=lambda each: each.name)
@pytest.mark.parametrize("is_asked_for", [False, True], ids=["reasons are optional", "reasons are required"])
def test_an_action_needs_a_reason_where_the_deployment_asks_for_one(
    operation: Any, is_asked_for: bool, world: World
) -> None:
    if is_asked_for:
        require_reasons(world.test.services)
    things = replace(world.things, waiting=world.things.completed) if operation.name == "purge_job" else world.things
    if operation.name == "move_job":
        BODIES[operation.route] = {"before": world.test.queue.enqueue("report").job_id}

    answer = world.api.send(f"{operation.method} {filled(operation.path, things)}", BODIES.get(operation.route, {}))

    if is_asked_for and operation.name not in MAKE_OR_LOOK:
        assert (answer.status, answer.code) == (400, "invalid_option")
        assert "this queue asks for a reason" in answer.body["detail"]
    else:
        assert answer.status in operation.answers, answer.body


def test_what_is_done_without_a_reason_has_that_on_record_and_needs_no_body(world: World) -> None:
    cancelled = world.api.send(f"POST /api/jobs/{world.things.waiting}/cancel")

    assert cancelled.status == 200
    (record,) = world.shown("GET /api/audit", f"target=job%23{world.things.waiting}")["items"]
    assert (record["action"], record["reason"]) == ("cancel", "no reason given")


def test_a_job_comes_from_a_template_with_a_priority_of_its_own(world: World) -> None:
    made = world.done("POST /api/jobs", template="nightly", priority=0, payload={"n": 1})

    job = world.test.queue.get(made["job_id"])
    assert (job.template, job.priority, job.payload) == ("nightly", 0, {"do": "answer", "n": 1})


def test_all_options_of_a_job_arrive(world: World) -> None:
    run_at = world.test.clock.now() + timedelta(hours=2)
    made = world.done(
        "POST /api/jobs",
        job_type="report",
        run_at=to_text(run_at),
        start_by=to_text(run_at + timedelta(hours=1)),
        dedup_key="ada",
        dedup_window={"kind": "day", "timezone": "Europe/Berlin"},
        max_attempts=2,
        concurrency_key="tenant",
        retry={"kind": "delays", "delays": [1, 2.5]},
        webhook="https://example.com/hook",
    )

    shown = world.shown(f"GET /api/jobs/{made['job_id']}")
    assert shown["scheduled_for"] == to_text(run_at)
    assert (shown["dedup_key"], shown["dedup_window"], shown["concurrency_key"]) == ("ada", "2026-01-01", "tenant")
    assert (shown["retry"], shown["max_attempts"]) == ({"kind": "delays", "delays": [1.0, 2.5]}, 2)
    assert (shown["webhook"], shown["state"]) == ("https://example.com/hook", "QUEUED")


def test_a_duplicate_is_found_refused_or_replaced_as_it_is_asked(world: World) -> None:
    body = {"job_type": "report", "dedup_key": "ada", "run_in": 60}
    first = world.done("POST /api/jobs", **body)["job_id"]

    found = world.act("POST /api/jobs", {**body, **REASON})
    refused = world.act("POST /api/jobs", {**body, **REASON, "on_duplicate": "raise"})
    replaced = world.act("POST /api/jobs", {**body, **REASON, "on_duplicate": "replace"})

    assert (found.status, found.body) == (200, {"job_id": first, "created": False})
    assert (refused.status, refused.code, refused.body["existing"]) == (409, "duplicate_job", first)
    assert (replaced.status, replaced.body["replaced"]) == (201, first)


def test_jobs_are_filtered_and_paged(world: World) -> None:
    query = "job_type=errand&status=completed&status=dead_letter&limit=1"
    first = world.shown("GET /api/jobs", query)

    second = world.shown("GET /api/jobs", f"{query}&cursor={first['cursor']}")

    found = {each["job_id"] for page in (first, second) for each in page["items"]}
    assert found == {world.things.completed, world.things.dead}


def test_a_failed_run_is_retried_as_a_new_job_and_another_is_not(world: World) -> None:
    again = world.done(f"POST /api/job-runs/{world.things.dead}.1/retry", priority=2)
    refused = world.act(f"POST /api/job-runs/{world.things.completed}.1/retry", REASON)
    missing = world.act(f"POST /api/job-runs/{world.things.dead}.7/retry", REASON)

    job = world.test.queue.get(again["job_id"])
    assert (job.retry_of, job.priority) == (world.things.dead, 2)
    assert (refused.status, refused.code) == (409, "wrong_state")
    assert missing.status == 404


def test_a_retry_needs_neither_a_body_nor_a_reason(world: World) -> None:
    by_run = world.act(f"POST /api/job-runs/{world.things.dead}.1/retry")
    by_job = world.act(f"POST /api/jobs/{world.things.completed}/retry")

    assert (by_run.status, by_job.status) == (201, 201)
    (record,) = world.shown("GET /api/audit", f"target=job%23{world.things.completed}")["items"]
    assert (record["action"], record["reason"]) == ("retry", "no reason given")


def test_a_job_is_made_of_a_template_id_as_of_a_template(world: World) -> None:
    made = world.act("POST /api/jobs", {"template_id": "nightly", "priority": 2})
    torn = world.act("POST /api/jobs", {"template_id": "nightly", "template": "weekly"})

    job = world.test.queue.get(made.body["job_id"])
    assert (made.status, job.template, job.priority) == (201, "nightly", 2)
    assert (torn.status, torn.code) == (400, "invalid_request")


@pytest.mark.parametrize("state", ["QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"])
def test_jobs_are_listed_by_the_states_of_the_requirements(state: str, world: World) -> None:
    meant = [status for status in JobStatus if external_status(status) == state]

    listed = world.shown("GET /api/jobs", f"status={state}")["items"]

    by_status = world.shown("GET /api/jobs", "&".join(f"status={each}" for each in meant))["items"]
    assert listed == by_status
    assert {each["state"] for each in listed} <= {state}


def test_a_run_is_there_from_its_start_and_is_not_retried_before_its_end(world: World) -> None:
    seen: list[Any] = []
    job_id = world.test.queue.enqueue("report", {"do": "watch"}).job_id

    class Watched(ErrandHandler):
        def handle(self, payload: Errand, context: JobContext) -> dict[str, str]:
            if context.job_id != job_id:
                return {}
            run_id = f"{context.job_id}.1"
            seen.extend([world.act(f"GET /api/job-runs/{run_id}"), world.act(f"POST /api/job-runs/{run_id}/retry")])
            seen.append(world.shown(f"GET /api/jobs/{context.job_id}")["runs"])
            return {}

    world.test.register("report", Watched)
    world.test.drain()

    running, refused, runs = seen
    assert (running.status, running.body["status"], "ended_at" in running.body) == (200, "RUNNING", False)
    assert (refused.status, refused.code) == (409, "wrong_state")
    assert runs == [running.body]
    assert world.shown(f"GET /api/job-runs/{job_id}.1")["status"] == "COMPLETED"
    assert world.act(f"GET /api/job-runs/{job_id}.2").status == 404


def test_the_queue_is_listed_in_the_order_of_dispatch_and_a_job_is_moved_to_a_position(world: World) -> None:
    first, second, third = (world.test.queue.enqueue("report", priority=3).job_id for _ in range(3))
    world.done(f"POST /api/jobs/{third}/move", position=1)

    listed = world.shown("GET /api/queue", "limit=3")["items"]

    assert (listed[0]["position"], listed[0]["job_id"]) == (1, third)
    assert {each["job_id"] for each in listed} == {first, second, third}
    assert world.shown(f"GET /api/jobs/{third}")["position"] == 1
    assert world.shown("GET /api/queue", "limit=3&shard=0")["items"] == listed
    assert world.act("GET /api/queue", query="shard=7").code == "invalid_option"


def test_jobs_are_listed_by_when_they_were_created(world: World) -> None:
    before = world.test.clock.now() + timedelta(minutes=1)
    world.test.clock.advance(timedelta(minutes=2))
    late = world.test.queue.enqueue("report", run_in=timedelta(days=3)).job_id

    newer = world.shown("GET /api/jobs", f"created_from={to_text(before)}")["items"]
    older = world.shown("GET /api/jobs", f"created_to={to_text(before)}")["items"]

    assert [each["job_id"] for each in newer] == [late]
    assert late not in {each["job_id"] for each in older}
    assert older


def test_a_waiting_job_is_changed_in_each_way(world: World) -> None:
    assert world.done("POST /api/jobs/{waiting}/priority", priority=3)["priority"] == 3
    later = world.test.clock.now() + timedelta(hours=5)
    assert world.done("POST /api/jobs/{waiting}/reschedule", run_at=to_text(later))["due_at"] == to_text(later)
    assert world.done("POST /api/jobs/{waiting}/run-now")["due_at"] == to_text(world.test.clock.now())
    assert world.done("POST /api/jobs/{waiting}/cancel")["job_ended"] is True
    actions = [
        each["action"] for each in world.shown("GET /api/audit", f"target=job%23{world.things.waiting}")["items"]
    ]
    assert sorted(actions) == ["cancel", "edit", "reschedule", "reschedule"]


def test_a_reschedule_without_a_time_is_refused(world: World) -> None:
    answer = world.act("POST /api/jobs/{waiting}/reschedule", REASON)

    assert (answer.status, answer.body["fields"][0]["field"]) == (400, "body")


def test_a_bulk_redrive_is_rehearsed_then_done(world: World) -> None:
    rehearsed = world.done("POST /api/dead-letters/redrive", job_type="errand", dry_run=True)
    done = world.done("POST /api/dead-letters/redrive", job_type="errand")

    assert rehearsed == {"dry_run": True, "job_ids": [world.things.dead]}
    assert [each["dead_letter_id"] for each in done["results"]] == [world.things.dead]
    assert world.shown("GET /api/dead-letters")["items"] == []
    assert world.shown(f"GET /api/dead-letters/{world.things.dead}")["resolution"] == "redriven"


def test_dead_letters_in_a_list_come_without_their_payloads(world: World) -> None:
    (listed,) = world.shown("GET /api/dead-letters")["items"]

    assert not {"payload", "runs", "traceback"} & listed.keys()
    assert {"payload", "runs", "traceback"} <= world.shown(f"GET /api/dead-letters/{world.things.dead}").keys()


def test_a_plan_is_explained_before_there_is_a_schedule(world: World) -> None:
    shown = world.shown("GET /api/schedule-preview", "cron=0+9+*+*+1-5&timezone=Europe%2FBerlin&next_runs=2")

    assert shown["plan"] == "at 09:00 on Monday through Friday"
    assert [each[11:16] for each in shown["next_runs"]] == ["08:00", "08:00"]
    assert world.act("GET /api/schedule-preview", query="cron=every+day").code == "invalid_option"
    assert world.act("GET /api/schedule-preview").code == "invalid_option"


def test_a_schedule_lives_its_life(world: World) -> None:
    made = world.act("POST /api/schedules", {**REASON, "name": "nights", "template": "nightly", "cron": "0 3 * * *"})
    assert (made.status, made.body["job_type"]) == (201, "report")
    assert made.body["next_runs"] == world.shown("GET /api/schedules/nights")["next_runs"] != []
    assert (
        world.act("POST /api/schedules", {**REASON, "name": "nights", "template": "nightly", "every": 60}).status == 409
    )
    assert world.done("PATCH /api/schedules/nights", timezone="Europe/Berlin")["timezone"] == "Europe/Berlin"
    assert len(world.shown("GET /api/schedules/nights", "next_runs=3")["next_runs"]) == 3
    assert world.done("POST /api/schedules/nights/pause")["paused"] is True
    assert world.done("POST /api/schedules/nights/resume")["paused"] is False
    job_id = world.done("POST /api/schedules/nights/trigger")["job_id"]
    assert world.test.queue.get(job_id).created_by == ADMIN
    assert world.act("DELETE /api/schedules/nights", REASON).body == {"name": "nights", "deleted": True}
    assert world.act("GET /api/schedules/nights").code == "schedule_not_found"


def test_a_backfill_of_too_many_slots_is_refused_before_any_is_made(world: World) -> None:
    world.test.clock.advance(timedelta(days=30))
    span = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-20T00:00:00Z"}
    before = len(world.test.jobs())

    refused = world.act("POST /api/schedules/hourly/backfill", {**REASON, **span})
    made = world.done(
        "POST /api/schedules/hourly/backfill", start=span["start"], end="2026-01-01T03:30:00Z", beyond_retention=True
    )

    assert (refused.status, refused.code) == (400, "invalid_option")
    assert len(made["job_ids"]) == len(world.test.jobs()) - before > 0


def test_a_template_lives_its_life(world: World) -> None:
    world.done("POST /api/templates", name="weekly", job_type="report", payload={"n": 1}, description="a test")
    assert (
        world.act("POST /api/templates", {**REASON, "name": "weekly", "job_type": "report"}).code == "template_exists"
    )
    changed = world.done("PATCH /api/templates/weekly", payload={"n": 2}, remove=["description"])
    assert (changed["payload"], "description" in changed) == ({"n": 2}, False)
    assert world.act("DELETE /api/templates/weekly", REASON).status == 200
    gone = world.act("GET /api/templates/weekly")
    assert (gone.status, gone.code) == (404, "template_not_found")
    unknown = world.act("POST /api/jobs", {"template": "weekly"})
    assert (unknown.status, unknown.code) == (422, "unknown_template")


def test_a_group_is_made_shown_with_its_members_and_cancelled(world: World) -> None:
    jobs = [{"job_type": "report", "payload": {"n": n}} for n in range(3)]
    made = world.act("POST /api/groups", {**REASON, "jobs": jobs, "group_id": "import-1"})
    again = world.act("POST /api/groups", {**REASON, "jobs": jobs, "group_id": "import-1"})
    other = world.act("POST /api/groups", {**REASON, "jobs": jobs[:1], "group_id": "import-1"})
    bad = world.act("POST /api/groups", {**REASON, "jobs": [*jobs, {"job_type": "nothing"}]})

    assert [each.status for each in (made, again, other, bad)] == [201, 200, 409, 422]
    assert (bad.code, bad.body["member"]) == ("invalid_member", 3)
    assert made.body["created_by"] == ADMIN
    assert len(world.shown("GET /api/groups/import-1/members", "limit=2")["items"]) == 2
    assert world.act("GET /api/groups/none/members").status == 404
    assert world.done("POST /api/groups/import-1/cancel")["state"] == "cancelling"


def test_a_halt_locks_what_makes_jobs_until_it_is_lifted(world: World) -> None:
    assert world.done("POST /api/control/halt") == {"changed": True}
    locked = world.act("POST /api/jobs", {"job_type": "report"})
    shown = world.shown("GET /api/control")
    assert world.done("POST /api/control/resume") == {"changed": True}
    assert world.done("POST /api/control/resume") == {"changed": False}

    assert (locked.status, locked.code, locked.headers["Retry-After"]) == (423, "system_halted", "60")
    assert (shown["halt"]["by"], shown["halt"]["reason"]) == (ADMIN, "a test")
    assert world.done("POST /api/jobs", job_type="report")["created"] is True


def test_a_purged_job_has_forgotten_its_payload(world: World) -> None:
    purged = world.done(f"POST /api/jobs/{world.things.completed}/purge")

    assert purged["payload"] == {"$purged": True}


def test_a_dead_letter_is_edited_and_redriven_and_its_job_says_as_which_job_by_whom_and_why(world: World) -> None:
    dead = world.things.dead
    shown = world.shown(f"GET /api/dead-letters/{dead}")["payload"]

    made = world.done(f"POST /api/dead-letters/{dead}/redrive", payload={**shown, "do": "answer"})["job_id"]

    assert world.shown(f"GET /api/jobs/{made}")["payload"] == {"do": "answer"}
    job = world.shown(f"GET /api/jobs/{dead}")
    assert (job["redriven_as"], job["payload"]) == (made, {"do": "fail"})
    last = job["timeline"][-1]
    assert (last["event"], last["by"], last["reason"], last["job_id"]) == ("redriven", ADMIN, "a test", made)
    (record,) = world.shown("GET /api/audit", f"target=dead-letter%23{dead}")["items"]
    assert json.loads(record["details"]) == {"new_job_id": made, "payload_changes": ["replace /do"]}


def test_jobs_are_cancelled_as_they_were_previewed(world: World) -> None:
    preview = world.done("POST /api/jobs/cancel", job_type="report", dry_run=True)
    ids = [each["job_id"] for each in preview["items"]]
    late = world.test.queue.enqueue("report").job_id
    assert (preview["is_complete"], world.things.waiting in ids, late in ids) == (True, True, False)

    done = world.done("POST /api/jobs/cancel", job_ids=ids)
    again = world.done("POST /api/jobs/cancel", job_ids=ids[:1])

    assert [each["job_ended"] for each in done["results"]] == [True] * len(ids)
    assert again["results"][0]["error"]["code"] == "wrong_state"
    assert world.test.queue.get(late).status is JobStatus.PENDING


def test_a_bulk_cancel_is_bounded_and_says_that_more_match(world: World) -> None:
    made = world.test.queue.enqueue_many([NewJob(job="errand", run_in=timedelta(hours=1)) for _ in range(3)])

    first = world.done("POST /api/jobs/cancel", job_type="errand", limit=2)
    second = world.done("POST /api/jobs/cancel", job_type="errand", limit=2)

    assert [len(each["results"]) for each in (first, second)] == [2, 1]
    assert [each["is_complete"] for each in (first, second)] == [False, True]
    assert len(made) == 3


@pytest.mark.parametrize(
    "body", [{}, {"status": ["pending"]}, {"job_ids": ["a"], "job_type": "report"}, {"job_type": "x", "limit": 101}]
)
def test_a_bulk_cancel_of_everything_is_refused(world: World, body: dict[str, Any]) -> None:
    answer = world.act("POST /api/jobs/cancel", {**REASON, **body})

    assert (answer.status, answer.code) == (400, "invalid_request")
    assert world.test.queue.get(world.things.waiting).status is JobStatus.PENDING


def test_a_job_says_where_its_logs_are_in_cloudwatch_or_by_which_command(world: World) -> None:
    job_id = world.things.completed
    assert world.shown(f"GET /api/jobs/{job_id}")["logs"] == f"leasehold logs {job_id}"

    registry = world.test.services.deployment.registry(fresh=True)
    errand = replace(registry.types["errand"], logs="eu-central-1:/aws/lambda/errand")
    world.test.queue.operator.publish(replace(registry, types={**registry.types, "errand": errand}))
    world.test.services.deployment.forget()

    address = world.shown(f"GET /api/jobs/{job_id}")["logs"]
    home = "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#logsV2:logs-insights"
    assert address.startswith(f"{home}$3FqueryDetail$3D~(end~'")
    assert f"like*20*27{job_id}*27" in address
    assert address.endswith("~source~(~'*2Faws*2Flambda*2Ferrand))")
