"""What happens to jobs, in scenes that together take every path through the deployed functions.

A path that is new needs a scene here; one that is missing shows as a right that nobody uses.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import NewJob
from leasehold.aws.names import HELPER_SOURCE
from leasehold.kernel import enqueue as enqueueing
from leasehold.kernel import keys
from leasehold.kernel.enqueue import OnDuplicate
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.table import Update
from leasehold.operate.jobs import Again, successor
from leasehold.schedules import verbs as schedules
from leasehold.schedules.model import Schedule
from leasehold.schedules.recurrence import Every
from leasehold.schemas.shape import ANYTHING, shape_of
from leasehold.templates.model import UnknownTemplateError
from tests.infra.deployed_functions import ENQUEUER, PLAIN_ENQUEUER, Errand
from tests.infra.payload_scenes import set_payloads_apart

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId
    from tests.infra.deployed_functions import DeployedFunctions

PLAIN, LIMITED, KEYED = "daily_summary", "backup", "user_sync"
GUARDED = "user_sync"
LATER = timedelta(hours=1)


def play_all(deployed: DeployedFunctions) -> None:
    for scene in (
        *(
            deploy,
            enqueue,
            enqueue_with_keys,
            complete,
            claim_many_at_once,
            end_otherwise,
            fail_and_try_again,
            meet_a_forgery,
        ),
        *(lose_a_worker, miss_the_start, find_no_handler, hold_and_admit),
        *(take_turns, take_turns_by_key, take_over_a_seat, break_a_circuit),
        *(halt, reside, tell_of_runs, report_dead_letters, sweep_dead_letters, run_schedules, use_templates),
        *(run_groups, stop_groups, set_payloads_apart, change_a_schema),
    ):
        scene(deployed)


def deploy(deployed: DeployedFunctions) -> None:
    """First without a type whose jobs wait then, and later with it."""
    deployed.publish()
    waiting = deployed.enqueue("user_sync")
    deployed.publish(without="user_sync").tick()
    assert deployed.service.take() == []
    deployed.publish().tick().deliver()
    assert deployed.queue.get(waiting).status == "completed"


def enqueue(deployed: DeployedFunctions) -> None:
    deployed.enqueue(PLAIN)
    with deployed.calls.acting_as(PLAIN_ENQUEUER):
        # Its caches are empty: what it reads of control is read by itself.
        deployed.queue.services.deployment.forget()
        deployed.queue.enqueue(PLAIN, {"do": "complete"})
        deployed.queue.enqueue(PLAIN, {"do": "complete", "pad": [f"{n:x}" for n in range(500)]})
        deployed.queue.enqueue_many([NewJob(job=PLAIN, payload={"do": "complete"})] * 2)
        deployed.queue.enqueue(PLAIN, {"do": "complete"}, dedup_key="fresh")
    with deployed.calls.acting_as(ENQUEUER):
        deployed.queue.enqueue_many([NewJob(job=PLAIN, payload={"do": "complete"})] * 3)
        own = deployed.queue.transact_items(PLAIN, {"do": "complete"}, dedup_key="own transaction")
        deployed.client.transact_write_items(TransactItems=own.items)  # type: ignore[arg-type]
    deployed.tick().deliver()


def enqueue_with_keys(deployed: DeployedFunctions) -> None:
    """Insert, find the existing one, replace it, and take the key over once its job has ended."""
    first = deployed.enqueue(PLAIN, dedup_key="k", run_in=LATER)
    assert deployed.enqueue(PLAIN, dedup_key="k", run_in=LATER) == first
    second = deployed.enqueue(PLAIN, dedup_key="k", on_duplicate="replace")
    assert second != first
    deployed.tick().deliver()
    assert deployed.enqueue(PLAIN, dedup_key="k") not in {first, second}
    with deployed.calls.acting_as(ENQUEUER):
        deployed.queue.enqueue_many([NewJob(job=PLAIN, payload={"do": "complete"}, dedup_key="bulk")])
        for _ in range(2):
            deployed.queue.enqueue(PLAIN, {"do": "complete"}, dedup_key="burst", debounce=timedelta(seconds=1))
        deployed.queue.enqueue(PLAIN, {"do": "complete"}, dedup_key="again")
    deployed.later(seconds=2).tick().deliver()
    with deployed.calls.acting_as(ENQUEUER):
        own = deployed.queue.transact_items(PLAIN, {"do": "complete"}, dedup_key="again")
        deployed.client.transact_write_items(TransactItems=own.items)  # type: ignore[arg-type]
    deployed.tick().deliver()


def complete(deployed: DeployedFunctions) -> None:
    deployed.enqueue(PLAIN, "look and extend")
    deployed.tick().deliver(twice=True)


def claim_many_at_once(deployed: DeployedFunctions) -> None:
    """By a poller that was called to share a backlog."""
    made = [deployed.enqueue(PLAIN) for _ in range(10)]
    deployed.poll({"source": HELPER_SOURCE, "part": 1, "of": 2}).deliver()
    assert {deployed.queue.get(each).status for each in made} == {"completed"}


def end_otherwise(deployed: DeployedFunctions) -> None:
    for do in ("skip", "cancel", "bury", "snooze"):
        deployed.enqueue(PLAIN, do, dedup_key=do)
    deployed.tick().deliver()
    running = deployed.enqueue(PLAIN, "fail")
    deployed.tick()
    handed_over = deployed.service.invoked[:]
    deployed.service.invoked = []
    deployed.queue.cancel(running, reason="not started yet")
    deployed.service.invoked = handed_over
    deployed.deliver()


def fail_and_try_again(deployed: DeployedFunctions) -> None:
    tried = deployed.enqueue(PLAIN, "fail", max_attempts=2, dedup_key="fails")
    deployed.tick().deliver().later(minutes=3).tick().deliver()
    assert deployed.queue.get(tried).status == "dead_letter"


def meet_a_forgery(deployed: DeployedFunctions) -> None:
    """A job that calls itself another type's: whoever wrote it could write there, and nowhere else."""
    waiting = deployed.enqueue(PLAIN)
    forged = Update(key=keys.job(waiting), conditions=(), sets={"job_type": LIMITED})
    deployed.queue.services.store.table.write(forged)
    deployed.tick()
    assert deployed.service.take() == []
    deployed.queue.services.store.table.write(replace(forged, sets={"job_type": PLAIN}))
    deployed.tick().deliver()


