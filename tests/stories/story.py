"""A queue in memory whose every step is written down, and the verbs that a story is told with."""

from __future__ import annotations

import inspect
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold import JobType, Operator, Queue, Registry, Worker
from leasehold.features import Store
from leasehold.kernel.errors import DispatchError
from leasehold.kernel.poll import Poller
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.retry import Exponential, Fixed
from leasehold.kernel.services import Services
from leasehold.kernel.table import JOBS
from leasehold.kernel.type_options import DELIVERY
from leasehold.testing.recorder import Told, receiver
from leasehold.webhooks.model import delivery_type
from tests.contract.handlers import Script, scripted
from tests.stories.recording import (
    START,
    Fault,
    Recording,
    RecordingTable,
    RecordingTelemetry,
    StoryClock,
    StoryRandom,
)

__all__ = ["START", "STORIES", "TYPES", "Story", "story"]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.ports import Handover

type Tale = Callable[[Story], None]

TYPES = (
    JobType(name="report", retry=Fixed(timedelta(seconds=30)), max_attempts=3),
    JobType(name="email", retry=Exponential(jitter=0.1)),
    JobType(name="once", max_attempts=1),
    JobType(name="single", concurrency=1, retry=Fixed(timedelta(seconds=10)), max_attempts=2),
)

STORIES: dict[str, Tale] = {}


def story(tale: Tale) -> Tale:
    """Mark a function as a story; its name is the name of the kept file."""
    assert tale.__name__ not in STORIES, tale.__name__
    STORIES[tale.__name__] = tale
    return tale


class Died(KeyboardInterrupt):
    """The process ends where it is raised; as the end of a process it passes by all that would write an end."""


class Dispatches:
    """Takes hand-overs, of several jobs at once as well; fails as long as `failure` is set."""

    def __init__(self, recording: Recording) -> None:
        self.taken: list[Handover] = []
        self.failure: str | None = None
        self._recording = recording

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._take([handover], function, "handed over")

    def _take(self, handovers: Sequence[Handover], function: str | None, how: str) -> None:
        text = self._recording.text
        shown = ", ".join(f"{text(each.job_id)} until {text(each.lease.at)}" for each in handovers)
        self._recording.note(f"{how} {shown} to {function}{'' if self.failure is None else ': fails'}")
        if self.failure is not None:
            raise DispatchError(self.failure)
        self.taken += handovers


class BatchDispatches(Dispatches):
    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        self._take(handovers, function, "handed over together")


class Wakes:
    """A waker that says whom it was asked to wake."""

    def __init__(self, recording: Recording) -> None:
        self.fails = False
        self.scopes: list[str] = []
        self._recording = recording

    def __call__(self, scopes: Sequence[str]) -> None:
        self._recording.note(f"wake    {' '.join(scopes)}{': fails' if self.fails else ''}")
        if self.fails:
            raise DispatchError("throttled")
        self.scopes += scopes


