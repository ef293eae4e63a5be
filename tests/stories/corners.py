"""Stories of corners of plain jobs: what happens seldom, and what is seen only at a bound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold import Fixed, JobType, NewJob, Snooze
from leasehold.aws.handovers import handover_event, handover_of, handovers_in
from leasehold.kernel import partitions
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.table import DEAD_LETTERS, JOBS, ConditionFailed, Delete, Key, Put, Update
from leasehold.runtime.signals import GiveUp
from leasehold.webhooks.address import Webhook
from tests.stories.limited import MINUTE, SECOND, enqueue
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
    s.meanwhile("insert", partial(dies, s))
    s.work()
    for name in s.jobs:
        damage(s, name, owed=["future:x", "webhooks"])
    s.table.before.clear()
    for _ in range(3):
        s.work()
        s.wait(60)


def dies(_: Story) -> None:
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
    s.do("one", lambda: handovers_in(handover_event(handover)) == [handover])
    s.do("its event", lambda: handover_event(handover))
    two = {"job_type": "report", "batch": [handover_event(handover), handover_event(handover)]}
    s.do("two", lambda: handovers_in(two) == [handover, handover])
    events: tuple[dict[str, object], ...] = (
        {},
        {"batch": []},
        {"batch": "x"},
        {**handover_event(handover), "lease": "soon"},
    )
    for event in events:
        s.do("none", partial(handovers_in, event))
    s.do("of a later format", lambda: handover_of({**handover_event(handover), "leasehold_format": 2}))


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
def a_history_of_artifacts(s: Story) -> None:
    """Runs that note many long addresses: the oldest are forgotten as soon as the history is too large."""
    s.deploy(JobType(name="report", retry=Fixed(SECOND), max_attempts=30))
    job_id = s.enqueue("a")

    def notes(context: JobContext) -> None:
        for number in range(20):
            context.add_artifact(f"s3://bucket/{number}/" + "x" * 490)
        raise ValueError("no")

    s.script.then(*[notes] * 14)
    before = len(s.recording.lines)
    for _ in range(12):
        s.work()
        s.wait(1)
        runs = s.queue.get(job_id).runs
        # Without tracebacks: these name the folder that the story is told in.
        size = sum(each.size - len((each.error or "").encode()) for each in runs)
        s.recording.lines[before:] = [f"{len(runs)} runs from {runs[0].number}, {size} bytes"]
        before += 1


@story
def a_job_of_a_template(s: Story) -> None:
    """A template brings type, payload and options; what is passed besides wins."""
    s.do("make it", lambda: s.queue.templates.create("nightly", "email", {"n": 1, "style": "short"}).name)
    made = s.do("enqueue of it", lambda: s.queue.enqueue(template="nightly", payload={"n": 2}))
    s.do("look at it", lambda: s.queue.get(made.job_id).payload if made else None)
    s.do("enqueue of none", lambda: s.queue.enqueue(template="weekly"))
    s.do("enqueue of another type", lambda: s.queue.enqueue("report", template="nightly"))
    s.work()


@story
def lists_of_jobs(s: Story) -> None:
    """Jobs and dead letters as people list them; what cannot be read is counted and passed by."""
    s.script.then(ValueError("no"), None)
    for name in ("dead", "done"):
        s.enqueue(name, "once")
    s.enqueue("waits", run_in=MINUTE)
    s.work()
    damage(s, "waits", status="nonsense")
    s.do("its queue", lambda: s.queue.position(s.jobs["waits"]))
    s.do("dead letters", lambda: [each.id for each in s.operator.dead_letters()])
    s.do("backlog", s.operator.backlog)
    s.do("redrive many", lambda: s.operator.redrive_many(job_type="once", reason="mended"))
