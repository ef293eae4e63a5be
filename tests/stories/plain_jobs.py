"""Stories of plain jobs: their runs, retries, ends, and what goes wrong between them."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from leasehold import Cancel, Delays, JobType, NonRetryableError, Skip, Snooze
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.pool import InTurn
from tests.stories.story import START, Died, Story, story


@story
def a_plain_job(s: Story) -> None:
    """A job is enqueued, claimed, run and completed."""
    s.enqueue("a", payload={"n": 1})
    s.work()
    s.do("look at it", lambda: s.queue.get(s.jobs["a"]))


@story
def a_job_that_fails_twice(s: Story) -> None:
    """Each failure puts the next attempt off; the third succeeds."""
    s.script.then(ValueError("no"), ValueError("not yet"), {"done": 1})
    s.enqueue("a")
    s.work()
    s.wait(29.999)
    s.work()
    s.wait(0.001)
    s.work()
    s.wait(30)
    s.work()


@story
def a_job_whose_delays_grow(s: Story) -> None:
    """An exponential policy doubles with jitter; a job's own policy goes before its type's."""
    s.script.then(*[ValueError("no")] * 9)
    s.enqueue("a", "email", max_attempts=4)
    s.enqueue("b", "email", retry=Delays((timedelta(seconds=5), timedelta(seconds=7))), max_attempts=4)
    for _ in range(5):
        s.work()
        s.wait(70)
    s.work()
    s.wait(200)
    s.work()


@story
def a_dead_letter_and_its_redrive(s: Story) -> None:
    """The last attempt leaves a dead letter; a redrive makes a new job of it, once."""
    s.script.then(ValueError("broken"))
    job_id = s.enqueue("a", "once", {"n": 7}, created_by="bob")
    s.work()
    s.wait(3600)
    s.do("list them", lambda: [each.id for each in s.operator.dead_letters()])
    s.do("redrive it", lambda: s.operator.redrive(job_id, reason="mended"))
    s.do("redrive it again", lambda: s.operator.redrive(job_id, reason="mended"))
    s.work()
    s.do("look at it", lambda: s.operator.dead_letter(job_id).resolution)


@story
def a_dead_letter_that_is_discarded(s: Story) -> None:
    """What need not be done any more is resolved by hand."""
    s.script.then(ValueError("broken"))
    job_id = s.enqueue("a", "once")
    s.work()
    s.do("discard it", lambda: s.operator.discard(job_id, reason="nobody needs it").id)
    s.do("discard it again", lambda: s.operator.discard(job_id, reason="nobody needs it").id)


@story
def errors_that_are_not_tried_again(s: Story) -> None:
    """What a handler says will not work ends at once as a dead letter, whatever attempts are left."""
    s.script.then(NonRetryableError("never"))
    s.enqueue("a")
    s.enqueue("b", payload={"n": "not a number"})
    s.work()


@story
def a_job_for_later(s: Story) -> None:
    """Before its time nobody sees it; at its time, not a millisecond later, it runs."""
    s.enqueue("a", run_in=timedelta(seconds=90))
    s.enqueue("b", run_at=START + timedelta(hours=1))
    s.enqueue("long ago", run_at=START - timedelta(days=1))
    s.work()
    s.wait(89.999)
    s.work()
    s.wait(0.001)
    s.work()
    s.wait(3510)
    s.work()


@story
def a_job_that_must_start_in_time(s: Story) -> None:
    """At start_by it is too late to claim it, and to start it; a retry is not bound by it."""
    s.script.then(ValueError("no"))
    s.enqueue("tried", start_by=START + timedelta(seconds=10))
    s.work()
    s.enqueue("late", start_by=START + timedelta(seconds=10))
    s.enqueue("slow", start_by=START + timedelta(seconds=20))
    s.wait(10)
    s.poll()
    s.wait(10)
    s.run()
    s.wait(10)
    s.work()
    s.enqueue("never", run_in=timedelta(seconds=5), start_by=START + timedelta(seconds=34))


@story
def a_job_that_is_cancelled(s: Story) -> None:
    """Cancelled before it is claimed, between claim and start, between two attempts, and after its end."""
    s.script.then(ValueError("no"))
    s.enqueue("waits for a retry")
    s.work()
    s.enqueue("waits")
    s.do("cancel the one that waits", lambda: s.queue.cancel(s.jobs["waits"], reason="too late"))
    s.do("cancel it again", lambda: s.queue.cancel(s.jobs["waits"]))
    s.do("cancel the retry", lambda: s.queue.cancel(s.jobs["waits for a retry"]))
    s.enqueue("is claimed")
    s.poll()
    s.do("cancel the claimed one", lambda: s.queue.cancel(s.jobs["is claimed"], reason="changed my mind"))
    s.run()
    s.work()


@story
def a_running_job_is_asked_to_stop(s: Story) -> None:
    """One looks and stops, one does not look and completes, one fails: then it is not tried again."""

    def looks(context):
        s.do("cancel it while it runs", lambda: s.queue.cancel(context.job_id, reason="enough"))
        s.recording.note(f"cancel requested: {context.cancel_requested}")
        s.wait(6)
        s.recording.note(f"cancel requested: {context.cancel_requested}")
        raise Cancel("as asked")

    def does_not_look(context):
        s.queue.cancel(context.job_id, reason="enough")
        return 7

    def fails(context):
        s.queue.cancel(context.job_id, reason="enough")
        raise ValueError("by accident")

    def sleeps(context):
        s.queue.cancel(context.job_id, reason="enough")
        raise Snooze(30)

    s.script.then(looks, does_not_look, fails, sleeps)
    for name in ("looks", "does not look", "fails", "snoozes"):
        s.enqueue(name)
        s.work()


@story
def a_cancelled_job_whose_worker_died(s: Story) -> None:
    """Who reaps it ends it as cancelled."""

    def dies(context):
        s.queue.cancel(context.job_id, reason="enough")
        raise Died

    s.script.then(dies)
    s.enqueue("a")
    s.poll()
    s.run()
    s.wait(126)
    s.work()


@story
def signals(s: Story) -> None:
    """A handler snoozes, skips, and cancels by what it raises; a snooze gives the attempt back."""
    s.script.then(Snooze(45), Skip("nothing to do"), Cancel("not any more"), "done")
    s.enqueue("snoozes")
    s.enqueue("skips")
    s.enqueue("cancels")
    s.work()
    s.wait(45)
    s.work()


@story
def a_hand_over_that_never_starts(s: Story) -> None:
    """Its lease ends, it is put back with a growing pause, and starts at last. Nobody's attempt is used."""
    s.enqueue("a")
    for pause in (0, 126, 2, 126, 3):
        s.wait(pause)
        s.poll()
        s.take()
    s.wait(126)
    s.poll()
    s.wait(20)
    s.work()


