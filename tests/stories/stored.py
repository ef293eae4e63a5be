"""Stories of what is stored: dedup records, payloads apart, records that nobody can read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold import Day, JobType, NewJob, NonRetryableError, Within
from leasehold.kernel.table import JOBS, Delete, Key, Update
from leasehold.webhooks.address import RunEvent, Webhook
from tests.stories.story import TYPES, Died, Story, story

if TYPE_CHECKING:
    from leasehold.kernel.table import Record


@story
def one_job_per_key(s: Story) -> None:
    """A second enqueue under a key finds the first job, is refused, or replaces it; after its end the key is free."""
    s.enqueue("a", dedup_key="k")
    s.enqueue("b", dedup_key="k")
    s.enqueue("c", dedup_key="k", on_duplicate="raise")
    s.enqueue("d", dedup_key="k", on_duplicate="replace")
    s.enqueue("another key", dedup_key="k2")
    s.enqueue("another type", "email", dedup_key="k")
    s.poll()
    s.enqueue("e", dedup_key="k", on_duplicate="replace")
    s.run()
    s.enqueue("f", dedup_key="k")
    s.work()


@story
def one_job_per_window(s: Story) -> None:
    """Within a window the key stays taken after the end; once it is over another takes the record over."""
    window = Within(timedelta(minutes=10))
    s.enqueue("a", dedup_key="k", dedup_window=window)
    s.work()
    s.enqueue("b", dedup_key="k", dedup_window=window)
    s.enqueue("r", dedup_key="k", dedup_window=window, on_duplicate="replace")
    s.wait(599.999)
    s.enqueue("c", dedup_key="k", dedup_window=window)
    s.wait(0.001)
    s.enqueue("d", dedup_key="k", dedup_window=window)
    s.enqueue("e", dedup_key="day", dedup_window=Day("Europe/Berlin"))
    s.enqueue("f", dedup_key="day", dedup_window=Day("Europe/Berlin"))
    s.enqueue("g", dedup_key="day", dedup_window=Day("Europe/Berlin"), run_in=timedelta(hours=23))
    s.work()


@story
def a_key_that_a_retry_inherits(s: Story) -> None:
    """An operator cancels a job and retries it: the new job takes its key over, and both deeds are on record."""
    s.enqueue("a", dedup_key="k", dedup_window=Day())
    s.do("cancel it", lambda: s.queue.cancel(s.jobs["a"], reason="not yet"))
    s.do("retry it", lambda: s.queue.retry(s.jobs["a"], reason="now"))
    s.enqueue("b", dedup_key="k", dedup_window=Day())
    s.work()


@story
def a_key_that_two_want(s: Story) -> None:
    """Two enqueue under one key at the same time: one of them finds the other's job."""
    s.meanwhile("together", lambda: s.queue.enqueue("report", dedup_key="k"))
    s.enqueue("a", dedup_key="k")
    s.meanwhile("together", lambda: s.queue.cancel(s.jobs["a"]))
    s.enqueue("b", dedup_key="k", on_duplicate="replace")
    s.meanwhile("together", s.work)
    s.enqueue("c", dedup_key="k", on_duplicate="replace")


@story
def a_burst_that_runs_once(s: Story) -> None:
    """Debounced calls put the one job off, with the last payload, until max_wait is over."""
    for number in range(4):
        s.enqueue(
            f"call {number}",
            payload={"n": number},
            dedup_key="k",
            debounce=timedelta(seconds=10),
            max_wait=timedelta(seconds=25),
        )
        s.wait(8)
    s.work()


@story
def a_large_payload(s: Story) -> None:
    """What is large stands apart in items of its own, is read at the start, and goes with the job's end."""
    s.enqueue("a", payload={"n": 1, "text": "x" * 150_000})
    s.do("look at it", lambda: len(str(s.queue.get(s.jobs["a"]).payload)))
    s.script.then(ValueError("no"))
    s.work()
    s.wait(30)
    s.work()
    s.enqueue("dies", "once", payload={"n": 1, "text": "y" * 190_000})
    s.script.then(ValueError("no"))
    s.work()
    s.do("redrive it", lambda: s.operator.redrive(s.jobs["dies"]))
    s.work()


