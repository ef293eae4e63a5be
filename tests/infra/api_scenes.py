"""Requests that together take every path of the API's routes, on a real engine: what its functions call is recorded."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leasehold import NewJob, Queue
from leasehold.circuit_breaker.model import CircuitBreaker
from leasehold.direct_runs.model import DirectAnswer
from leasehold.direct_runs.run import perform
from leasehold.kernel import keys
from leasehold.kernel.execute import Executor
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import to_text
from leasehold.kernel.poll import Poller
from leasehold.kernel.table import Delete
from leasehold.runtime.worker import Worker
from tests.api.world import Api, ErrandHandler
from tests.infra.recorded_calls import RecordedCalls
from tests.real_queue import Inbox, RealQueue
from tests.sample_payloads import noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.direct_runs.model import DirectRun

API, RUNNER = "the API", "the direct runner"
PLAIN, LIMITED, GUARDED = "daily_summary", "backup", "user_sync"
TYPES = (
    JobType(name=PLAIN),
    JobType(name=LIMITED, concurrency=1),
    JobType(name=GUARDED, breaker=CircuitBreaker(min_runs=1)),
)
REASON = {"reason": "a scene"}


class Scenes:
    def __init__(self, client: DynamoDBClient) -> None:
        self.real = RealQueue(client, TYPES)
        self.calls = RecordedCalls(client)
        self.api = Api(self.real.process())
        self.api.application.patience = timedelta(0)
        self.api.starter.at_once = False
        self.queue, self.clock = self.real.queue, self.real.clock
        self.inbox = Inbox()
        self.worker = Worker(
            self.real.process(),
            dict.fromkeys((PLAIN, LIMITED, GUARDED), ErrandHandler),
            worker_id="w",
            limit_time=False,
        )

    def play(self) -> None:
        for scene in (
            jobs,
            listings,
            actions,
            large_payloads,
            held,
            dead_letters,
            schedules,
            templates,
            groups,
            control,
            figures,
            direct,
        ):
            scene(self)

    def send(self, route: str, body: dict[str, Any] | None = None, *, query: str = "", key: str | None = None) -> Any:
        method = route.partition(" ")[0]
        with self.calls.acting_as(API):
            answer = self.api.send(route, None if method == "GET" else {**REASON, **(body or {})}, query=query, key=key)
        assert answer.status < 500, answer.body
        return answer.body

    def work(self, *, deliver: bool = True) -> None:
        """What pollers and handlers do meanwhile."""
        self.clock.advance(timedelta(seconds=6))
        Poller(self.real.process(), self.inbox, worker_id="poller").poll()
        for handover in self.inbox.handovers if deliver else []:
            self.worker.run(handover)
        if deliver:
            self.inbox.handovers.clear()

    def ended(self, do: str = "answer", job_type: str = PLAIN, **options: Any) -> str:
        job_id = self.queue.enqueue(job_type, {"do": do}, **options).job_id
        self.work()
        return job_id


def jobs(scenes: Scenes) -> None:
    """Made with and without a key: plain, deduplicated, found, replaced, taken over, from a template, from none."""
    for _ in range(2):
        scenes.send("POST /api/jobs", {"job_type": PLAIN}, key="once")
    keyed = {"job_type": PLAIN, "dedup_key": "ada", "dedup_window": {"kind": "day"}}
    for on_duplicate in ("return_existing", "raise", "replace"):
        scenes.send("POST /api/jobs", {**keyed, "on_duplicate": on_duplicate})
    ending = {"job_type": PLAIN, "dedup_key": "eve"}
    scenes.send("POST /api/jobs", ending)
    scenes.work()
    scenes.send("POST /api/jobs", ending)
    scenes.queue.templates.create("known", PLAIN)
    scenes.send("POST /api/jobs", {"template": "known"})
    scenes.send("POST /api/jobs", {"template": "knwon"})
    scenes.work()


def listings(scenes: Scenes) -> None:
    """Every filter, alone and with others: each has an index that answers it."""
    now = quote(to_text(scenes.clock.now()))
    scenes.queue.enqueue(PLAIN, run_in=timedelta(hours=1), concurrency_key="tenant")
    group = scenes.queue.groups.create([NewJob(job=PLAIN)] * 2, mode="parallel").group_id
    filters = [
        "",
        f"job_type={PLAIN}",
        f"job_type={PLAIN}&status=pending",
        "status=in_progress&status=failed",
        f"status=completed&job_type={PLAIN}",
        "status=completed&status=dead_letter",
        f"scheduled_to={now}&limit=2",
        f"ended_to={now}",
        f"job_type={PLAIN}&dedup_key=ada",
        "dedup_key=ada",
        "concurrency_key=tenant",
        f"group_id={group}",
        "schedule=hourly",
        "template=known",
    ]
    for query in filters:
        page = scenes.send("GET /api/jobs", query=query)
        if "cursor" in page:
            scenes.send("GET /api/jobs", query=f"{query}&cursor={page['cursor']}".lstrip("&"))
    scenes.work()


def actions(scenes: Scenes) -> None:
    waiting = [scenes.queue.enqueue(PLAIN, run_in=timedelta(hours=n), dedup_key=f"w{n}").job_id for n in (1, 2)]
    first, second = waiting
    scenes.send(f"GET /api/jobs/{first}")
    scenes.send(f"POST /api/jobs/{first}/priority", {"priority": 0})
    scenes.send(f"POST /api/jobs/{first}/priority", {"priority": 1})
    scenes.send(f"POST /api/jobs/{first}/reschedule", {"run_in": 60})
    scenes.send(f"POST /api/jobs/{first}/move", {"before": second})
    scenes.send(f"POST /api/jobs/{first}/retry", key="waiting")
    scenes.send(f"POST /api/jobs/{first}/run-now")
    scenes.send(f"POST /api/jobs/{second}/cancel")
    for options in ({}, {"dedup_key": "again"}):
        done = scenes.ended(**options)
        scenes.send(f"GET /api/job-runs/{done}.1")
        scenes.send(f"POST /api/jobs/{done}/retry", key=f"retry {options}".replace(" ", ""))
        scenes.send(f"POST /api/jobs/{done}/purge")
    dead = scenes.ended("fail")
    scenes.send(f"GET /api/jobs/{dead}")
    scenes.send(f"POST /api/job-runs/{dead}.1/retry", key="run")
    scenes.send(f"POST /api/jobs/{dead}/purge")


def large_payloads(scenes: Scenes) -> None:
    """What stands apart is written, shown, exchanged, copied and forgotten with its job."""
    body = {"job_type": PLAIN, "payload": {"do": "answer", **noise(2000)}}
    first = scenes.send("POST /api/jobs", {**body, "run_in": 60})["job_id"]
    scenes.send(f"GET /api/jobs/{first}")
    scenes.send("POST /api/groups", {"jobs": [body] * 2})
    done = scenes.queue.enqueue(PLAIN, {"do": "answer", **noise(2000)}).job_id
    scenes.work()
    scenes.send(f"POST /api/jobs/{done}/retry")
    scenes.send(f"POST /api/jobs/{done}/purge")
    scenes.work()


def held(scenes: Scenes) -> None:
    """A claimed job gives its seat back, and wakes who waits for it; one that runs is asked to stop."""
    claimed, waiting = (scenes.queue.enqueue(LIMITED, dedup_key=each).job_id for each in ("claimed", "waiting"))
    scenes.work(deliver=False)
    scenes.send(f"POST /api/jobs/{waiting}/move", {"before": claimed})
    scenes.send(f"POST /api/jobs/{waiting}/move", {"position": 1})
    scenes.send(f"GET /api/jobs/{waiting}")
    scenes.send("GET /api/queue", query="limit=1")
    scenes.send(f"POST /api/jobs/{waiting}/priority", {"priority": 0})
    scenes.send(f"POST /api/jobs/{claimed}/cancel")
    scenes.send(f"POST /api/jobs/{waiting}/cancel")
    scenes.inbox.handovers.clear()
    running = scenes.queue.enqueue(PLAIN).job_id
    scenes.work(deliver=False)
    (handover,) = [each for each in scenes.inbox.handovers if each.job_id == running]
    Executor(scenes.real.process(), worker_id="running").begin(handover)
    scenes.send(f"POST /api/jobs/{running}/cancel")
    scenes.inbox.handovers.clear()


def dead_letters(scenes: Scenes) -> None:
    names = [scenes.ended("fail", dedup_key=f"dead{n}") for n in range(5)]
    for query in ("", f"job_type={PLAIN}", "limit=1"):
        scenes.send("GET /api/dead-letters", query=query)
    first, second, third, *_ = names
    scenes.send(f"GET /api/dead-letters/{first}")
    scenes.send(f"POST /api/dead-letters/{first}/redrive", key="one")
    scenes.send(f"POST /api/dead-letters/{first}/redrive")
    scenes.send(f"POST /api/dead-letters/{second}/discard")
    # The dead letter outlives its job.
    job_id = scenes.queue.get(third).job_id
    scenes.real.services.store.table.write(Delete(key=keys.job(job_id), conditions=()))
    scenes.send(f"POST /api/dead-letters/{third}/redrive")
    scenes.send("POST /api/dead-letters/redrive", {"dry_run": True, "job_type": PLAIN})
    scenes.send("POST /api/dead-letters/redrive", key="many")
    scenes.send("POST /api/dead-letters/redrive", {"job_type": PLAIN})


def schedules(scenes: Scenes) -> None:
    scenes.send("POST /api/schedules", {"name": "hourly", "job_type": PLAIN, "every": 3600})
    scenes.send("GET /api/schedules")
    scenes.send("GET /api/schedules/hourly")
    scenes.send("PATCH /api/schedules/hourly", {"template": "known"})
    scenes.send("POST /api/schedules/hourly/pause")
    scenes.send("POST /api/schedules/hourly/resume")
    scenes.send("POST /api/schedules/hourly/trigger")
    start = scenes.clock.now()
    scenes.clock.advance(timedelta(hours=2))
    span = {"start": to_text(start), "end": to_text(scenes.clock.now())}
    scenes.send("POST /api/schedules/hourly/backfill", span)
    scenes.send("DELETE /api/schedules/hourly")


def templates(scenes: Scenes) -> None:
    scenes.send("POST /api/templates", {"name": "weekly", "job_type": PLAIN})
    scenes.send("GET /api/templates")
    scenes.send("GET /api/templates/weekly")
    scenes.send("GET /api/templates/weelky")
    scenes.send("PATCH /api/templates/weekly", {"priority": 0})
    scenes.send("DELETE /api/templates/weekly")


def groups(scenes: Scenes) -> None:
    for mode in ("sequential", "parallel"):
        body = {"jobs": [{"job_type": PLAIN}] * 2, "mode": mode, "callback": {"job_type": PLAIN}}
        scenes.send("POST /api/groups", body, key=f"group-{mode}")
        made = scenes.send("POST /api/groups", body, key=f"group-{mode}")
        scenes.send("GET /api/groups", query="limit=1")
        scenes.send(f"GET /api/groups/{made['group_id']}")
        scenes.send(f"GET /api/groups/{made['group_id']}/members")
        scenes.send(f"POST /api/groups/{made['group_id']}/cancel")
    scenes.work()
    _broken_off(scenes)


def _broken_off(scenes: Scenes) -> None:
    """A group whose maker died before all of it existed is cancelled, and its callback with it."""
    services = scenes.real.process()

    def died(*_args: object, **_options: object) -> bool:
        raise KeyboardInterrupt

    services.store.groups.change_with = died  # type: ignore[method-assign]
    with suppress(KeyboardInterrupt):
        Queue(services).groups.create([NewJob(job=PLAIN)], callback=NewJob(job=PLAIN), group_id="broken-off")
    scenes.send("POST /api/groups/broken-off/cancel")


def control(scenes: Scenes) -> None:
    """Switched on and off: with a type whose jobs wait, and with one whose circuit is open."""
    for route in ("halt", "resume", f"types/{PLAIN}/pause"):
        scenes.send(f"POST /api/control/{route}")
    scenes.queue.enqueue(PLAIN)
    scenes.work()
    scenes.send(f"POST /api/control/types/{PLAIN}/resume")
    scenes.ended("fail", GUARDED, max_attempts=1)
    scenes.clock.advance(timedelta(seconds=6))
    scenes.send("GET /api/control")
    scenes.send(f"POST /api/control/types/{GUARDED}/resume")
    scenes.send(f"POST /api/control/types/{GUARDED}/pause")
    scenes.send(f"POST /api/control/types/{GUARDED}/resume")


def figures(scenes: Scenes) -> None:
    held_one = scenes.queue.enqueue(LIMITED)
    scenes.queue.enqueue(LIMITED)
    scenes.work(deliver=False)
    for route in ("counts", "last-hour", "backlog", "audit"):
        scenes.send(f"GET /api/{route}")
    scenes.send("GET /api/audit", query=quote(f"target=job#{held_one.job_id}", safe="="))
    scenes.send("GET /api/audit", query="limit=1")
    scenes.send("GET /api/openapi.json")


class _Answering:
    """A Lambda that answers after something else has happened."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        self._meanwhile()
        return DirectAnswer()


