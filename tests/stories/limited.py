"""Stories of limits: seats, lines of lanes that wait for one, looks, and whose turn it is."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import CircuitBreaker, Fixed, JobType, Limit, OnFull, Rate
from leasehold.kernel.other_entries import FreedScope
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import JOBS
from leasehold.limits.waiting import lanes_waiting_for, waiting_scopes
from tests.stories.story import START, Died, Story, story

if TYPE_CHECKING:
    from collections.abc import Iterable

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def enqueue(s: Story, *names: str, job: str = "single", **options) -> None:
    for name in names:
        s.enqueue(name, job, **options)
        s.wait(0.001)


def backlog(s: Story, count: int, job: str = "single", keys: Iterable[str | None] = (None,), **options) -> None:
    """Jobs that the story does not tell about one by one."""
    before = len(s.recording.lines)
    for number in range(count):
        for key in keys:
            s.queue.enqueue(job, {"n": number}, concurrency_key=key, **options)
            s.wait(0.001)
    del s.recording.lines[before:]
    s.recording.title(f"{count} jobs of {job} for each of {', '.join(map(str, keys))}")


def next_look(s: Story, latest: float = 3600) -> None:
    """Let time pass until something is due again."""
    records = [each for each in s.table.stored.scan(JOBS) if "due_key" in each]
    due = [str(each["due_key"])[:24] for each in records if not str(each["due_lane"]).startswith("hold#")]
    soonest = min((type(START).fromisoformat(each) for each in due), default=START)
    s.clock.move_to(min(soonest, s.clock.now() + timedelta(seconds=latest)))


@story
def the_only_seat(s: Story) -> None:
    """One runs, the other waits in its lane; the end of the first frees the seat and makes the scope due."""
    enqueue(s, "first", "second")
    s.poll()
    s.wait(5)
    s.run()
    s.work()
    next_look(s)
    s.work()


@story
def a_freed_seat_wakes(s: Story) -> None:
    """Where a poller can be started for it nothing is made due: the poller looks at once."""
    s.with_waker()
    enqueue(s, "first", "second", "third")
    s.poll()
    s.wait(5)
    s.run()
    s.poll(hints=[FreedScope("type:single")])
    s.wait(1)
    s.run()
    s.wakes.fails = True
    s.poll(hints=[FreedScope("type:single"), FreedScope("type:nobody")])
    s.wait(1)
    s.run()
    s.poll(hints=[FreedScope("type:single")])
    s.wait(300)
    s.poll()


@story
def woken_twice(s: Story) -> None:
    """Two pollers are started for two freed seats: the second waits for the first, and finds nothing to do."""
    s.with_waker()
    s.deploy(JobType(name="double", concurrency=2))
    enqueue(s, *"abcde", job="double")
    s.poll()
    s.wait(5)
    s.run()
    s.table.takes = timedelta(milliseconds=5)
    s.poll(hints=[FreedScope("type:double")])
    s.poll(s.process(), hints=[FreedScope("type:double")])
    s.wait(1)
    s.poll(s.process(), hints=[FreedScope("type:double")])


@story
def woken_beside_another(s: Story) -> None:
    """Somebody begins to look while this one reads: it looks again, or leaves it to the other."""
    s.with_waker()
    enqueue(s, "first", "second", "third")
    s.poll()
    s.wait(5)
    s.run()
    s.meanwhile("write   update seat#type:single/-", lambda: s.poll(s.process(), hints=[FreedScope("type:single")]))
    s.poll(hints=[FreedScope("type:single")])
    s.wait(5)
    s.run()
    for _ in range(3):
        s.meanwhile(
            "write   update seat#type:single/-",
            lambda: s.services.store.lines.nudge("type:single", moment(s)),
        )
    s.poll(hints=[FreedScope("type:single")])
    s.run()


def moment(s: Story):
    from leasehold.limits.lines import Moment

    s.wait(0.5)
    return Moment.of(s.services)


@story
def a_halt_with_freed_seats(s: Story) -> None:
    """While all is halted a freed seat is only noted."""
    s.with_waker()
    enqueue(s, "first", "second")
    s.poll()
    s.run()
    s.do("halt", lambda: s.operator.halt(reason="fire"))
    s.wait(6)
    s.poll(hints=[FreedScope("type:single")])
    s.do("resume", lambda: s.operator.resume(reason="out"))
    s.wait(6)
    s.work()


@story
def tenants_take_turns(s: Story) -> None:
    """Two at once of the type, one of each key: lanes stand in line, and each has its turn."""
    s.deploy(JobType(name="sync", concurrency=2, concurrency_per_key=1))
    backlog(s, 3, "sync", ["a", "b", "c", None])
    for _ in range(8):
        s.poll()
        s.wait(2)
        s.run()


@story
def weights(s: Story) -> None:
    """A key of weight 3 takes three jobs in a turn, the others one."""
    s.deploy(JobType(name="sync", concurrency=1, weights={"b": 3}))
    backlog(s, 4, "sync", ["a", "b"])
    for _ in range(9):
        s.poll()
        s.wait(2)
        s.run()


@story
def types_share_a_resource(s: Story) -> None:
    """Two types need the gpu, one of them with weight 2; everything has a limit of its own."""
    s.deploy(
        JobType(name="small", resources=("gpu",), weight=2),
        JobType(name="big", resources=("gpu",), concurrency=1),
        concurrency=3,
        resources={"gpu": 2},
    )
    backlog(s, 4, "small")
    backlog(s, 3, "big")
    for _ in range(6):
        s.poll()
        s.wait(2)
        s.run()


@story
def priorities_in_a_line(s: Story) -> None:
    """The highest priority goes first; at a share of the looks the lowest does."""
    s.deploy(JobType(name="sync", concurrency=1))
    backlog(s, 4, "sync", priority="low")
    backlog(s, 4, "sync", priority="high")
    settings = PollSettings(lower_share=0.4)
    for _ in range(8):
        poller = Poller(s.services, s.dispatches, worker_id="poller", settings=settings)
        s.do("poll", poller.poll, is_silent=True)
        s.wait(2)
        s.run()


@story
def a_rate(s: Story) -> None:
    """Two starts in ten seconds: the others wait until the period of a start is over."""
    s.deploy(JobType(name="sync", rate=Rate(2, 10 * SECOND)))
    backlog(s, 5, "sync")
    for _ in range(6):
        s.work()
        next_look(s)
    s.wait(9.999)
    s.work()


@story
def a_rate_of_each_key(s: Story) -> None:
    """Each key has its own; with a limit of the type beside it."""
    s.deploy(JobType(name="sync", concurrency=2, rate_per_key=Rate(1, 3 * SECOND)))
    backlog(s, 2, "sync", ["a", "b", "c"])
    for _ in range(7):
        s.work()
        next_look(s)


@story
def a_long_rate_of_each_key(s: Story) -> None:
    """A rate that has no room for long is waited for in its own line."""
    s.deploy(JobType(name="sync", concurrency=1, rate=Rate(9, MINUTE), rate_per_key=Rate(1, MINUTE)))
    backlog(s, 2, "sync", ["a", "b"])
    for _ in range(9):
        s.poll()
        s.wait(1)
        s.run()
        next_look(s)


@story
def turned_away(s: Story) -> None:
    """A full type skips new jobs, or cancels them; one that has run before waits, and so does a shared limit's."""
    s.deploy(
        JobType(name="skips", concurrency=1, on_full=OnFull.SKIP, retry=Fixed(SECOND)),
        JobType(name="cancels", concurrency=1, on_full=OnFull.CANCEL_NEW),
        JobType(name="shares", resources=("gpu",), on_full=OnFull.SKIP),
        resources={"gpu": 1},
    )
    s.script.then(ValueError("no"))
    enqueue(s, "runs", job="skips")
    s.work()
    for job in ("skips", "cancels", "shares"):
        enqueue(s, f"{job} 1", f"{job} 2", job=job)
    s.poll()
    s.wait(1)
    s.poll()
    enqueue(s, "raced", job="skips")
    s.meanwhile("query   seat#type:skips", s.run)
    s.work()