@story
def a_payload_that_is_lost(s: Story) -> None:
    """Its items are gone: the job fails for good, and says why."""
    s.enqueue("a", payload={"n": 1, "text": "x" * 150_000})
    for record in list(s.table.stored.scan(JOBS)):
        if str(record["PK"]).startswith("payload"):
            s.table.stored.write(Delete(key=Key(JOBS, (str(record["PK"]), str(record["SK"]))), conditions=()))
    s.do("look at it", lambda: s.queue.get(s.jobs["a"]).payload)
    s.work()


@story
def damaged_records(s: Story) -> None:
    """A job that cannot be read is passed by, and so is an entry that another type's partition holds."""
    s.enqueue("a")
    s.enqueue("b")
    s.enqueue("c")
    s.enqueue("d", concurrency_key="k")
    keys = [Key(JOBS, (str(each["PK"]), str(each["SK"]))) for each in s.table.stored.scan(JOBS) if "status" in each]
    damages: tuple[Record, ...] = (
        {"status": "nonsense"},
        {"job_type": "email"},
        {"scheduled_for": "soon"},
        {"leasehold_format": 9},
    )
    for key, damage in zip(keys, damages, strict=True):
        s.table.stored.write(Update(key=key, conditions=(), sets=damage))
    s.work()
    for name in ("a", "b", "c", "d"):
        s.do(f"look at {name}", partial(s.queue.get, s.jobs[name]))
        s.do(f"cancel {name}", partial(s.queue.cancel, s.jobs[name]))


@story
def damaged_entries(s: Story) -> None:
    """Due keys that say nothing, or name another job, are not believed."""
    for name in ("a", "b", "c", "d", "e"):
        s.enqueue(name)
    keys = [Key(JOBS, (str(each["PK"]), str(each["SK"]))) for each in s.table.stored.scan(JOBS) if "status" in each]
    other = str((s.table.stored.get(keys[0]) or {})["due_key"])
    damages: tuple[Record, ...] = (
        {"due_key": "2026-01-01T00:00:00.000Z"},
        {"due_key": other},
        {"priority": 9},
        {"due_lane": "0#0"},
        {"due_key": "2026-01-01T00:00:00.000Z#x#y"},
    )
    for key, damage in zip(keys, damages, strict=True):
        s.table.stored.write(Update(key=key, conditions=(), sets=damage))
    s.work()
    s.wait(126)
    s.work()


@story
def two_receivers_are_told(s: Story) -> None:
    """A run's end owes a delivery: it is made with the end, and runs as a job of its own."""
    webhook = Webhook(url="https://example.com/hook", events=(RunEvent.COMPLETED, RunEvent.DEAD_LETTERED))
    s.deploy(JobType(name="report", webhook=webhook, max_attempts=1), JobType(name="email", webhook=webhook))
    s.script.then(None, ValueError("no"), ValueError("no"))
    s.enqueue("a")
    s.enqueue("b")
    s.enqueue("c", "email", webhook="https://example.org/other")
    s.work(3)
    s.wait(61)
    s.work(2)
    s.recording.note(f"told: {len(s.told)}")


@story
def an_end_that_is_settled_later(s: Story) -> None:
    """The worker dies between the end and what it owes: the next poll settles it."""
    s.deploy(JobType(name="report", webhook=Webhook(url="https://example.com/hook")))
    s.enqueue("a")
    s.poll()

    def dies() -> None:
        raise Died

    s.meanwhile("insert", dies)
    s.meanwhile("together", dies)
    s.run()
    s.table.before.clear()
    s.work(2)
    s.wait(126)
    s.work(2)


