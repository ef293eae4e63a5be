"""Stories of corners: what happens seldom, and what is seen only at a bound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold import CircuitBreaker, Fixed, JobType, NewJob, Rate, Snooze
from leasehold.kernel import partitions
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.jobs import FreedScope
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.ports import Handover, handovers_in
from leasehold.kernel.table import DEAD_LETTERS, JOBS, ConditionFailed, Delete, Key, Put, Update
from leasehold.pollers.sharing import Part
from leasehold.pollers.window import Window
from leasehold.pool import InTurn
from leasehold.runtime.signals import GiveUp
from leasehold.webhooks.address import Webhook
from tests.stories.limited import MINUTE, SECOND, backlog, enqueue, moment, next_look
from tests.stories.pollers import waiting
from tests.stories.story import START, TYPES, Died, Story, story

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.table import Record


def damage(s: Story, name: str, **sets: Any) -> None:
    """Somebody changes a job in the table by hand."""
    for record in s.table.stored.scan(JOBS):
        if record.get("job_id") == s.jobs[name]:
            key = Key(JOBS, (str(record["PK"]), str(record["SK"])))
            removed = frozenset(each for each in sets if sets[each] is None)
            kept: Record = {each: value for each, value in sets.items() if value is not None}
            s.table.stored.write(Update(key=key, conditions=(), sets=kept, removes=removed))


@story
def many_at_a_time(s: Story) -> None:
    """A bulk of jobs in one request, some of which are refused by themselves."""
    s.deploy(*TYPES, shards=3)
    wanted = [NewJob(job="report", payload={"n": number}) for number in range(5)]
    wanted += [NewJob(job="unknown"), NewJob(job="email", dedup_key="k"), NewJob(job="email", dedup_key="k")]
    s.do("enqueue them", lambda: s.queue.enqueue_many(wanted))
    s.work()


@story
def payloads_of_every_kind(s: Story) -> None:
    """What a payload may hold comes back as what it was."""
    values: Any = {
        "n": 1,
        "at": datetime(2026, 5, 1, 12, 30, tzinfo=UTC),
        "amount": Decimal("1.10"),
        "mine": {"$datetime": "not one"},
        "deep": [{"a": [None, True, 1.5, "ü", {"$escaped": {"x": 1}}]}],
        "big": 2**60,
    }
    job_id = s.enqueue("a", payload=values)
    s.do("look at it", lambda: s.queue.get(job_id).payload)
    s.script.then({"at": datetime(2026, 5, 1, tzinfo=UTC), "list": [Decimal("0.5")]})
    s.work()
    s.do("its result", lambda: s.queue.get(job_id).result)
    for refused in ({"x": {1: 2}}, {"x": float("nan")}, {"x": {1}}, {"x": datetime(2026, 5, 1)}, {"x": "\ud800"}):  # noqa: DTZ001
        s.enqueue("refused", payload=refused)
    nested: Any = []
    for _ in range(70):
        nested = [nested]
    s.enqueue("too deep", payload=nested)
    s.enqueue("too large a number", payload={"x": 10**5000})


@story
def a_long_history(s: Story) -> None:
    """Errors are shortened, and the oldest runs are forgotten where a history grows too long."""
    s.deploy(JobType(name="report", retry=Fixed(SECOND), max_attempts=130))
    job_id = s.enqueue("a")
    s.script.then(*[ValueError(f"{number} " + "ü" * 900) for number in range(125)])
    for _ in range(124):
        s.work()
        s.wait(1)
    s.recording.lines.clear()
    s.work()
    runs = s.queue.get(job_id).runs
    s.recording.note(f"{len(runs)} runs, the first is number {runs[0].number}, {len(runs[0].error or '')} characters")


@story
def given_up_by_its_handler(s: Story) -> None:
    """It failed, and nobody needs to look after it."""
    s.script.then(GiveUp(ValueError("gone")))
    s.enqueue("a")
    s.work()


@story
def undeliverable(s: Story) -> None:
    """Twenty hand-overs and a day without a start: then it is a dead letter, whoever finds it so."""
    s.enqueue("a")
    s.enqueue("b")
    since = (START - timedelta(days=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for name, dispatches in (("a", 19), ("b", 18)):
        damage(s, name, dispatches=dispatches, undelivered_since=since)
    s.poll()
    s.take()
    s.wait(126)
    s.poll()
    s.wait(600)
    s.dispatches.failure = "gone"
    s.poll()


@story
def owed_to_nobody(s: Story) -> None:
    """A job owes something to a feature that this version does not know: it is put off, and stays owed."""
    s.deploy(JobType(name="report", webhook=Webhook(url="https://example.com/hook"), retry=Fixed(5 * SECOND)))
    s.script.then(None, ValueError("no"))
    s.enqueue("ended")
    s.enqueue("failed")
    s.meanwhile("insert", partial(_dies, s))
    s.work()
    for name in s.jobs:
        damage(s, name, owed=["future:x", "webhooks"])
    s.table.before.clear()
    for _ in range(3):
        s.work()
        s.wait(60)


def _dies(_: Story) -> None:
    raise Died


@story
def settled_by_two(s: Story) -> None:
    """What is owed is settled while another does it, or the job changes."""
    s.deploy(JobType(name="report", webhook=Webhook(url="https://example.com/hook"), retry=Fixed(5 * SECOND)))
    s.script.then(None, ValueError("no"), None)
    for name in ("a", "b", "c"):
        s.enqueue(name, dedup_key=name)
    s.poll()
    s.run()
    s.meanwhile("together", lambda: s.poll(s.process()))
    s.poll()
    s.meanwhile("write", lambda: damage(s, "a", due_key=None, due_lane=None))
    s.poll()
    s.run()
    s.wait(5)
    s.work(2)


@story
def reaped_by_two(s: Story) -> None:
    """Two pollers find a lease that is over; one of them ends it. A lease that was extended is left alone."""

    def dies(context: JobContext) -> None:
        raise Died

    s.script.then(dies, dies)
    s.enqueue("started")
    s.enqueue("extended")
    s.work()
    s.enqueue("unstarted")
    s.poll()
    s.take()
    s.wait(125.001)
    s.meanwhile("write   update job", lambda: s.poll(s.process()))
    s.meanwhile("get     job", lambda: damage(s, "extended", lock_expires_at="2026-01-01T00:10:00.000Z"))
    s.poll()
    s.wait(125)
    s.poll()


@story
def snoozed_and_lost(s: Story) -> None:
    """A snooze whose job was taken away meanwhile, an end as well, and a job that is gone."""

    def loses(answer: Any) -> Any:
        def loses(context: JobContext) -> Any:
            damage(s, context.job_id and next(n for n in s.jobs if s.jobs[n] == context.job_id), locked_by="other.1")
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return loses

    s.script.then(loses(Snooze(5)), loses("done"), loses(ValueError("no")))
    for name in ("snoozes", "ends", "fails"):
        s.enqueue(name)
    s.poll()
    s.run()
    s.enqueue("gone")
    s.poll()
    for record in list(s.table.stored.scan(JOBS)):
        if record.get("job_id") == s.jobs["gone"]:
            s.table.stored.write(Delete(key=Key(JOBS, (str(record["PK"]), str(record["SK"]))), conditions=()))
    s.run()


@story
def hand_overs_as_events(s: Story) -> None:
    """A hand-over travels as an event, alone or in a batch; what is none is refused."""
    s.enqueue("a")
    s.poll()
    (handover,) = s.take()
    s.do("one", lambda: handovers_in(handover.to_event()) == [handover])
    s.do("its event", handover.to_event)
    two = {"job_type": "report", "batch": [handover.to_event(), handover.to_event()]}
    s.do("two", lambda: handovers_in(two) == [handover, handover])
    events: tuple[dict[str, object], ...] = (
        {},
        {"batch": []},
        {"batch": "x"},
        {**handover.to_event(), "lease": "soon"},
    )
    for event in events:
        s.do("none", partial(handovers_in, event))
    s.do("of a later format", lambda: Handover.from_event({**handover.to_event(), "leasehold_format": 2}))


@story
def a_dead_letter_that_lies(s: Story) -> None:
    """One that calls itself another job's is not believed; one that cannot be read is passed by."""
    s.script.then(*[ValueError("no")] * 2)
    s.enqueue("a", "once")
    s.enqueue("b", "once")
    s.work()
    other: Record = {"original_job_id": s.jobs["b"]}
    s.table.stored.write(Update(key=Key(DEAD_LETTERS, (s.jobs["a"],)), conditions=(), sets=other))
    s.table.stored.write(Update(key=Key(DEAD_LETTERS, (s.jobs["b"],)), conditions=(), sets={"attempts": "many"}))
    s.do("list them", lambda: [each.id for each in s.operator.dead_letters()])
    for name in ("a", "b"):
        s.do(f"redrive {name}", partial(s.operator.redrive, s.jobs[name]))