def lose_a_worker(deployed: DeployedFunctions) -> None:
    """A worker that dies is found by its lease: the job is tried again, or buried, or ends as it was asked to."""
    again, last, cancelled = (
        deployed.enqueue(LIMITED, "die", dedup_key="again"),
        deployed.enqueue(PLAIN, "die", max_attempts=1, dedup_key="last"),
        deployed.enqueue(PLAIN, "die", dedup_key="cancelled"),
    )
    deployed.tick().deliver()
    deployed.queue.cancel(cancelled, reason="while it runs")
    deployed.later(minutes=30).tick()
    assert [deployed.queue.get(each).status for each in (again, last, cancelled)] == [
        "failed",
        "dead_letter",
        "cancelled",
    ]
    deployed.operator.pause(LIMITED, reason="the next scene needs its seat")
    deployed.queue.cancel(again, reason="the next scene needs its seat")
    deployed.operator.unpause(LIMITED)


def miss_the_start(deployed: DeployedFunctions) -> None:
    """A job that was not started by then is ended by the poller, or by the handler that comes too late."""
    start_by = deployed.clock.now() + timedelta(minutes=2)
    deployed.enqueue(PLAIN, dedup_key="late poll", start_by=start_by)
    deployed.later(minutes=3).tick()
    start_by = deployed.clock.now() + timedelta(seconds=30)
    late = deployed.enqueue(LIMITED, dedup_key="late start", start_by=start_by)
    deployed.tick().later(seconds=40).deliver()
    assert deployed.queue.get(late).status == "cancelled"


def find_no_handler(deployed: DeployedFunctions) -> None:
    """A hand-over that reaches nobody is taken back, with its seat."""
    deployed.service.is_down = True
    deployed.enqueue(PLAIN)
    deployed.enqueue(LIMITED)
    deployed.tick()
    deployed.service.is_down = False
    deployed.later(minutes=2).tick().deliver()


def hold_and_admit(deployed: DeployedFunctions) -> None:
    """A paused type's jobs wait in their lane; the scope is parked, woken, and forgotten once the lane is empty."""
    deployed.operator.pause(PLAIN, reason="maintenance")
    held = deployed.later(seconds=6).enqueue(PLAIN)
    deployed.tick().later(minutes=2).tick()
    assert deployed.queue.get(held).status == "pending"
    deployed.operator.unpause(PLAIN)
    deployed.later(seconds=6).tick().deliver()
    for _ in range(4):
        deployed.later(hours=2).tick()
    assert deployed.queue.get(held).status == "completed"


