"""Stories of corners of limits: lines that change while they are read, looks that are lost, seats at their bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import CircuitBreaker, Fixed, JobType, OnFull, Rate
from leasehold.kernel.other_entries import FreedScope
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import JOBS, Delete, Key, Update
from leasehold.limits.scopes import Lane, LineEntry, Scope, Seat
from tests.stories.limited import MINUTE, SECOND, backlog, enqueue, moment, next_look
from tests.stories.story import START, Died, Story, story

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.table import Record


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
def a_probe_that_another_job_became(s: Story) -> None:
    """Two pollers choose different jobs as the probe of a circuit: who comes second tries no other job."""
    breaker = CircuitBreaker(min_runs=1, probe_after=MINUTE)
    s.deploy(JobType(name="sync", breaker=breaker, concurrency=3, retry=Fixed(timedelta(hours=8))))
    s.script.then(ValueError("down"))
    enqueue(s, "a", job="sync")
    s.work()
    enqueue(s, "b", "c", "d", job="sync")
    s.wait(60)

    def another_poller() -> None:
        s.queue.enqueue("sync", priority="critical")
        s.poll(s.process())

    s.meanwhile("together", another_poller)
    s.poll()
    s.work(2)


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
    s.with_waker()
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
def a_freed_scope_that_fails(s: Story) -> None:
    """A look that breaks is reported, and the scope made due."""
    s.with_waker()
    enqueue(s, "first", "second")
    s.poll()
    s.run()
    s.table.stored.write(Update(key=Key(JOBS, ("seat#type:single", "000000")), conditions=(), sets={"lane": "x"}))
    s.poll(hints=[FreedScope("type:single")])


@story
def a_stop_while_seats_are_looked_for(s: Story) -> None:
    """A freed seat of a paused type: the look is put off until that is over, or until a reservation ends."""
    s.with_waker()
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
    s.with_waker()
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


@story
def a_probe_that_is_given_back(s: Story) -> None:
    """A probe is claimed and then its type is paused by hand, or it is too late for it: another may try."""
    breaker = CircuitBreaker(min_runs=1, probe_after=MINUTE)
    s.deploy(JobType(name="sync", breaker=breaker, retry=Fixed(timedelta(hours=8))))
    s.script.then(ValueError("down"))
    enqueue(s, "a", job="sync")
    s.work()
    s.enqueue("late", "sync", start_by=s.clock.now() + 70 * SECOND)
    enqueue(s, "b", job="sync")
    s.poll()
    s.wait(60)
    s.poll()
    s.wait(11)
    s.run()
    s.wait(60)
    s.poll()
    s.do("halt", lambda: s.operator.halt(reason="fire"))
    s.wait(6)
    s.run()
    s.do("resume", s.operator.resume)
    s.wait(6)
    for _ in range(3):
        next_look(s)
        s.work()


@story
def a_rate_of_five_seconds(s: Story) -> None:
    """A rate that has room in just five seconds is waited for in its own line; in less, where the lane stands."""
    s.deploy(JobType(name="sync", concurrency=2, rate_per_key=Rate(1, 5 * SECOND)))
    backlog(s, 2, "sync", ["a", "b", "c"])
    for _ in range(7):
        s.work()
        next_look(s)
    s.wait(0.001)
    enqueue(s, "more", job="sync", concurrency_key="a")
    s.work()


@story
def everything_is_full(s: Story) -> None:
    """Whoever turns new jobs away when its own limit is full waits for the limit of all types."""
    s.deploy(JobType(name="skips", on_full=OnFull.SKIP, concurrency=2), JobType(name="report"), concurrency=1)
    enqueue(s, "runs", job="report")
    enqueue(s, "waits", "waits too", job="skips")
    s.poll()
    s.run()
    s.work(3)


@story
def the_records_of_a_line(s: Story) -> None:
    """Each write of a scope's records, made, refused, and found to be its own when its answer was lost."""
    lines, now = s.services.store.lines, s.clock.now()
    lane, other = Lane.parse("lane#2#sync#a"), Lane.parse("lane#2#sync#b")
    first, second = moment(s), moment(s)
    entry = LineEntry(scope="type:sync", lane=lane, since=now, stamp=first.stamp)
    seat = Seat(scope="type:sync", number=0, taken_by="p.1", taken_at=now, held_until=now + MINUTE)
    for title, act in (
        ("a scope that is not there", lambda: lines.scope("type:sync")),
        ("nudge it", lambda: lines.nudge("type:sync", first)),
        ("expect a look", lambda: lines.expect(lines.seen("type:sync"), now + MINUTE, first)),
        ("expect it again", lambda: lines.expect(Scope(name="type:sync"), now + MINUTE, first)),
        ("expect it by another", lambda: lines.expect(Scope(name="type:sync"), now + MINUTE, second)),
        ("join", lambda: lines.join(entry, None)),
        ("join again", lambda: lines.join(entry, None)),
        ("join as it was seen", lambda: lines.join(replace(entry, stamp=second.stamp), entry)),
        ("note it empty, too late", lambda: lines.note_empty(entry, first)),
        ("note it empty", lambda: lines.note_empty(replace(entry, stamp=second.stamp), first)),
        ("join, and it is empty", lambda: lines.join(entry, replace(entry, stamp="x"))),
        ("leave, too late", lambda: lines.leave(replace(entry, stamp="x"))),
        ("leave", lambda: lines.leave(entry)),
        ("leave again", lambda: lines.leave(entry)),
        ("an entry that is not there", lambda: lines.entry("type:sync", other)),
        ("take a seat", lambda: lines.take(seat, None)),
        ("take it again", lambda: lines.take(seat, None)),
        ("another takes it", lambda: lines.take(replace(seat, taken_by="p.2"), None)),
        ("it is abandoned", lambda: lines.take(replace(seat, taken_by="p.2"), seat)),
        ("free it, too late", lambda: lines.free("type:sync", 0, "p.1")),
        ("free it", lambda: lines.free("type:sync", 0, "p.2")),
        ("free it again", lambda: lines.free("type:sync", 0, "p.2")),
        ("free one that never was", lambda: lines.free("type:sync", 9, "p.2")),
        ("take a look, too late", lambda: lines.take_look("type:sync", "x", now + MINUTE, second)),
        ("take a look", lambda: lines.take_look("type:sync", _due_key(s), now + MINUTE, second)),
        ("take it again", lambda: lines.take_look("type:sync", "x", now + MINUTE, second)),
        ("look now", lambda: lines.look_now(lines.seen("type:sync"), first)),
        ("look now, too late", lambda: lines.look_now(Scope(name="type:sync", exists=True), second)),
        ("nudge", lambda: lines.nudge("type:sync", second)),
        ("nudge again", lambda: lines.nudge("type:sync", second)),
        ("put it off", lambda: lines.put_off([("type:sync", _due_key(s), now + MINUTE)], second)),
        ("look at it later", lambda: lines.look_at(lines.seen("type:sync"), now + 2 * MINUTE, first, is_empty=True)),
        ("park it, too late", lambda: lines.park(Scope(name="type:sync"))),
        ("park it", lambda: lines.park(lines.seen("type:sync"))),
        ("nudge what is parked", lambda: lines.nudge("type:sync", second)),
        ("expect what is parked", lambda: lines.expect(lines.seen("type:sync"), now, first)),
        ("forget it, too late", lambda: lines.forget(Scope(name="type:sync"))),
        ("forget it", lambda: lines.forget(lines.seen("type:sync"))),
        ("forget it again", lambda: lines.forget(lines.seen("type:sync"))),
    ):
        s.do(title, act)


