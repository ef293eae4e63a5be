"""Stories of corners where several things meet: what was seen is gone, an answer is lost, and the poll has to stop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold import CircuitBreaker, Fixed, JobType, NewJob
from leasehold.kernel.errors import StoreError, StoreUnavailableError
from leasehold.kernel.other_entries import FreedScope
from leasehold.kernel.table import JOBS, ConditionFailed, Key, Update
from leasehold.limits.scopes import Seat
from leasehold.pollers.window import Window
from tests.stories.corners import damage
from tests.stories.limited import MINUTE, SECOND, backlog, enqueue
from tests.stories.story import TYPES, Story, story

if TYPE_CHECKING:
    from leasehold import JobContext

LARGE = {"text": "".join(chr(33 + number * 7919 % 90) for number in range(190_000))}


def raises(error: Exception) -> None:
    raise error


@story
def a_job_that_lacks_what_all_have(s: Story) -> None:
    """A job and a dead letter without priority and attempts, as an older version may have left them."""
    s.script.then(ValueError("no"))
    s.enqueue("dead", "once")
    s.work()
    s.enqueue("waits")
    for name in s.jobs:
        damage(s, name, priority=None, max_attempts=None)
    s.do("look at it", lambda: (s.queue.get(s.jobs["waits"]).max_attempts, s.queue.get(s.jobs["waits"]).priority))
    s.do("at the other", lambda: (s.queue.get(s.jobs["dead"]).max_attempts, s.queue.get(s.jobs["dead"]).priority))
    s.work()


@story
def a_payload_that_is_damaged_in_its_job(s: Story) -> None:
    """Bytes that cannot be unpacked are shown as missing: in the dead letter, and to whoever looks."""

    def fails(context: JobContext) -> None:
        damage(s, "large", payload=b"\x01damaged")
        raise ValueError("no")

    s.script.then(fails)
    s.enqueue("large", "once", payload={"text": LARGE["text"][:20_000]})
    s.poll()
    s.run()
    s.do("its dead letter", lambda: [each.payload_text[:80] for each in s.operator.dead_letters()])
    damage(s, "large", payload=b"\x01damaged")
    s.do("look at it", lambda: s.queue.get(s.jobs["large"]).payload)
    s.enqueue("waits", "once", payload={"text": LARGE["text"][:20_000]})
    damage(s, "waits", payload=b"\x01damaged")
    s.work()


@story
def an_insert_that_cannot_be_looked_at(s: Story) -> None:
    """Whoever may only insert cannot see whether it was its own try that made the job: it takes it for its own."""
    stored = s.table.stored.insert_many

    def lost(puts: Any) -> Any:
        stored(puts)
        return [ConditionFailed(None, was_repeated=True) for _ in puts]

    s.table.stored.insert_many = lost  # type: ignore[method-assign]
    s.meanwhile("get     job", partial(raises, StoreError("not allowed")))
    s.enqueue("made")
    s.meanwhile("get     job", partial(raises, StoreUnavailableError("no answer")))
    s.enqueue("unknown")


@story
def large_payloads_at_once(s: Story) -> None:
    """Payloads that stand apart, of a bulk whose answer was lost: they are put again, whatever comes of each."""
    stored = s.table.stored.insert_many

    def there(puts: Any) -> Any:
        stored(puts)
        if "payload" in str(puts[0].key):
            return [ConditionFailed(None) for _ in puts]
        return [None for _ in puts]

    s.table.stored.insert_many = there  # type: ignore[method-assign]
    wanted = [NewJob(job="report", payload={**LARGE, "n": number}) for number in range(3)]
    s.meanwhile("write   put payload", partial(raises, StoreError("too fast")))
    s.do("enqueue them", lambda: s.queue.enqueue_many(wanted))
    s.table.stored.insert_many = stored  # type: ignore[method-assign]
    s.work()


@story
def a_batch_whose_answer_was_lost_as_the_poll_had_to_stop(s: Story) -> None:
    """What may be claimed, and was not decided before the end, is put back and counted as claimed."""
    backlog(s, 12, "report")
    stored, stopped = s.table.stored.update_many, list[str]()

    def lost(updates: Any) -> Any:
        stored(updates)
        stopped.append("deadline")
        return [ConditionFailed(None) for _ in updates]

    s.table.stored.update_many = lost  # type: ignore[method-assign]
    report = s.poll(should_stop=lambda: stopped[0] if stopped else None)
    s.recording.note(str(report))
    s.table.stored.update_many = stored  # type: ignore[method-assign]
    s.work()


@story
def a_freed_seat_as_the_poll_has_to_stop(s: Story) -> None:
    """Its scope is made due instead; where that breaks it is reported, and where no store answers the poll ends."""
    s.with_waker()
    for error in (None, ValueError("broken"), StoreUnavailableError("no answer")):
        enqueue(s, "first", "second")
        s.poll()
        s.run()
        if error is not None:
            s.meanwhile("write", partial(raises, error))
        s.poll(hints=[FreedScope("type:single")], should_stop=lambda: "deadline")
        s.wait(10)
        s.work(3)


@story
def woken_beside_many_others(s: Story) -> None:
    """Others begin to look each time this one tries to: in the end the scope is made due."""
    s.with_waker()
    enqueue(s, "first", "second")
    s.poll()
    s.wait(5)
    s.run()
    stored = s.table.stored.write
    outrun = iter(range(6))

    def slower(change: Any) -> Any:
        if change.key.values == ("seat#type:single", "-") and next(outrun, None) is not None:
            raise ConditionFailed(None)
        return stored(change)

    s.table.stored.write = slower  # type: ignore[method-assign]
    s.poll(hints=[FreedScope("type:single")])
    s.table.stored.write = stored  # type: ignore[method-assign]
    s.wait(10)
    s.work(2)


@story
def a_seat_that_is_taken_during_a_visit(s: Story) -> None:
    """A visit's claim finds its seat taken: the job is put back into its lane, and gets another one."""
    s.deploy(JobType(name="sync", concurrency=3))
    backlog(s, 7, "sync")
    s.poll()
    s.wait(1)
    s.run()
    s.meanwhile("together update job", partial(take_seat, s, "type:sync", 0))
    s.wait(10)
    s.poll()
    s.run()
    s.wait(10)
    s.work()