@story
def a_worker_that_dies(s: Story) -> None:
    """The lease ends while it runs: the attempt counts as failed; the last one leaves a dead letter."""

    def dies(context):
        raise Died

    s.script.then(dies, dies, dies)
    s.enqueue("a")
    for pause in (0, 125, 30, 125.001, 30, 125.002):
        s.wait(pause)
        s.poll()
        s.run()


@story
def a_zombie(s: Story) -> None:
    """A worker that comes back after its lease was lost changes nothing, and says so."""

    def stalls(context):
        s.wait(130)
        s.work()
        s.wait(31)
        s.work()
        return "too late"

    def stalls_and_asks(context):
        s.wait(130)
        s.work()
        return str(context.extend())

    s.script.then(stalls, "in time")
    s.enqueue("a")
    s.work()
    s.script.then(stalls_and_asks, "in time")
    s.enqueue("b")
    s.work()
    s.wait(31)
    s.work()


@story
def a_lease_that_is_extended(s: Story) -> None:
    """A long run prolongs its lease from now; nobody reaps it meanwhile."""

    def long(context):
        for _ in range(3):
            s.wait(50)
            s.do("extend", context.extend)
            s.poll()

    s.deploy(JobType(name="report", lease=timedelta(seconds=60), timeout=timedelta(seconds=300), heartbeat=True))
    s.script.then(long)
    s.enqueue("a")
    s.work()