@story
def the_edge_of_a_lease(s: Story) -> None:
    """At the moment of its end a lease is over, a millisecond before it is not; a start then is too late."""
    s.enqueue("a")
    s.poll()
    s.wait(125)
    s.poll()
    s.wait(0.001)
    s.run()
    s.wait(59.999)
    s.work()


@story
def a_handler_with_little_time(s: Story) -> None:
    """The platform leaves it less time than its type has: its deadline, and its lease, are shorter."""

    def looks(context: JobContext) -> str:
        return f"until {context.deadline.isoformat()}"

    s.script.then(looks, looks)
    s.enqueue("a")
    s.enqueue("b")
    s.poll()
    first, second = s.take()
    s.run([first], remaining=20 * SECOND)
    s.run([second], remaining=100 * SECOND)


@story
def a_pause_in_the_middle_of_a_visit(s: Story) -> None:
    """While a poll serves those who waited, their type is paused: it stops, and the rest waits on."""
    s.do("pause", lambda: s.operator.pause("report", reason="broken"))
    s.wait(6)
    backlog(s, 10, "report")
    s.poll()
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.wait(6)

    def pauses() -> None:
        s.operator.pause("report", reason="again")
        s.wait(6)

    s.meanwhile("batch", pauses)
    settings = PollSettings(poll_limit=3)
    s.do("poll", Poller(s.services, s.dispatches, worker_id="poller", settings=settings).poll, is_silent=True)
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.wait(6)
    s.do("poll", Poller(s.services, s.dispatches, worker_id="poller", settings=settings).poll, is_silent=True)