class Story:
    def __init__(self, name: str, fault: Fault | None = None) -> None:
        self.clock = StoryClock()
        self.recording = Recording(self.clock.now)
        self.clock.slept = lambda duration: self.recording.note(f"sleeps  {self.recording.text(duration)}")
        self.table = RecordingTable(self.recording, self.clock, fault)
        self.random_source = StoryRandom(name)
        self.telemetry = RecordingTelemetry(self.recording)
        self.dispatches: Dispatches = Dispatches(self.recording)
        self.wakes = Wakes(self.recording)
        self.waker: Wakes | None = None
        self.script = Script()
        self.told: list[Told] = []
        self.handler, self.receiver = scripted(self.script), receiver(self.told)
        self.services = self.process()
        self.queue = Queue(self.services)
        self.operator = Operator(self.services)
        self.jobs: dict[str, str] = {}
        self.table.meetings = {
            "meets a poll": lambda: self.poll(self.process()),
            "meets a run": self.run,
            "meets a cancel": self._cancel_all,
        }
        self.deploy(*TYPES)
        self.recording.lines.clear()

    def process(self) -> Services:
        """What another process has: caches of its own, and the same table and clock."""
        return Services(
            store=Store(self.table),
            clock=self.clock,
            random_source=self.random_source,
            telemetry=self.telemetry,
            waker=self.waker,
            identity=KnownIdentity("ada"),
        )

    # --- verbs

    def with_waker(self) -> None:
        """From now on whoever frees a seat has the scope looked at by a poller."""
        self.waker = self.services.waker = self.wakes

    def deploy(self, *types: JobType, **how: Any) -> None:
        self.types = {each.name: each for each in types}
        registry = Registry(types={**self.types, DELIVERY: delivery_type()}, **how)
        self.do("deploy " + ", ".join(self.types), lambda: self.operator.publish(registry))

    def enqueue(self, name: str, job: str = "report", payload: Any = None, **options: Any) -> str:
        """Enqueue a job under a name of the story; what it is called if there is none is no job's id."""
        said = "".join(f" {key}={self.recording.text(value)}" for key, value in options.items())
        made = self.do(f"enqueue {name}: {job}{said}", lambda: self.queue.enqueue(job, payload, **options))
        self.jobs[name] = made.job_id if made is not None else "019b76da-a800-8000-8000-000000000000"
        return self.jobs[name]

    def poll(self, by: Services | None = None, **how: Any) -> PollReport | None:
        poller = Poller(by or self.services, self.dispatches, worker_id="poller")
        report: PollReport | None = self.do("poll", lambda: poller.poll(**how), is_silent=True)
        return report

    def take(self) -> list[Handover]:
        taken, self.dispatches.taken = self.dispatches.taken, []
        return taken

    def run(self, handovers: Sequence[Handover] | None = None, **how: Any) -> None:
        """Run these hand-overs, or all that were made since."""
        handlers = {**dict.fromkeys([*self.types, "gone"], self.handler), DELIVERY: self.receiver}
        worker = Worker(self.services, handlers, worker_id="worker", limit_time=False)
        for handover in self.take() if handovers is None else handovers:
            self.do(f"run {self.recording.text(handover.job_id)}", partial(worker.run, handover, **how))

    def work(self, times: int = 1) -> None:
        """Poll, and run what that hands over."""
        for _ in range(times):
            self.poll()
            self.run()

    def wait(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def _cancel_all(self) -> None:
        found = [str(each["job_id"]) for each in self.table.stored.scan(JOBS) if "job_id" in each and "status" in each]
        for job_id in sorted(found, key=self.recording.text):
            self.do(f"cancel {self.recording.text(job_id)}", partial(self.queue.cancel, job_id, reason="met"))

    def do(self, title: str, act: Callable[[], Any], *, is_silent: bool = False) -> Any:
        """One step: its title, what happened at the ports meanwhile, and what came of it."""
        self.recording.title(title)
        try:
            answer = act()
        except Died:
            self.recording.note("dies")
            return None
        except Exception as error:
            self.recording.note(f"raised  {type(error).__name__}: {self.recording.named(str(error))}")
            return None
        if answer is not None and not is_silent:
            self.recording.note(f"= {self.recording.text(answer)}")
        return answer

    def meanwhile(self, before: str, act: Callable[[], object]) -> None:
        """Somebody else acts right before the next call whose text begins so."""
        self.table.before.append((before, act))


def told(name: str, fault: Fault | None = None) -> Story:
    """A story from its beginning to its end."""
    here = Story(name, fault)
    STORIES[name](here)
    return here


def text_of(name: str) -> str:
    here = told(name)
    head = [inspect.getdoc(STORIES[name]) or name]
    left = ["", "» in the end", *(f"            {line}" for line in here.table.left())]
    calls = f"{here.table.calls} calls of the table"
    return "\n".join([*head, "", calls, *here.recording.lines, *left]) + "\n"