@story
def handlers_that_cannot_be_reached(s: Story) -> None:
    """Each failed hand-over puts the job off a little longer; after a day of them it is given up."""
    s.enqueue("a")
    s.dispatches.failure = "throttled"
    for pause in (0, 1, 2, 4):
        s.wait(pause)
        s.poll()
    s.wait(86400)
    for _ in range(20):
        s.wait(450)
        s.poll()


@story
def a_halt(s: Story) -> None:
    """Nothing is claimed and nothing started while all is halted; what was claimed is given back."""
    s.enqueue("a")
    s.poll()
    s.do("halt", lambda: s.operator.halt(reason="fire"))
    s.do("halt again", lambda: s.operator.halt(reason="fire"))
    s.run()
    s.enqueue("b")
    s.wait(61)
    s.work()
    s.do("resume", lambda: s.operator.resume(reason="out"))
    s.do("resume again", lambda: s.operator.resume(reason="out"))
    s.wait(61)
    s.work()


@story
def pages_of_jobs(s: Story) -> None:
    """More than a page is due in every priority: higher lanes go first, lower ones have their share."""
    for number in range(12):
        for priority in ("low", "normal", "high", "critical"):
            s.queue.enqueue("report", {"n": number}, priority=priority)
    s.recording.lines.clear()
    poller = Poller(s.services, s.dispatches, worker_id="poller", settings=PollSettings(poll_limit=5))
    s.do("poll by pages of five", poller.poll, is_silent=True)


@story
def pages_with_a_pool(s: Story) -> None:
    """The same with a pool: lanes are read ahead, hand-overs are collected later, and one of them fails."""
    for number in range(7):
        for priority in ("low", "critical"):
            s.queue.enqueue("report", {"n": number}, priority=priority)
    s.recording.lines.clear()
    settings = PollSettings(poll_limit=3)
    poller = Poller(s.services, s.dispatches, worker_id="poller", settings=settings, pool=InTurn())
    s.do("poll by pages of three", poller.poll, is_silent=True)
    s.run()


@story
def slow_pages(s: Story) -> None:
    """Calls that take long: lanes are read again, pages that grew old as well."""
    s.table.takes = timedelta(milliseconds=120)
    for number in range(9):
        s.queue.enqueue("report", {"n": number}, priority="low" if number % 2 else "high")
    s.recording.lines.clear()
    poller = Poller(s.services, s.dispatches, worker_id="poller", settings=PollSettings(poll_limit=2), pool=InTurn())
    s.meanwhile("query   due 0#0", lambda: s.queue.enqueue("report", priority="critical"))
    s.do("poll", poller.poll, is_silent=True)
    s.run()


@story
def a_poll_that_has_to_stop(s: Story) -> None:
    """It stops between two entries, and puts back what it has claimed and not handed over."""
    for number in range(6):
        s.queue.enqueue("report", {"n": number})
    s.recording.lines.clear()
    asked = iter([None] * 3)
    s.poll(should_stop=lambda: next(asked, "deadline"))
    s.work()


@story
def many_jobs_at_once(s: Story) -> None:
    """A page of plain jobs is claimed by one request; whom another poller took meanwhile is lost to it."""
    for number in range(4):
        s.enqueue(f"job {number}")
    s.meanwhile("batch", lambda: s.poll(s.process()))
    s.poll()
    s.run()
    for number in range(2):
        s.enqueue(f"late {number}", start_by=START + timedelta(seconds=5))
    s.meanwhile("batch", lambda: s.wait(5))
    s.work()
    for number in range(3):
        s.enqueue(f"cancelled {number}")
    s.meanwhile("batch", lambda: s.queue.cancel(s.jobs["cancelled 1"]))
    s.work()