@story
def a_pause_of_one_of_two(s: Story) -> None:
    """Two types wait for a resource; one of them is paused: its lane moves to the pause's line."""
    s.deploy(JobType(name="small", resources=("gpu",)), JobType(name="big", resources=("gpu",)), resources={"gpu": 1})
    backlog(s, 2, "small")
    backlog(s, 3, "big")
    s.poll()
    s.do("pause", lambda: s.operator.pause("big", reason="broken"))
    s.wait(6)
    s.run()
    for _ in range(3):
        s.work()
        s.wait(1)
    s.do("unpause", lambda: s.operator.unpause("big"))
    s.wait(6)
    for _ in range(4):
        s.work()
        s.wait(1)


@story
def seats_that_others_take_first(s: Story) -> None:
    """A visit's claims are refused again and again, as another poller takes the seats that it has seen."""
    s.deploy(JobType(name="sync", concurrency=2))
    backlog(s, 7, "sync")
    s.poll()
    s.wait(1)
    s.run()
    s.meanwhile("together update job", lambda: s.poll(s.process()))
    s.poll()
    s.wait(1)
    s.run()
    s.meanwhile("together update job", lambda: s.queue.cancel(_first_held(s)))
    s.poll()


def _first_held(s: Story) -> str:
    held = [each for each in s.table.stored.scan(JOBS) if str(each.get("due_lane", "")).startswith("hold#")]
    return str(min(held, key=lambda each: str(each["due_key"]))["job_id"])


