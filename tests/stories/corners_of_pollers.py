"""Stories of corners of pollers: windows, locks and stays at their bounds, and what many owe at once."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from leasehold import Fixed, JobType, NewJob, Rate
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import JOBS, Delete, Key
from leasehold.pollers.sharing import Part
from leasehold.pollers.window import Window
from leasehold.pool import InTurn
from leasehold.webhooks.address import Webhook
from tests.stories.corners import damage, dies
from tests.stories.limited import SECOND, backlog
from tests.stories.pollers import waiting
from tests.stories.story import TYPES, Story, story


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
def hand_overs_that_fail_otherwise(s: Story) -> None:
    """A function that is not there says nothing about how much Lambda can start: no window shrinks."""
    s.services.window = Window()
    s.dispatches.failure = "no such function"
    backlog(s, 1, "email")
    s.poll()
    s.dispatches.failure = None
    s.wait(10)
    backlog(s, 17, "email")
    s.poll()
    s.recording.note(f"{len(s.take())} handed over")


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
    backlog(s, 14, "email")
    backlog(s, 9, "report")
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
    s.services.window = Window(in_time=timedelta(seconds=1))
    backlog(s, 90, "report")
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
    for started in (31, 32):
        before = len(s.recording.lines)
        s.run(s.take()[:started])
        s.wait(0.3)
        s.poll()
        s.recording.lines[before:] = [f"{len(s.dispatches.taken)} more"]


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


def _dies_before_settling(s: Story) -> None:
    """Whoever runs what was handed over dies right behind its end, before it settles what that owes."""
    taken = s.take()
    for handover in taken:
        s.meanwhile("together", partial(dies, s))
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
def a_group_that_is_cancelled_while_it_is_settled(s: Story) -> None:
    """What a member's end makes of its group is looked at anew where somebody has changed the group meanwhile."""
    jobs = [NewJob(job="report", payload={"n": number}) for number in range(3)]
    made = s.do("make it", lambda: s.queue.groups.create(jobs, mode="parallel", callback=NewJob(job="email")))
    assert made is not None
    s.poll()
    _dies_before_settling(s)
    s.meanwhile("together", lambda: s.queue.groups.cancel(made.group_id))
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
    damage(s, "job 0", created_at="soon")
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
def a_small_backlog_of_one_shard(s: Story) -> None:
    """One shard has a small backlog: nobody is called; with a second one helpers are."""
    s.deploy(*TYPES, shards=3)
    calls: list[Part] = []
    poller = Poller(s.services, s.dispatches, worker_id="first", call_helper=calls.append)
    made = 0
    while made < 10:
        job_id = s.queue.enqueue("report").job_id
        if job_id[15:17] == "01":
            made += 1
        else:
            s.queue.cancel(job_id)
    s.recording.lines.clear()
    s.do("poll", poller.poll, is_silent=True)
    s.recording.note(f"called: {calls}")
    backlog(s, 40, "report")
    s.do("poll", poller.poll, is_silent=True)
    s.recording.note(f"called: {calls}")


@story
def a_start_that_is_late(s: Story) -> None:
    """Sixteen start, the last of them a millisecond after the first second: the window stays as it is."""
    s.services.window = Window()
    backlog(s, 50, "report")
    s.poll()
    taken = s.take()
    before = len(s.recording.lines)
    s.run(taken[:15])
    s.wait(1.001)
    s.run(taken[15:])
    del s.recording.lines[before:]
    s.poll()
    s.recording.note(f"{len(s.take())} more")


@story
def hand_overs_that_came_back(s: Story) -> None:
    """Handlers give some back at their start, and one job is gone: these are lost to the window, and that is not."""
    s.services.window = Window()
    backlog(s, 40, "report")
    s.poll()
    taken = s.take()
    before = len(s.recording.lines)
    s.do("halt", lambda: s.operator.halt(reason="fire"))
    s.wait(6)
    s.run(taken[:2])
    for record in list(s.table.stored.scan(JOBS)):
        if record.get("job_id") == taken[2].job_id:
            s.table.stored.write(Delete(key=Key(JOBS, (str(record["PK"]), str(record["SK"]))), conditions=()))
    s.do("resume", s.operator.resume)
    del s.recording.lines[before:]
    s.poll()
    s.recording.note(f"{len(s.take())} more")