def take_seat(s: Story, scope: str, number: int) -> None:
    now = s.clock.now()
    seat = Seat(scope=scope, number=number, taken_by="somebody else", taken_at=now, held_until=now + MINUTE)
    s.recording.note(f"seat {number} of {scope} is taken: {s.services.store.lines.take(seat, None)}")


@story
def an_abandoned_seat_is_put_back(s: Story) -> None:
    """Of two seats one was abandoned, and the other is taken by somebody else: the next try takes the first again."""
    s.deploy(JobType(name="sync", concurrency=2, concurrency_per_key=1, retry=Fixed(600 * MINUTE)))
    enqueue(s, "dies", job="sync", concurrency_key="a")
    s.poll()
    s.dispatches.taken.clear()
    damage(s, "dies", status="completed", due_key=None, due_lane=None)
    s.wait(1200)
    enqueue(s, "next", job="sync", concurrency_key="a")
    s.meanwhile("together update job", partial(take_seat, s, "type:sync", 1))
    s.work(2)


@story
def a_type_that_counts_otherwise_during_a_visit(s: Story) -> None:
    """While a lane is served its jobs get keys that count: they are offered anew, and wait in other lanes."""
    s.deploy(JobType(name="sync", concurrency=2))
    backlog(s, 6, "sync")
    s.poll()
    s.run()
    s.wait(10)
    for record in list(s.table.stored.scan(JOBS)):
        if record.get("status") == "pending":
            key = Key(JOBS, (str(record["PK"]), str(record["SK"])))
            s.table.stored.write(Update(key=key, conditions=(), sets={"concurrency_key": "k"}))
    s.work(2)
    s.wait(10)
    s.work(2)


@story
def a_probe_that_comes_too_late(s: Story) -> None:
    """A probe's job expires before it starts: it has never started, and the next probe need not wait for it."""
    breaker = CircuitBreaker(min_runs=1, probe_after=MINUTE)
    s.deploy(JobType(name="sync", breaker=breaker, retry=Fixed(600 * MINUTE)))
    s.script.then(ValueError("down"))
    enqueue(s, "fails", job="sync")
    s.work()
    enqueue(s, "late", job="sync", start_by=s.clock.now() + 70 * SECOND)
    enqueue(s, "next", job="sync")
    s.poll()
    s.wait(61)
    s.poll()
    s.wait(10)
    s.run()
    for _ in range(3):
        s.wait(30)
        s.work()


@story
def a_window_of_a_type_that_is_gone(s: Story) -> None:
    """What was handed over of a type that nobody deploys any more counts until its lease is over."""
    s.services.window = Window()
    backlog(s, 8, "report")
    s.poll()
    s.deploy(*TYPES[1:])
    s.wait(31)
    backlog(s, 20, "email")
    for _ in range(5):
        s.poll()
        s.wait(30)
    s.recording.note(f"{len(s.take())} in all")


@story
def when_room_is_looked_for(s: Story) -> None:
    """A poll says when it is worth to poll again: where a window is full, in a moment."""
    s.services.window = Window()
    backlog(s, 20, "report")
    for _ in range(3):
        report = s.poll()
        s.recording.note(f"soonest at {s.recording.text(report.soonest_at if report else None)}")
        s.wait(1)
        s.run(s.take()[:8])


@story
def a_line_longer_than_its_seats(s: Story) -> None:
    """A page that has room for seats only says that there may be lanes; a look for room reads no more than it needs."""
    s.deploy(JobType(name="sync", concurrency=5))
    backlog(s, 7, "sync")
    s.poll()
    for limit in (2, 5, 6, 7, 8):
        s.do(f"the line, {limit} at a time", partial(line, s, limit))


def line(s: Story, limit: int) -> str:
    scope, entries, is_all = s.services.store.lines.line("type:sync", limit=limit)
    return f"{scope.name}, {len(scope.seats)} seats, {len(entries)} lanes, {'all' if is_all else 'not all'}"