@story
def a_wider_limit_that_is_contended(s: Story) -> None:
    """A lane of one key's line finds that others wait for the type: it joins them behind its turn."""
    s.deploy(JobType(name="sync", concurrency=2, concurrency_per_key=1))
    backlog(s, 3, "sync", ["a"])
    s.poll()
    backlog(s, 2, "sync", ["b", "c", "d"])
    s.poll()
    for _ in range(7):
        s.wait(1)
        s.run(s.take()[:1])
        s.poll()


@story
def found_empty_at_the_last_moment(s: Story) -> None:
    """A line is found empty, and a lane joins before that is noted; a lane counts as empty and is not."""
    enqueue(s, "first", "second")
    s.poll()
    s.wait(1)
    s.run()
    s.work()
    s.meanwhile("write   update seat#type:single/-", lambda: enqueue(s, "third", "fourth"))
    next_look(s)
    s.poll()
    s.meanwhile("write   update seat#type:single/lane", lambda: s.poll(s.process()))
    next_look(s)
    s.work()
    enqueue(s, "fifth", "sixth")
    for _ in range(4):
        s.work()
        next_look(s)


@story
def a_lane_that_left_its_line(s: Story) -> None:
    """It was remembered to stand in line, and does not any more when its job is held: it joins again."""
    s.deploy(JobType(name="sync", concurrency=1))
    s.table.takes = 2 * SECOND
    backlog(s, 10, "sync")

    def leaves() -> None:
        for record in list(s.table.stored.scan(JOBS)):
            if str(record["SK"]).startswith("lane#"):
                s.table.stored.write(Delete(key=Key(JOBS, (str(record["PK"]), str(record["SK"]))), conditions=()))

    for _ in range(9):
        s.meanwhile("batch", leaves)
        s.meanwhile("write   update job", leaves)
    s.poll()


@story
def a_probe_that_another_sent(s: Story) -> None:
    """Two pollers find an open circuit whose time has come: one probe is sent."""
    breaker = CircuitBreaker(min_runs=2, probe_after=MINUTE)
    s.deploy(JobType(name="sync", breaker=breaker, retry=Fixed(timedelta(hours=8))))
    s.script.then(ValueError("down"), ValueError("down"))
    enqueue(s, "a", "b", job="sync")
    s.work()
    enqueue(s, "c", "d", "e", job="sync")
    s.wait(60)
    s.meanwhile("together", lambda: s.poll(s.process()))
    s.poll()
    s.wait(20)
    s.poll()
    s.run()
    for _ in range(3):
        next_look(s)
        s.work()


@story
def the_edge_of_a_window(s: Story) -> None:
    """At the very moment after which Lambda starts a hand-over no more, it counts as lost; a second is in time."""
    s.services.window = Window()
    backlog(s, 20, "report")
    s.poll()
    s.wait(1)
    taken = s.take()
    s.run(taken[:8])
    s.poll()
    s.wait(64 - 0.001)
    s.poll()
    s.wait(0.001)
    s.poll()
    s.wait(0.2)
    s.poll()
    s.wait(0.199)
    s.poll()
    s.recording.note(f"{len(s.take())} more")


@story
def throttled_hand_overs(s: Story) -> None:
    """Each throttled hand-over halves its type's window and that of all, down to four."""
    s.services.window = Window()
    s.dispatches.failure = "ThrottlingException"
    for _ in range(3):
        backlog(s, 2, "report")
        s.poll()
        s.wait(1)
    s.dispatches.failure = "no such function"
    backlog(s, 1, "email")
    s.poll()
    s.dispatches.failure = None
    s.wait(10)
    backlog(s, 9, "report")
    backlog(s, 6, "email")
    s.poll()