def _due_key(s: Story) -> str:
    return s.services.store.lines.seen("type:sync").due_key or ""


@story
def the_records_of_pollers(s: Story) -> None:
    """Locks and the waiter lease: taken, prolonged, refused, and over at their very end."""
    records, now = s.services.store.pollers, s.clock.now()
    later = now + 10 * SECOND
    for title, act in (
        ("lock", lambda: records.take_shard_lock(0, "a", now, later)),
        ("lock by another", lambda: records.take_shard_lock(0, "b", later - SECOND / 1000, later)),
        ("lock it again", lambda: records.take_shard_lock(0, "a", now, later)),
        ("lock at its end", lambda: records.take_shard_lock(0, "b", later, later + SECOND)),
        ("give it up, too late", lambda: records.give_up_shard_lock(0, "a")),
        ("give it up", lambda: records.give_up_shard_lock(0, "b")),
        ("nobody waits", records.waiter_lease),
        ("tell nobody", lambda: records.note_due(later)),
        ("wait", lambda: records.acquire_waiter_lease("a", now, later, from_anyone=False)),
        ("wait, too late", lambda: records.acquire_waiter_lease("b", now, later, from_anyone=False)),
        ("tell", lambda: records.note_due(later)),
        ("tell of something later", lambda: records.note_due(later)),
        ("tell of something sooner", lambda: records.note_due(now)),
        ("who waits", records.waiter_lease),
        ("forget something else", lambda: records.forget_due(later)),
        ("forget it", lambda: records.forget_due(now)),
        ("wait instead", lambda: records.acquire_waiter_lease("b", now, later, from_anyone=True)),
        ("release, too late", lambda: records.release_waiter_lease("a")),
        ("wait at its end", lambda: records.acquire_waiter_lease("c", later, later, from_anyone=False)),
        ("release", lambda: records.release_waiter_lease("c")),
    ):
        s.do(title, act)


@story
def behind_those_who_wait(s: Story) -> None:
    """A rate has room again, and a new job comes before anybody looked: it queues behind the lanes that wait."""
    s.deploy(JobType(name="sync", rate=Rate(1, 10 * SECOND)))
    backlog(s, 2, "sync", ["a"])
    s.poll()
    s.clock.move_to(START + 11 * SECOND)
    enqueue(s, "new", job="sync", concurrency_key="b")
    s.poll()
    s.deploy(JobType(name="sync", concurrency=2, rate=Rate(1, 10 * SECOND)))
    s.wait(6)
    enqueue(s, "newer", job="sync", concurrency_key="c")
    s.poll()
    for _ in range(3):
        next_look(s)
        s.poll()


@story
def a_program_without_a_waker(s: Story) -> None:
    """It can start no poller for a freed seat, so it makes the scope due."""
    s.services.waker = None
    enqueue(s, "first", "second")
    s.poll()
    s.wait(1)
    s.run()
    s.work()


@story
def a_rate_of_a_day(s: Story) -> None:
    """The longer a seat is held, the later the first look: ten minutes at most, spread, and on the common grid."""
    s.deploy(JobType(name="sync", rate=Rate(1, timedelta(days=1))))
    backlog(s, 2, "sync")
    for _ in range(3):
        s.poll()
        next_look(s)