@story
def an_audited_job(s: Story) -> None:
    """What a person makes and does leaves records."""
    s.deploy(*TYPES, require_reasons=True)
    s.enqueue("a", created_by="bob")
    s.do("cancel without a reason", lambda: s.queue.cancel(s.jobs["a"]))
    s.do("cancel", lambda: s.queue.cancel(s.jobs["a"], reason="wrong"))
    s.deploy(*(replace(each, audit_creation=False) for each in TYPES))
    s.wait(6)
    s.enqueue("b", created_by="bob")


@story
def a_group_one_after_the_other(s: Story) -> None:
    """Three jobs with one end, each behind the one before it, and a callback."""
    jobs = [NewJob(job="report", payload={"n": number}) for number in range(3)]
    made = s.do("make it", lambda: s.queue.groups.create(jobs, callback=NewJob(job="email")))
    for _ in range(6):
        s.work()
        s.wait(1)
    if made is not None:
        s.do("look at it", lambda: s.queue.groups.get(made.group_id))


@story
def a_group_that_stops(s: Story) -> None:
    """All at once, and one of them dies: what still waits is cancelled."""
    s.script.then(None, NonRetryableError("never"))
    jobs = [NewJob(job="single", payload={"n": number}) for number in range(4)]
    s.do("make it", lambda: s.queue.groups.create(jobs, mode="parallel"))
    for _ in range(6):
        s.work()
        s.wait(2)


@story
def a_schedule(s: Story) -> None:
    """A recurring job: each time makes a job, and a time that was missed makes one."""
    s.do("every minute", lambda: s.queue.schedules.create("sync", "report", every=timedelta(minutes=1)).name)
    for pause in (0, 60, 59, 1, 200):
        s.wait(pause)
        s.work()


@story
def a_deployment_in_full(s: Story) -> None:
    """What a registry stores of each option, and what is read of it."""
    from leasehold import CircuitBreaker, Delays, OnFull, Rate, Retention
    from leasehold.batches.model import Batch

    s.recording.shows_types = True
    s.deploy(
        JobType(
            name="full",
            code=0x1234,
            timeout=timedelta(seconds=90),
            max_event_age=timedelta(seconds=120),
            lease=timedelta(seconds=45),
            heartbeat=True,
            concurrency=3,
            concurrency_per_key=2,
            rate=Rate(5, timedelta(minutes=1)),
            rate_per_key=Rate(1, timedelta(seconds=10)),
            resources=("gpu",),
            on_full=OnFull.SKIP,
            weight=2,
            weights={"acme": 3},
            breaker=CircuitBreaker(min_runs=3),
            max_attempts=7,
            retry=Delays((timedelta(seconds=1), timedelta(seconds=2))),
            retention=Retention(completed=timedelta(days=1)),
            webhook=Webhook(url="https://example.com/hook", events=(RunEvent.FAILED,)),
            audit_creation=False,
            check_payload=False,
            reported_fields=("n",),
            function="full-function",
            logs="eu-central-1:/aws/lambda/full",
        ),
        JobType(name="batched", batch=Batch(size=5, wait=timedelta(seconds=2))),
        concurrency=9,
        resources={"gpu": 2},
        shards=4,
    )
    registry = s.do("read it", s.process().deployment.registry, is_silent=True)
    for job_type in registry.types.values() if registry else ():
        s.recording.note(f"{job_type}")
    s.enqueue("a", "full", concurrency_key="acme")
    s.work()
    s.wait(10)
    s.deploy(JobType(name="full"), shards=8)
    s.deploy(JobType(name="full"), shards=4)


@story
def a_type_is_looked_at(s: Story) -> None:
    """Counts and lists of what waits."""
    for name in ("a", "b"):
        s.enqueue(name)
    s.enqueue("c", run_in=timedelta(hours=1))
    s.enqueue("d", "single")
    s.enqueue("e", "single")
    s.poll()
    s.do("backlog", s.operator.backlog)
    s.do("switches", s.operator.switches)