@story
def hand_overs_that_hang(s: Story) -> None:
    """In a pool where others hang, what waited two seconds is put back once the poll has to stop."""

    class Slow(InTurn):
        def submit(self, call: Any) -> Any:
            s.wait(2)
            return super().submit(call)

    backlog(s, 3, "report")
    asked = iter([None] * 5)
    poller = Poller(s.services, s.dispatches, worker_id="poller", pool=Slow())
    s.do("poll", lambda: poller.poll(should_stop=lambda: next(asked, "deadline")), is_silent=True)


@story
def a_waiter_s_pauses(s: Story) -> None:
    """It sleeps until what is due, a tenth of the shortest gap at least; a poll in vain doubles its gap."""
    s.deploy(JobType(name="sync", rate=Rate(1, 2 * SECOND)), JobType(name="report"))
    backlog(s, 3, "sync")
    s.enqueue("near", run_in=timedelta(milliseconds=120))
    s.do("stay", lambda: waiting(s, stay=8 * SECOND).stay())


@story
def the_last_moment_of_a_stay(s: Story) -> None:
    """What is due when it leaves is near; what is due a millisecond later is not."""
    s.enqueue("at the end", run_in=10 * SECOND)
    s.do("stay", lambda: waiting(s, stay=10 * SECOND, look_every=3 * SECOND, reread_every=3 * SECOND).stay())
    s.enqueue("behind it", run_in=timedelta(milliseconds=10_001))
    s.do("stay", lambda: waiting(s, stay=10 * SECOND).stay())
    s.do("reserve", lambda: waiting(s, stay=10 * SECOND).reserve(soonest_at=s.clock.now() + 10 * SECOND))


@story
def the_doubling_of_a_window(s: Story) -> None:
    """Fifteen in time are not sixteen: the window doubles with the sixteenth, of the type and of all."""
    s.services.window = Window()
    backlog(s, 60, "report")
    s.poll()
    taken = s.take()
    before = len(s.recording.lines)
    s.run(taken[:15])
    del s.recording.lines[before:]
    s.wait(0.3)
    s.poll()
    s.recording.note(f"{len(s.dispatches.taken)} more")
    before = len(s.recording.lines)
    s.run(taken[15:])
    del s.recording.lines[before:]
    s.wait(0.3)
    s.poll()
    s.recording.note(f"{len(s.dispatches.taken)} more")


@story
def a_very_long_line(s: Story) -> None:
    """Ninety lanes wait, and forty are read at once: the rest of the line is read as it is needed."""
    s.deploy(JobType(name="sync", concurrency=1))
    backlog(s, 1, "sync", [f"k{number:02}" for number in range(90)])
    before = len(s.recording.lines)
    s.poll()
    s.deploy(JobType(name="sync", concurrency=100))
    s.wait(6)
    s.run()
    s.wait(1)
    s.poll()
    shown = [line for line in s.recording.lines[before:] if "query" in line or "handed" in line]
    s.recording.lines[before:] = shown


@story
def woken_right_behind_another(s: Story) -> None:
    """A poller that comes fifty milliseconds behind another's look waits for the rest of its time, then looks."""
    s.wakes.is_on = True
    s.deploy(JobType(name="double", concurrency=2))
    enqueue(s, *"abcdefgh", job="double")
    s.poll()
    first, second = s.take()
    s.wait(5)
    s.run([first])
    s.poll(hints=[FreedScope("type:double")])
    s.wait(0.05)
    s.run([second])
    s.poll(s.process(), hints=[FreedScope("type:double")])
    s.wait(0.15)
    s.run()
    s.poll(s.process(), hints=[FreedScope("type:double")])