def direct(scenes: Scenes) -> None:
    """Asked for, done, and looked at; with jobs that wait meanwhile, and with one that holds a seat for too long."""
    services = scenes.real.process()

    def others(job_type: str) -> None:
        with scenes.calls.acting_as("others"):
            scenes.queue.enqueue(job_type)
            Poller(scenes.real.process(), Inbox(), worker_id="poller").poll()

    for job_type in (PLAIN, LIMITED):
        scenes.clock.advance(timedelta(hours=2))
        scenes.work()
        for meanwhile in (lambda: None, lambda job_type=job_type: others(job_type), lambda: None):
            services.caller = _Answering(meanwhile)
            body = {"job_type": job_type, "timeout": 60}
            asked = scenes.send("POST /api/direct-runs", body, key=f"{job_type}{len(scenes.api.starter.run_ids)}")
            with scenes.calls.acting_as(RUNNER):
                perform(asked["run_id"], services, worker_id="runner")
            scenes.send(f"GET /api/direct-runs/{asked['run_id']}")
        # One is claimed, and its lease is over before anybody looks after it.
        others(job_type)
        scenes.clock.advance(services.deployment.settings_of(job_type).longest_hold)
        asked = scenes.send("POST /api/direct-runs", {"job_type": job_type, "timeout": 60})
        with scenes.calls.acting_as(RUNNER):
            perform(asked["run_id"], services, worker_id="runner")