@story
def a_pause(s: Story) -> None:
    """Jobs of a paused type wait, those that come meanwhile too; once it is unpaused they all run."""
    enqueue(s, "before", "behind", job="report")
    s.poll()
    s.do("pause", lambda: s.operator.pause("report", reason="broken"))
    s.do("pause again", lambda: s.operator.pause("report", reason="broken"))
    s.wait(6)
    enqueue(s, "meanwhile", job="report")
    s.run()
    s.wait(61)
    s.work()
    next_look(s)
    s.work()
    s.do("unpause", lambda: s.operator.unpause("report", reason="mended"))
    s.wait(6)
    s.work(2)
    for _ in range(4):
        next_look(s)
        s.work()


@story
def a_pause_of_many(s: Story) -> None:
    """What waited behind a pause is served a page at a time, beside what falls due meanwhile."""
    s.do("pause", lambda: s.operator.pause("report", reason="broken"))
    s.wait(6)
    backlog(s, 14, "report")
    s.poll()
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.wait(6)
    s.enqueue("other", "email")
    settings = PollSettings(poll_limit=4)
    asked = iter([None] * 30)
    poller = Poller(s.services, s.dispatches, worker_id="poller", settings=settings)
    s.do("poll by pages of four", lambda: poller.poll(should_stop=lambda: next(asked, "deadline")), is_silent=True)
    s.do("go on", poller.poll, is_silent=True)