@story
def trusted_for_half_a_minute(s: Story) -> None:
    """What a long poll remembers of seats and lines is read again after thirty seconds, not a millisecond before."""
    s.deploy(JobType(name="sync", concurrency=1), JobType(name="report"))
    enqueue(s, "first", "second", job="sync")
    s.enqueue("between")
    s.enqueue("third", "sync")
    s.enqueue("later")
    s.enqueue("fourth", "sync")
    pauses = iter((29.995, 0.005))

    class Slow:
        def dispatch(self, handover: Handover, function: str | None) -> None:
            if handover.job_type == "report":
                s.wait(next(pauses, 0))
            s.dispatches.dispatch(handover, function)

    s.do("poll", Poller(s.services, Slow(), worker_id="poller").poll, is_silent=True)


@story
def shards_of_others(s: Story) -> None:
    """A poller of one part looks at the others' shards after two seconds, and once its own are done."""
    s.deploy(*TYPES, shards=2)
    backlog(s, 16, "report")
    s.table.takes = timedelta(milliseconds=250)
    settings = PollSettings(poll_limit=2)
    poller = Poller(s.services, s.dispatches, worker_id="one", settings=settings)
    asked = iter([None] * 16)
    part = Part(1, 2)
    s.do("poll", lambda: poller.poll(part=part, should_stop=lambda: next(asked, "deadline")), is_silent=True)


@story
def a_lock_of_another(s: Story) -> None:
    """Another poller has the shard: its backlog is left to it until its lock is over."""
    backlog(s, 30, "report")
    s.services.store.pollers.take_shard_lock(0, "other", s.clock.now(), s.clock.now() + 10 * SECOND)
    s.poll()
    s.wait(9.999)
    s.poll()
    s.wait(0.001)
    s.poll()


@story
def a_stopped_poll_with_a_batch(s: Story) -> None:
    """It has to stop after a batch was claimed: what was not handed over is put back, and what is undecided too."""
    backlog(s, 12, "report")
    asked = iter([None] * 6)
    s.poll(should_stop=lambda: next(asked, "deadline"))
    s.take()
    lost = s.table.stored.update_many

    def unanswered(updates: Any) -> Any:
        lost(updates)
        return [StoreUnavailableError("no answer") for _ in updates]

    s.table.stored.update_many = unanswered  # type: ignore[method-assign]
    asked = iter([None] * 7)
    s.poll(should_stop=lambda: next(asked, "deadline"))
    s.table.stored.update_many = lost  # type: ignore[method-assign]
    s.wait(1)
    s.poll()


@story
def a_freed_scope_that_fails(s: Story) -> None:
    """A look that breaks is reported, and the scope made due."""
    s.wakes.is_on = True
    enqueue(s, "first", "second")
    s.poll()
    s.run()
    s.table.stored.write(Update(key=Key(JOBS, ("seat#type:single", "000000")), conditions=(), sets={"lane": "x"}))
    s.poll(hints=[FreedScope("type:single")])


@story
def a_stop_while_seats_are_looked_for(s: Story) -> None:
    """A freed seat of a paused type: the look is put off until that is over, or until a reservation ends."""
    s.wakes.is_on = True
    enqueue(s, "first", "second", "third")
    s.poll()
    s.do("pause", lambda: s.operator.pause("single", reason="broken"))
    s.run()
    s.wait(6)
    s.poll(hints=[FreedScope("type:single")])
    s.do("unpause", lambda: s.operator.unpause("single"))
    s.wait(6)
    s.work()
    s.work()


@story
def a_line_in_two_priorities(s: Story) -> None:
    """Where a rate has room for one, the lanes of two priorities and two keys have their turns over many looks."""
    s.deploy(JobType(name="sync", rate=Rate(1, 10 * SECOND), weights={"b": 2}))
    backlog(s, 3, "sync", ["a", "b"], priority="high")
    backlog(s, 2, "sync", ["a", "c"])
    settings = PollSettings(lower_share=0.25)
    for _ in range(11):
        poller = Poller(s.services, s.dispatches, worker_id="poller", settings=settings)
        s.do("poll", poller.poll, is_silent=True)
        next_look(s)