@story
def a_type_that_is_gone(s: Story) -> None:
    """Jobs of a type that is not deployed wait; once it is again, they run. Nobody enqueues one meanwhile."""
    s.deploy(*s.types.values(), JobType(name="gone"))
    s.enqueue("a", "gone")
    s.poll()
    s.enqueue("b", "gone")
    s.deploy(*(each for each in s.types.values() if each.name != "gone"))
    s.run()
    s.work()
    s.enqueue("c", "gone")
    s.wait(61)
    s.work()
    s.deploy(*s.types.values(), JobType(name="gone"))
    s.wait(6)
    s.work(2)


@story
def what_a_handler_may_do(s: Story) -> None:
    """Results, artifacts, new jobs, and an error whose text shows a payload's value."""

    def works(context):
        context.add_artifact("s3://bucket/a")
        s.do("enqueue another", lambda: context.enqueue("email", {"n": 2}))
        return {"done": [1, 2.5, None, "ü"]}

    def fails(context):
        context.add_artifact("s3://bucket/b")
        raise ValueError("4711471147 is too much")

    s.script.then(works, fails)
    s.enqueue("a", trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    s.enqueue("b", payload={"n": 4711471147}, created_by="bob")
    s.poll()
    s.run()
    s.script.then(lambda _: cast("str", object()))
    s.enqueue("c")
    s.work()
    s.script.then(lambda _: "x" * 70_000)
    s.enqueue("d")
    s.work()


@story
def refused_at_the_door(s: Story) -> None:
    """What can never run is refused with what to do about it, and nothing is written."""
    s.enqueue("a", "unknown")
    s.enqueue("b", "webhook_delivery")
    s.enqueue("c", payload={"n": object()})
    s.enqueue("d", max_attempts=0)
    s.enqueue("e", priority="urgent")
    s.enqueue("f", run_in=timedelta(seconds=-1))
    s.enqueue("g", run_in=timedelta(1), run_at=START)
    s.enqueue("h", dedup_key="a#b")
    s.enqueue("i", dedup_key="")
    s.enqueue("j", concurrency_key="x" * 257)
    s.enqueue("k", payload="x" * 300_000)
    s.enqueue("l", retry_of="no id")
    s.enqueue("m", created_by="")
    s.enqueue("n", dedup_window=timedelta(1))
    s.enqueue("o", on_duplicate="explode", dedup_key="a")
    s.enqueue("p", trace="x" * 300)
    s.enqueue("q", webhook="http://example.com")
    s.do("get none", lambda: s.queue.get("019b76da-a800-8000-8000-000000000000"))
    s.do("get nonsense", lambda: s.queue.get("nonsense"))
    s.do("cancel none", lambda: s.queue.cancel("019b76da-a800-8000-8000-000000000000"))


@story
def changed_while_they_wait(s: Story) -> None:
    """Waiting jobs are rescheduled, moved, edited and given another priority."""
    for name in ("a", "b", "c"):
        s.enqueue(name, payload={"n": 1})
    a, b, c = s.jobs.values()
    s.do("c before a", lambda: s.queue.move(c, before=a, reason="urgent").due)
    s.do("a after b", lambda: s.queue.move(a, after=b).due)
    s.do("where is a", lambda: s.queue.position(a))
    s.do("b becomes urgent", lambda: s.queue.reprioritise(b, "critical").priority)
    s.do("a in an hour", lambda: s.queue.reschedule(a, run_in=timedelta(hours=1)).due)
    s.do("c has another payload", lambda: s.queue.edit(c, payload={"n": 2}).payload)
    s.poll()
    s.do("b cannot be moved", lambda: s.queue.move(b, before=c))
    s.do("nor rescheduled", lambda: s.queue.reschedule(b, run_in=timedelta(hours=1)))
    s.run()
    s.do("wait for b", lambda: s.queue.wait(b).status)
    s.do("wait for a", lambda: s.queue.wait(a, timeout=timedelta(seconds=2)).status)