def take_turns(deployed: DeployedFunctions) -> None:
    """One seat, three jobs: each end wakes the next."""
    jobs = [deployed.enqueue(LIMITED, do) for do in ("complete", "bury", "complete")]
    for _ in jobs:
        deployed.tick().deliver().later(seconds=61)
    deployed.tick().deliver()
    assert all(deployed.queue.get(each).completed_at for each in jobs)


def take_turns_by_key(deployed: DeployedFunctions) -> None:
    """Seats of a type and of a key in one claim: both are given back, and the key's next job is woken."""
    jobs = [deployed.enqueue(KEYED, concurrency_key="tenant-1") for _ in range(2)]
    deployed.tick().deliver().later(seconds=61)
    assert sorted(deployed.queue.get(each).has_ended for each in jobs) == [False, True]
    deployed.tick().deliver()
    assert all(deployed.queue.get(each).has_ended for each in jobs)


def take_over_a_seat(deployed: DeployedFunctions) -> None:
    """A seat whose holder is gone is taken over once its time is up; a look that comes before is put off."""
    lost = deployed.enqueue(LIMITED, "die", max_attempts=1)
    deployed.tick().deliver()
    next_one = deployed.enqueue(LIMITED)
    deployed.tick().later(seconds=90).tick()
    assert deployed.queue.get(next_one).status == "pending"
    for _ in range(3):
        deployed.later(minutes=20).tick().deliver()
    assert (deployed.queue.get(lost).status, deployed.queue.get(next_one).status) == ("dead_letter", "completed")


def break_a_circuit(deployed: DeployedFunctions) -> None:
    """A lost worker is the first of many failures; then probes are sent, of which one fails and one closes it."""
    deployed.enqueue(GUARDED, "die", max_attempts=1)
    deployed.tick().deliver().later(minutes=30).tick()
    for _ in range(19):
        deployed.enqueue(GUARDED, "fail", max_attempts=1)
    for _ in range(6):
        deployed.tick().deliver().later(seconds=6)
    assert deployed.operator.switches().pauses[GUARDED].by == "circuit-breaker"
    jobs = [deployed.enqueue(GUARDED, do, max_attempts=1) for do in ("fail", "complete", "complete")]
    for _ in range(8):
        deployed.later(minutes=1).tick().deliver()
    assert [deployed.queue.get(each).status for each in jobs] == ["dead_letter", "completed", "completed"]
    assert deployed.operator.switches().pauses == {}


def halt(deployed: DeployedFunctions) -> None:
    """A halt that comes between claim and start: the handler gives the job back, with its seat."""
    jobs = [deployed.enqueue(PLAIN), deployed.enqueue(LIMITED)]
    deployed.tick()
    deployed.operator.halt(reason="bad deploy")
    deployed.later(seconds=6).deliver().tick()
    deployed.operator.resume()
    deployed.later(minutes=2).tick().deliver()
    assert [deployed.queue.get(each).status for each in jobs] == ["completed", "completed"]


def reside(deployed: DeployedFunctions) -> None:
    """A job that falls due within the minute: its wake starts a resident, which waits for it."""
    soon = deployed.enqueue(PLAIN, run_in=timedelta(seconds=20))
    deployed.wake(deployed.queue.get(soon)).deliver().deliver()
    assert deployed.queue.get(soon).status == "completed"


def tell_of_runs(deployed: DeployedFunctions) -> None:
    """Deliveries: given up since no key is stored, given back because of a halt, and one that is damaged."""
    told = deployed.enqueue(PLAIN, webhook="https://hooks.example.com")
    deployed.tick().deliver().tick()
    deployed.operator.halt(reason="bad deploy")
    deployed.later(seconds=6).deliver()
    deployed.operator.resume()
    for _ in range(6):
        deployed.later(minutes=2).tick().deliver()
    (delivery,) = deployed.queue.webhooks.deliveries(told)
    assert [each.code for each in delivery.tries] == ["not_signed"] * 4
    damaged = replace(deployed.queue.get(delivery.delivery_id), stored_payload="{}", read_payload=None)
    services = deployed.queue.services.acting_as(KnownIdentity("ada"))
    again = enqueueing.write(successor(damaged, services, Again(reason="")), services, on_duplicate=OnDuplicate.RAISE)
    deployed.tick().deliver()
    assert deployed.queue.get(again.job_id).status == "dead_letter"