def _dies_before_settling(s: Story) -> None:
    """Whoever runs what was handed over dies right behind its end, before it settles what that owes."""
    taken = s.take()
    for handover in taken:
        s.meanwhile("together", partial(_dies, s))
        s.run([handover])
    s.table.before.clear()


@story
def a_group_settled_together(s: Story) -> None:
    """Ten members ended and nobody settled them: one poll does, by one transaction of their group."""
    jobs = [NewJob(job="report", payload={"n": number}) for number in range(10)]
    s.do("make it", lambda: s.queue.groups.create(jobs, mode="parallel", callback=NewJob(job="email")))
    s.poll()
    before = len(s.recording.lines)
    _dies_before_settling(s)
    del s.recording.lines[before:]
    s.meanwhile("together", lambda: s.poll(s.process()))
    s.work(2)
    s.wait(126)
    s.work(2)


@story
def many_that_owe_deliveries(s: Story) -> None:
    """Ten ended jobs owe a delivery each: they are settled side by side, and one of them that cannot be is put off."""
    s.deploy(JobType(name="report", webhook=Webhook(url="https://example.com/hook"), retry=Fixed(5 * SECOND)))
    s.script.then(*[None] * 8, ValueError("no"), None)
    for number in range(10):
        s.enqueue(f"job {number}", payload={"n": number})
    s.poll()
    before = len(s.recording.lines)
    _dies_before_settling(s)
    for record in list(s.table.stored.scan(JOBS)):
        if record.get("status") == "completed" and record.get("job_type") == "report" and "due_key" not in record:
            s.recording.note("one of them was settled")
    del s.recording.lines[before:]
    damage(s, "job 3", owed=["future"])
    damage(s, "job 4", owed=[])
    s.work(2)
    s.wait(60)
    s.work(2)


@story
def what_is_owed_and_due_alike(s: Story) -> None:
    """Entries that owe something stand beside jobs that are due: each has what it needs."""
    s.deploy(JobType(name="report", webhook=Webhook(url="https://example.com/hook")), JobType(name="email"))
    for number in range(4):
        s.enqueue(f"job {number}", payload={"n": number})
    s.poll()
    before = len(s.recording.lines)
    _dies_before_settling(s)
    for number in range(6):
        s.enqueue(f"mail {number}", "email")
    del s.recording.lines[before:]
    s.poll()
    s.run()