@story
def a_pause_of_what_is_full(s: Story) -> None:
    """A type that is full and paused: lanes move to the pause's line and back; a look at a paused scope is parked."""
    s.deploy(JobType(name="sync", concurrency=1, concurrency_per_key=1))
    backlog(s, 2, "sync", ["a", "b"])
    s.poll()
    s.do("pause", lambda: s.operator.pause("sync", reason="broken"))
    s.wait(6)
    s.run()
    s.work()
    backlog(s, 1, "sync", ["c"])
    s.work()
    s.do("unpause", lambda: s.operator.unpause("sync"))
    s.wait(6)
    for _ in range(6):
        s.work()
        s.wait(1)


@story
def looks_in_vain(s: Story) -> None:
    """The seat is held for an hour: looks grow rare, come together, and never come after its end."""
    s.deploy(JobType(name="long", concurrency=1, timeout=15 * MINUTE), JobType(name="long2", concurrency=1))
    enqueue(s, "a", "b", job="long")
    enqueue(s, "c", "d", job="long2")
    s.poll()
    s.dispatches.taken.clear()
    for _ in range(9):
        next_look(s)
        s.poll()
    s.work()


@story
def an_abandoned_seat(s: Story) -> None:
    """Its holder died and was reaped by nobody yet: after its time the seat is taken over."""
    s.deploy(JobType(name="sync", concurrency=1, retry=Fixed(timedelta(hours=1))))
    enqueue(s, "dies", "waits", job="sync")
    s.poll()
    s.dispatches.taken.clear()
    for _ in range(4):
        next_look(s)
        s.work()


@story
def a_worker_that_may_still_run(s: Story) -> None:
    """A short lease was lost while its handler may still work: its seat is kept until its full time is over."""
    s.deploy(
        JobType(name="sync", concurrency=1, lease=20 * SECOND, timeout=2 * MINUTE, heartbeat=True, retry=Fixed(SECOND))
    )

    def stalls(context):
        raise Died

    s.script.then(stalls)
    enqueue(s, "stalls", "waits", job="sync")
    s.poll()
    s.run()
    for seconds in (21, 60, 60, 45, 60):
        s.wait(seconds)
        s.work()


