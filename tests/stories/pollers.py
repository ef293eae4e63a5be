"""Stories of pollers: several that share a backlog, one that waits, windows of hand-overs, and batches."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold import JobType, Rate, Worker
from leasehold.aws.polling import Polling, Wake
from leasehold.batches.model import Batch
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import JOBS, Update
from leasehold.pollers.waiting import WaitingPoller, WaitingSettings
from leasehold.pollers.window import Window
from leasehold.pool import InTurn
from tests.contract.handlers import scripted
from tests.stories.limited import backlog, enqueue
from tests.stories.story import TYPES, BatchDispatches, Story, story

if TYPE_CHECKING:
    from leasehold.pollers.sharing import Part

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)


def waiting(s: Story, name: str = "waiter", **settings: Any) -> WaitingPoller:
    services = s.process()
    poller = Poller(services, s.dispatches, worker_id=name)
    return WaitingPoller(services, poller, worker_id=name, settings=WaitingSettings(**settings))


@story
def a_backlog_on_one_shard(s: Story) -> None:
    """Whoever meets a page of a backlog takes the shard's lock and claims many at once; another leaves it to it."""
    backlog(s, 25, "report")
    s.meanwhile("batch", lambda: s.poll(s.process()))
    s.poll()
    s.run(s.take()[:2])


@story
def claims_at_once_that_are_refused(s: Story) -> None:
    """In a batch some are lost to others, some are too late, one was cancelled: each is decided by itself."""
    for number in range(4):
        s.enqueue(f"late {number}", start_by=s.clock.now() + 5 * SECOND)
    backlog(s, 8, "report")
    s.enqueue("lost", "email")
    s.enqueue("cancelled", "email")

    def others() -> None:
        s.wait(5)
        s.queue.cancel(s.jobs["cancelled"])

    s.meanwhile("batch", others)
    s.poll()
    s.run()


@story
def an_engine_without_batches(s: Story) -> None:
    """It refuses statements: from then on each job is claimed by itself, and one log line says so."""
    from leasehold.kernel.table import StatementRefused

    backlog(s, 12, "report")
    s.table.stored.update_many = lambda updates: [StatementRefused() for _ in updates]  # type: ignore[method-assign]
    s.poll()
    backlog(s, 3, "report")
    s.poll()


@story
def a_backlog_on_many_shards(s: Story) -> None:
    """Helpers are called for the shards; each begins at its own, and looks at those of others now and then."""
    s.deploy(*TYPES, shards=4)
    backlog(s, 40, "report")
    calls: list[Part] = []

    def helped(part: Part) -> None:
        s.recording.note(f"calls   {part}")
        calls.append(part)

    settings = PollSettings(poll_limit=5)
    poller = Poller(s.services, s.dispatches, worker_id="first", settings=settings, call_helper=helped)
    asked = iter([None] * 12)
    s.do("poll", lambda: poller.poll(should_stop=lambda: next(asked, "deadline")), is_silent=True)
    for part in calls[:2]:
        s.table.takes = 100 * MILLISECOND
        helper = Poller(s.process(), s.dispatches, worker_id=f"helper {part.number}", settings=settings, pool=InTurn())
        s.do(f"help as {part}", partial(helper.poll, part=part), is_silent=True)


@story
def a_lock_that_is_kept(s: Story) -> None:
    """A long backlog: the lock is prolonged; after it has ended another may take it."""
    s.table.takes = 900 * MILLISECOND
    backlog(s, 30, "report")
    poller = Poller(s.services, s.dispatches, worker_id="first", settings=PollSettings(poll_limit=5))
    s.do("poll", poller.poll, is_silent=True)


@story
def a_poller_that_waits(s: Story) -> None:
    """It stays for what is due within its time, and leaves when nothing is near."""
    s.enqueue("near", run_in=3 * SECOND)
    s.enqueue("later", run_in=timedelta(milliseconds=7300))
    s.enqueue("far", run_in=500 * SECOND)
    s.do("stay", lambda: waiting(s).stay())
    s.do("stay again", lambda: waiting(s).stay())


@story
def a_poller_that_is_replaced(s: Story) -> None:
    """Another takes its lease: it leaves at its next look."""
    s.enqueue("near", run_in=30 * SECOND)
    s.meanwhile("get     waiter", lambda: waiting(s, "other", stay=2 * SECOND).stay())
    s.do("stay", lambda: waiting(s, look_every=SECOND, reread_every=3 * SECOND).stay())