@story
def reserved_at_its_start(s: Story) -> None:
    """A type is reserved for a direct run between a claim and its start: the job is given back, due at once."""
    until = (START + timedelta(seconds=30)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    enqueue(s, "a", job="report")
    s.poll()
    reservation: Record = {
        "run_id": s.jobs["a"],
        "since": "2026-01-01T00:00:00.000Z",
        "until": until,
    }
    key = partitions.control(f"{partitions.NEXT_SLOT}report")
    s.table.stored.write(Put(key=key, record=reservation, conditions=()))
    s.wait(6)
    s.run()
    s.work()
    s.wait(24.001)
    s.work(2)


@story
def a_job_that_is_made_twice(s: Story) -> None:
    """An insert whose answer was lost finds its own job; one that finds another's says so."""
    made: list[str] = []

    def before() -> None:
        made.append("x")

    s.meanwhile("insert", before)
    stored = s.table.stored.insert_many

    def lost(puts: Any) -> Any:
        stored(puts)
        return [ConditionFailed(None, was_repeated=True) for _ in puts]

    def taken(puts: Any) -> Any:
        stored(puts)
        key = puts[0].key
        s.table.stored.write(Update(key=key, conditions=(), sets={"created_by": "somebody else"}))
        return [ConditionFailed(None, was_repeated=True) for _ in puts]

    def gone(puts: Any) -> Any:
        return [ConditionFailed(None, was_repeated=True) for _ in puts]

    def refused(puts: Any) -> Any:
        stored(puts)
        return [ConditionFailed(None) for _ in puts]

    for name, how in (("lost", lost), ("taken", taken), ("gone", gone), ("refused", refused)):
        s.table.stored.insert_many = how  # type: ignore[method-assign]
        s.enqueue(name)
    s.table.stored.insert_many = stored  # type: ignore[method-assign]
    s.work()


@story
def a_cancelled_worker_that_may_still_run(s: Story) -> None:
    """Its lease ends after it was asked to stop: it is cancelled, and its seat is kept until its full time is over."""
    s.deploy(JobType(name="sync", concurrency=1, lease=20 * SECOND, timeout=2 * MINUTE, heartbeat=True))

    def stalls(context: JobContext) -> None:
        s.queue.cancel(context.job_id, reason="enough")
        raise Died

    s.script.then(stalls)
    enqueue(s, "stalls", "waits", job="sync")
    s.work()
    for _ in range(4):
        next_look(s)
        s.work()


@story
def an_end_that_is_hard_to_write(s: Story) -> None:
    """The store does not answer for a while: starts, payloads and ends are tried again, with growing pauses."""

    def works(context: JobContext) -> str:
        for _ in range(9):
            s.meanwhile("write   update job", partial(_unavailable, s))
        return "done"

    s.script.then(works, works)
    s.enqueue("small")
    s.poll()
    s.run()
    s.table.before.clear()
    s.enqueue("apart", payload={"n": 1, "text": "".join(chr(33 + number * 7919 % 90) for number in range(190_000))})
    s.poll()
    for _ in range(40):
        s.meanwhile("get     payload", partial(_unavailable, s))
        s.meanwhile("query   payload", partial(_unavailable, s))
    s.run()
    s.table.before.clear()
    s.wait(126)
    s.work()


def _unavailable(_: Story) -> None:
    raise StoreUnavailableError("no answer")


@story
def a_visit_that_lost_its_look(s: Story) -> None:
    """A visit goes on page by page; somebody touches its scope meanwhile: it leaves the rest to whoever looks next."""
    s.do("pause", lambda: s.operator.pause("report", reason="broken"))
    s.wait(6)
    backlog(s, 9, "report")
    s.poll()
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.wait(6)

    def touched() -> None:
        s.wait(50)
        s.services.store.lines.nudge("type:report", moment(s))

    s.meanwhile("batch", touched)
    settings = PollSettings(poll_limit=3)
    s.do("poll", Poller(s.services, s.dispatches, worker_id="poller", settings=settings).poll, is_silent=True)


@story
def a_lane_whose_jobs_belong_elsewhere(s: Story) -> None:
    """Jobs wait in a lane without their key, as keys did not count then; a visit offers each of them anew."""
    s.do("pause", lambda: s.operator.pause("report"))
    s.wait(6)
    backlog(s, 2, "report", ["a", "b"])
    s.poll()
    s.deploy(JobType(name="report", concurrency=2, concurrency_per_key=1))
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.wait(6)
    for _ in range(4):
        s.work()
        s.wait(1)


@story
def a_lane_that_counts_as_empty(s: Story) -> None:
    """Its index lagged when it was looked at: its job is found by the next look, and the lane stands in line again."""
    s.wakes.is_on = True
    enqueue(s, "first", "second")
    s.poll()
    lane = "seat#type:single/lane#2#single"
    partition, sort = lane.split("/")
    key = Key(JOBS, (partition, sort))
    emptied: Record = {"empty_since": "2026-01-01T00:00:00.000Z"}
    s.table.stored.write(Update(key=key, conditions=(), sets=emptied))
    s.wait(1)
    s.run()
    for _ in range(4):
        next_look(s)
        s.work()
    s.do("pause", lambda: s.operator.pause("report"))
    s.wait(6)
    enqueue(s, "held", job="report")
    s.poll()
    s.table.stored.write(Update(key=Key(JOBS, ("seat#type:report", "lane#2#report")), conditions=(), sets=emptied))
    s.do("unpause", lambda: s.operator.unpause("report"))
    s.wait(6)
    s.work(2)