@story
def a_limit_that_changes(s: Story) -> None:
    """Lowered while more are running, then raised, then taken away."""
    s.deploy(JobType(name="sync", concurrency=3))
    backlog(s, 9, "sync")
    s.poll()
    s.deploy(JobType(name="sync", concurrency=1))
    s.wait(6)
    first, *others = s.take()
    s.run([first])
    s.poll()
    s.run(others)
    s.work()
    s.deploy(JobType(name="sync", concurrency=2))
    s.wait(6)
    s.work(2)
    s.deploy(JobType(name="sync"))
    s.wait(6)
    s.work(2)
    next_look(s)
    s.work()


@story
def keys_that_begin_to_count(s: Story) -> None:
    """Jobs wait in lanes without keys; then keys are limited: they move on to lanes of their own."""
    s.deploy(JobType(name="sync", concurrency=1), JobType(name="report"))
    backlog(s, 2, "sync", ["a", "b"])
    s.poll()
    s.do("pause", lambda: s.operator.pause("report"))
    s.wait(6)
    backlog(s, 2, "report", ["a", "b"])
    s.poll()
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.deploy(JobType(name="sync"), JobType(name="report", concurrency_per_key=1))
    s.wait(6)
    s.run()
    for _ in range(5):
        s.work()
        next_look(s)


@story
def a_line_that_empties(s: Story) -> None:
    """A lane leaves its line once it was found empty twice, minutes apart; then the scope is forgotten."""
    enqueue(s, "first", "second")
    s.poll()
    s.wait(1)
    s.run()
    s.work()
    for _ in range(7):
        next_look(s)
        s.work()


@story
def a_line_that_is_found_empty_and_is_not(s: Story) -> None:
    """A job comes to a lane that counts as empty: it stands in line again."""
    enqueue(s, "first", "second")
    s.poll()
    s.wait(1)
    s.run()
    s.work()
    next_look(s)
    enqueue(s, "third")
    s.poll()
    enqueue(s, "fourth")
    s.wait(1)
    s.poll()
    s.run()
    for _ in range(5):
        s.work()
        next_look(s)


@story
def a_long_line(s: Story) -> None:
    """More lanes than are read at once, most of them blocked by their own limit."""
    s.deploy(JobType(name="sync", concurrency=2, concurrency_per_key=1))
    backlog(s, 1, "sync", [f"k{number:02}" for number in range(45)])
    s.poll()
    before = len(s.recording.lines)
    for _ in range(3):
        s.wait(1)
        s.run()
        s.work()
    s.recording.note(f"{len(s.recording.lines) - before} lines of three rounds")


@story
def a_seat_that_another_took(s: Story) -> None:
    """Two pollers want the last seat: the claim of one is refused, and its job waits."""
    s.deploy(JobType(name="sync", concurrency=2))
    other = s.process()
    enqueue(s, "a", "b", "c", job="sync")
    s.meanwhile("together", lambda: s.poll(other))
    s.poll()
    s.run()
    s.work(2)
    enqueue(s, "d", "e", job="sync")
    s.meanwhile("together", lambda: s.queue.cancel(s.jobs["d"]))
    s.work(2)


@story
def a_line_that_another_changes(s: Story) -> None:
    """Whoever joins a line, looks, or leaves while this one does."""
    other = s.process()
    enqueue(s, "first", "second", "third")
    s.meanwhile("write   update seat#type:single/-", lambda: s.poll(other))
    s.poll()
    s.meanwhile("write   put seat#type:single/lane", lambda: s.poll(other))
    enqueue(s, "fourth", concurrency_key="k")
    s.poll()
    s.wait(1)
    s.run()
    s.meanwhile("write   update seat#type:single/-", lambda: s.poll(other))
    s.work()
    s.work()


@story
def a_poll_that_forgets(s: Story) -> None:
    """A poll that takes longer than what it remembers is trusted: seats and lines are read again."""
    s.deploy(JobType(name="sync", concurrency=1))
    s.table.takes = 4 * SECOND
    backlog(s, 6, "sync", ["a", "b"])
    s.poll()
    s.table.takes = timedelta(0)
    s.run()
    s.work()


