"""Scenes with payloads that stand apart: who makes such a job writes them, who runs or buries it reads them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold import NewJob
from tests.infra.deployed_functions import ENQUEUER
from tests.sample_payloads import noise

if TYPE_CHECKING:
    from tests.infra.deployed_functions import DeployedFunctions

PLAIN = "daily_summary"


def large(do: str = "complete", *, seed: int = 1) -> dict[str, Any]:
    return {"do": do, **noise(2000, seed=seed)}


def set_payloads_apart(deployed: DeployedFunctions) -> None:
    _enqueue(deployed)
    _die(deployed)
    _make_by_schedule(deployed)
    _tell(deployed)
    _wait_for_long(deployed)


def _enqueue(deployed: DeployedFunctions) -> None:
    """By a program: alone, with a key that is free or held, in bulk, in a group, and in its own transaction."""
    with deployed.calls.acting_as(ENQUEUER):
        made = deployed.queue.enqueue(PLAIN, large()).job_id
        first = deployed.queue.enqueue(PLAIN, large(), dedup_key="large").job_id
        assert deployed.queue.enqueue(PLAIN, large(), dedup_key="large").job_id == first
        deployed.queue.enqueue_many([NewJob(job=PLAIN, payload=large(seed=seed)) for seed in range(3)])
        own = deployed.queue.transact_items(PLAIN, large())
        deployed.client.transact_write_items(TransactItems=own.items)  # type: ignore[arg-type]
        callback = NewJob(job=PLAIN, payload=large())
        deployed.queue.groups.create([NewJob(job=PLAIN, payload=large())] * 2, callback=callback, group_id="large")
    assert deployed.queue.get(made).payload == large()
    for _ in range(4):
        deployed.later(seconds=1).tick().deliver()
    assert deployed.queue.get(made).status == "completed"
    assert deployed.queue.groups.get("large").completed == 2


def _die(deployed: DeployedFunctions) -> None:
    """The poller buries a lost job, with a dead letter that has its own copy."""
    with deployed.calls.acting_as(ENQUEUER):
        lost = deployed.queue.enqueue(PLAIN, large("die"), max_attempts=1).job_id
    deployed.tick().deliver().later(minutes=30).tick()
    assert deployed.operator.dead_letter(lost).payload == large("die")


def _make_by_schedule(deployed: DeployedFunctions) -> None:
    deployed.queue.schedules.create("large", PLAIN, large(), every=timedelta(hours=1), reason="reports")
    deployed.later(hours=1).trigger("large").deliver()
    deployed.later(hours=1).tick().deliver()
    deployed.queue.schedules.delete("large", reason="no more reports")
    deployed.tick()


def _tell(deployed: DeployedFunctions) -> None:
    """A long address makes a delivery long: one owed by a handler, and one by the poller that finds a worker lost."""
    address = f"https://hooks.example.com/{json.dumps(noise(900)).encode().hex()}"
    deployed.enqueue(PLAIN, webhook=address)
    deployed.enqueue(PLAIN, "die", max_attempts=1, webhook=address)
    deployed.tick().deliver().tick().deliver()
    deployed.later(minutes=30).tick().tick().deliver()


def _wait_for_long(deployed: DeployedFunctions) -> None:
    """What is held for weeks keeps its payload."""
    deployed.operator.pause(PLAIN, reason="a very long holiday")
    with deployed.calls.acting_as(ENQUEUER):
        held = deployed.queue.enqueue(PLAIN, large()).job_id
    for _ in range(3):
        deployed.later(days=8).tick()
    deployed.operator.unpause(PLAIN)
    # A tick leaves what was just asked for to the stream's wake, which is given a few seconds to come.
    deployed.later(seconds=6).tick().deliver()
    assert deployed.queue.get(held).status == "completed"