def change_a_schema(deployed: DeployedFunctions) -> None:
    """A deployment whose handler asks for other payloads than before looks at those that wait."""
    waiting = deployed.enqueue(PLAIN, run_in=LATER)
    for deployed.shape in (shape_of(Errand), ANYTHING):
        deployed.publish(asked=PLAIN)
    deployed.publish()
    deployed.queue.cancel(waiting, reason="nobody asked for it")


def report_dead_letters(deployed: DeployedFunctions) -> None:
    deployed.report(
        {"Records": [_stream_record(number, each) for number, each in enumerate(_open_dead_letters(deployed))]}
    )


def sweep_dead_letters(deployed: DeployedFunctions) -> None:
    left = deployed.enqueue(PLAIN, "bury")
    deployed.tick().deliver().later(hours=2).report({"source": "leasehold.sweep"})
    assert deployed.operator.dead_letter(left).reported_at is not None


def run_schedules(deployed: DeployedFunctions) -> None:
    """Slots are found by EventBridge's wake or by the tick, and schedules that a user deleted are removed by either."""
    deployed.publish(with_schedules=True).tick()
    for _ in range(2):
        deployed.later(minutes=31).trigger(LIMITED).tick().deliver()
        deployed.later(minutes=31).tick().tick().deliver()
    deployed.publish()
    for remove in (lambda: deployed.trigger("nightly"), deployed.tick):
        services = deployed.queue.services
        deployed.queue.schedules.create("nightly", PLAIN, cron="0 3 * * *", reason="reports")
        deployed.queue.schedules.delete("nightly", reason="no more reports")
        remove()
        deployed.later(minutes=6)  # EventBridge is told twice: a call of an older version may be on its way
        remove()
        assert services.store.schedules.get("nightly") is None


def use_templates(deployed: DeployedFunctions) -> None:
    """Jobs come from a template by a program and by slots, and one that is missing is looked for by all of them."""
    deployed.queue.templates.create("nightly", PLAIN, {"do": "complete"})
    services, every_hour = deployed.queue.services, Every(LATER)
    missing = Schedule(name="lonely", job_type=PLAIN, payload_text="{}", recurrence=every_hour, template="nihgtly")
    schedules.deploy([missing, replace(missing, name="served", template="nightly")], services)
    with deployed.calls.acting_as(ENQUEUER):
        made = deployed.queue.enqueue(template="nightly").job_id
        with pytest.raises(UnknownTemplateError):
            deployed.queue.enqueue(template="nihgtly")
    deployed.tick().deliver()
    assert deployed.queue.get(made).status == "completed"
    deployed.later(hours=1).trigger("served").deliver()
    with pytest.raises(UnknownTemplateError):
        deployed.trigger("lonely")
    deployed.later(hours=1).tick().deliver()
    served = services.store.schedules.get("served")
    assert served is not None
    assert deployed.queue.get(str(served.last_job_id)).template == "nightly"


def run_groups(deployed: DeployedFunctions) -> None:
    """One after the other, side by side, and a callback for each."""
    callback = NewJob(job=PLAIN, payload={"do": "complete"})
    for mode in ("sequential", "parallel"):
        with deployed.calls.acting_as(ENQUEUER):
            jobs = [NewJob(job=PLAIN, payload={"do": "complete"})] * 2
            deployed.queue.groups.create(jobs, mode=mode, callback=callback, group_id=mode)
        for _ in range(4):
            deployed.later(seconds=1).tick().deliver()
        assert deployed.queue.groups.get(mode).completed == 2


def stop_groups(deployed: DeployedFunctions) -> None:
    """A member that fails ends those that wait; so does a cancel, which asks those that run to stop."""
    jobs = [NewJob(job=PLAIN, payload={"do": do}) for do in ("bury", "complete")]
    with deployed.calls.acting_as(ENQUEUER):
        deployed.queue.groups.create(jobs, group_id="failing")
        deployed.queue.groups.create(jobs, group_id="cancelled")
    deployed.queue.groups.cancel("cancelled", reason="wrong file")
    for _ in range(2):
        deployed.later(seconds=1).tick().deliver()
    deployed.later(seconds=1).tick()
    assert [deployed.queue.groups.get(each).state for each in ("failing", "cancelled")] == ["failed", "cancelled"]


def _open_dead_letters(deployed: DeployedFunctions) -> list[JobId]:
    return [dead_letter.id for dead_letter in deployed.operator.dead_letters()]


def _stream_record(number: int, job_id: JobId) -> dict[str, Any]:
    change = {"Keys": {"id": {"S": job_id}}, "SequenceNumber": str(number)}
    return {"eventName": "INSERT", "eventSource": "aws:dynamodb", "dynamodb": change}