@story
def a_policy_of_its_own(s: Story) -> None:
    """A function of the user's says which limits count."""
    from leasehold import DeployedLimits
    from leasehold.limits.policy import FunctionPolicy

    def limits(job_type, key, registry):
        if key == "bad":
            return [Limit(scope="mine", seats=1)]
        if key == "worse":
            return [key]
        if key == "full":
            return [Limit(scope="own:x", seats=0)]
        own = [Limit(scope="own:slow", seats=1)] if key == "slow" else []
        return [*DeployedLimits().limits_of(job_type, key, registry), *own]

    for key in ("slow", "slow", "quick", "bad", "worse", "full"):
        enqueue(s, f"{key} {len(s.jobs)}", job="report", concurrency_key=key)
    policy = FunctionPolicy(limits, "mine:limits")
    poller = Poller(s.services, s.dispatches, worker_id="poller", policy=policy)
    s.do("poll", poller.poll, is_silent=True)
    s.run()
    s.do("poll", poller.poll, is_silent=True)


@story
def where_jobs_wait(s: Story) -> None:
    """Whoever counts what waits sees each scope and its lanes."""
    s.deploy(JobType(name="sync", concurrency=1, concurrency_per_key=1), JobType(name="report"))
    backlog(s, 2, "sync", ["a", "b"])
    s.do("pause", lambda: s.operator.pause("report"))
    s.wait(6)
    backlog(s, 1, "report")
    s.poll()
    scopes = s.do("which scopes", lambda: waiting_scopes(s.services, limit=10)) or ()
    for scope in (*scopes, "key:sync:a", "group:x", "all"):
        lanes = lanes_waiting_for(scope, s.services, limit=9)
        s.recording.note(f"lanes of {scope}: {', '.join(map(str, lanes))}")
    s.do("backlog", s.operator.backlog)


@story
def a_circuit_that_opens(s: Story) -> None:
    """Too many failures stop the type; a probe fails, the next one succeeds and closes it."""
    breaker = CircuitBreaker(min_runs=3, window=5 * MINUTE, probe_after=MINUTE, longest_pause=3 * MINUTE)
    s.deploy(JobType(name="sync", breaker=breaker, retry=Fixed(timedelta(hours=8))), JobType(name="report"))
    s.script.then(*[ValueError("down")] * 4)
    enqueue(s, *"abcdef", job="sync")
    s.poll()
    taken = s.take()
    s.run(taken[:3])
    s.run(taken[3:])
    s.wait(6)
    enqueue(s, "g", job="sync")
    s.work()
    for _ in range(5):
        next_look(s)
        s.work()


@story
def a_circuit_with_a_limit(s: Story) -> None:
    """A probe needs a seat as well; one whose hand-over fails is given up."""
    breaker = CircuitBreaker(min_runs=1, probe_after=MINUTE)
    s.deploy(JobType(name="sync", breaker=breaker, concurrency=1, retry=Fixed(timedelta(hours=8))))
    s.script.then(ValueError("down"))
    enqueue(s, *"abc", job="sync")
    s.work()
    s.wait(60)
    s.dispatches.failure = "throttled"
    s.poll()
    s.dispatches.failure = None
    for _ in range(6):
        next_look(s)
        s.work()


@story
def a_reserved_type(s: Story) -> None:
    """A direct run reserves the next slot of a full type: jobs wait until it is over."""
    from leasehold.runtime.worker import Worker
    from tests.contract.handlers import scripted

    class Caller:
        def call(self, run, job_type):
            worker = Worker(s.services, {"single": scripted(s.script)}, worker_id="direct", limit_time=False)
            return worker.run_directly(run)

    s.services.caller = Caller()
    enqueue(s, "a", "b")
    s.poll()

    def others_go_on(context):
        s.poll(s.process())
        return "by hand"

    s.script.then(None, others_go_on)
    s.meanwhile("query   seat#type:single", lambda: None)

    def ends(duration: timedelta) -> None:
        s.recording.note(f"sleeps  {duration.total_seconds():g}")
        s.run()

    s.clock.slept = ends
    s.do("run one now", lambda: s.queue.run_now("single", {"n": 1}))
    s.wait(6)
    s.work(2)