@story
def a_poller_that_polls_on(s: Story) -> None:
    """With an interval it polls whatever is due; a halt makes it leave, and so does its own end."""
    s.do("stay", lambda: waiting(s, stay=3 * SECOND, poll_interval=SECOND).stay())
    s.meanwhile("query   control", lambda: s.operator.halt(reason="fire"))
    s.do("stay", lambda: waiting(s, stay=3 * SECOND, poll_interval=SECOND).stay())
    s.do("resume", s.operator.resume)
    s.wait(6)
    s.enqueue("near", run_in=2 * SECOND)
    asked = iter([None] * 3)
    s.do("stay", lambda: waiting(s, stay=9 * SECOND).stay(should_stop=lambda: next(asked, "deadline")))


@story
def a_wake_reserves(s: Story) -> None:
    """A wake starts a waiting poller where there is none, and tells the one that waits of what falls due sooner."""
    s.do("nothing is near", lambda: waiting(s).reserve())
    s.enqueue("near", run_in=20 * SECOND)
    first = s.do("reserve", lambda: waiting(s).reserve(lanes=["1#0"]))
    s.do("reserve again", lambda: waiting(s).reserve(soonest_at=s.clock.now() + 5 * SECOND))
    s.do("reserve, and nothing is near", lambda: waiting(s).reserve(soonest_at=s.clock.now() + 500 * SECOND))
    beside: dict[str, Any] = {"look_every": SECOND, "reread_every": 10 * SECOND, "stay": 30 * SECOND}
    s.do("another stays", lambda: waiting(s).stay(holder="stranger"))
    s.do("stay", lambda: waiting(s, **beside).stay(holder=first))
    s.enqueue("soon", run_in=3 * SECOND)
    holder = s.do("reserve", lambda: waiting(s).reserve())
    s.wait(11)
    s.do("too late, but nobody else came", lambda: waiting(s, **beside).stay(holder=holder))


@story
def what_a_wake_tells(s: Story) -> None:
    """Whoever waits hears of something sooner, polls all lanes for it, and takes the note back."""
    s.enqueue("near", run_in=20 * SECOND)
    beside: dict[str, Any] = {"look_every": SECOND, "reread_every": 60 * SECOND, "stay": 30 * SECOND}

    def tell() -> None:
        s.queue.enqueue("report", run_in=2 * SECOND)
        s.do("told", lambda: waiting(s, "wake").reserve(soonest_at=s.clock.now() + 2 * SECOND))

    s.meanwhile("get     ", tell)
    s.do("stay", lambda: waiting(s, **beside).stay())


@story
def what_cannot_be_handled(s: Story) -> None:
    """Something stays due that nobody can handle: the pauses between polls grow."""
    s.enqueue("broken")
    s.enqueue("near", run_in=40 * SECOND)
    for record in s.table.stored.scan(JOBS):
        if record.get("job_id") == s.jobs["broken"]:
            from leasehold.kernel.table import Key

            key = Key(JOBS, (str(record["PK"]), str(record["SK"])))
            s.table.stored.write(Update(key=key, conditions=(), sets={"status": "nonsense"}))
    s.do("stay", lambda: waiting(s, stay=45 * SECOND).stay())


@story
def a_window_of_hand_overs(s: Story) -> None:
    """Sixteen may be under way and not started; started in time they double it, lost they halve it."""
    s.services.window = Window(in_time=timedelta(seconds=1))
    backlog(s, 60, "report")
    s.poll()
    first = s.take()
    s.wait(0.3)
    s.poll()
    s.run(first)
    s.wait(0.3)
    s.poll()
    second = s.take()
    s.run(second[:10])
    s.wait(70)
    s.poll()
    s.recording.note(f"{len(s.take())} more")


@story
def a_window_of_two_types(s: Story) -> None:
    """A type whose jobs do not start leaves others their places; throttled hand-overs shrink it for all."""
    s.services.window = Window(in_time=timedelta(seconds=1))
    backlog(s, 20, "report")
    backlog(s, 8, "email")
    s.poll()
    s.wait(0.3)
    s.dispatches.failure = "TooManyRequestsException"
    backlog(s, 2, "once")
    s.poll()
    s.dispatches.failure = None
    s.run(s.take()[:8])
    s.wait(2)
    s.poll()
    s.wait(130)
    s.poll()


@story
def a_window_that_moves(s: Story) -> None:
    """While hand-overs start one after the other a poll waits for the next instead of leaving."""
    s.services.window = Window()
    backlog(s, 24, "report")

    def starts(duration: timedelta) -> None:
        s.recording.note(f"sleeps  {duration.total_seconds():g}")
        s.run(s.take()[:4])

    s.clock.slept = starts
    s.table.takes = MILLISECOND
    s.poll()


@story
def a_crowd_that_has_to_wait(s: Story) -> None:
    """A lane full of jobs without room is read a part in each poll: who is behind them is reached."""
    s.services.window = Window()
    backlog(s, 130, "report")
    backlog(s, 2, "email")
    settings = PollSettings(poll_limit=5)
    for _ in range(3):
        poller = Poller(s.services, s.dispatches, worker_id="poller", settings=settings)
        s.do("poll", poller.poll, is_silent=True)
        s.wait(0.1)


@story
def a_batch(s: Story) -> None:
    """Jobs of a type with batches are handed over together, and run by one invocation; one of them fails."""
    s.dispatches = BatchDispatches(s.recording)
    s.deploy(JobType(name="report", batch=Batch(size=3)), JobType(name="email"))
    backlog(s, 7, "report")
    backlog(s, 1, "email")
    s.poll()
    taken = s.take()
    worker = Worker(s.services, dict.fromkeys(s.types, scripted(s.script)), worker_id="worker", limit_time=False)
    s.script.then(None, ValueError("no"))
    s.do("run a batch", lambda: worker.run_batch(taken[:3]))
    s.do("run it again", lambda: worker.run_batch(taken[:3]))
    s.run(taken[6:])
    s.wait(70)
    s.work()


@story
def a_batch_that_waits(s: Story) -> None:
    """A job waits a while for others to share an invocation with; a full batch waits for nobody."""
    s.dispatches = BatchDispatches(s.recording)
    s.deploy(JobType(name="report", batch=Batch(size=3, wait=2 * SECOND)))
    s.enqueue("a")
    s.poll()
    s.wait(1)
    s.enqueue("b")
    s.poll()
    s.wait(1)
    s.poll()
    backlog(s, 4, "report")
    s.poll()
    s.wait(2)
    s.dispatches.failure = "throttled"
    s.poll()
    s.wait(5)
    s.dispatches.failure = None
    s.poll()


@story
def a_batch_with_limits(s: Story) -> None:
    """Batches and a rate: those that have a seat go together."""
    s.dispatches = BatchDispatches(s.recording)
    s.deploy(JobType(name="report", batch=Batch(size=3), rate=Rate(4, 10 * SECOND)))
    backlog(s, 6, "report")
    s.poll()
    s.wait(10)
    s.poll()


def polling(s: Story, wake: Wake, **how) -> None:
    """One invocation of the deployed function."""
    services = how.pop("services", None) or s.process()
    started: list[bytes] = []

    def start_another(payload: bytes) -> None:
        s.recording.note(f"starts  {s.recording.named(str(json.loads(payload)))}")
        started.append(payload)

    invocation = Polling(
        services,
        s.dispatches,
        worker_id="function",
        time_left=120 * SECOND,
        start_another=start_another,
        waiting=WaitingSettings(stay=20 * SECOND, reread_every=10 * SECOND),
        **how,
    )
    invocation._should_stop.on_sigterm = lambda: lambda: None  # type: ignore[method-assign]
    s.do(f"answer a {wake.channel}", lambda: invocation.answer(wake), is_silent=True)
    for payload in started:
        event = json.loads(payload)
        if event.get("holder"):
            polling(s, Wake.parse(event))


def stream(s: Story, name: str) -> Wake:
    found = [each for each in s.table.stored.scan(JOBS) if each.get("job_id") == s.jobs[name]]
    records = [
        {"eventSource": "aws:dynamodb", "eventName": "INSERT", "dynamodb": {"NewImage": to_item(each)}}
        for each in found
    ]
    return Wake.parse({"Records": records})


@story
def a_tick(s: Story) -> None:
    """The minute's poll: what is due, figures, and then it waits for what is near."""
    s.enqueue("now")
    s.enqueue("soon", run_in=5 * SECOND)
    polling(s, Wake.parse({"source": "leasehold.tick"}))
    s.run()


@story
def a_stream_s_wake(s: Story) -> None:
    """A job that is due now is claimed as the stream shows it; one that is near has a waiting poller started."""
    s.enqueue("now")
    polling(s, stream(s, "now"))
    polling(s, stream(s, "now"))
    s.enqueue("soon", run_in=5 * SECOND)
    polling(s, stream(s, "soon"))
    s.run()
    enqueue(s, "one", "two")
    polling(s, stream(s, "one"))
    s.run()
    polling(s, Wake.parse({"source": "leasehold.freed", "scopes": ["type:single"]}))


@story
def a_helper(s: Story) -> None:
    """One that was called for a part of the shards works there first, and does not stay."""
    s.deploy(*TYPES, shards=4)
    backlog(s, 12, "report")
    polling(s, Wake.parse({"source": "leasehold.helper", "part": 1, "of": 2}), poll_limit=3)
