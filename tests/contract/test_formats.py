"""What is stored and handed over carries its format: who does not read it says so, and touches nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.aws.handovers import handover_event, handover_of
from leasehold.kernel import keys, partitions
from leasehold.kernel.dead_letter import dead_letter_of
from leasehold.kernel.errors import UnknownFormatError
from leasehold.kernel.job import job_of
from leasehold.kernel.registry_records import registry_of
from leasehold.kernel.table import FORMAT, Update
from leasehold.schedules.records import schedule_of
from leasehold.templates.records import template_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.world import World

NEWER = 3
GOLDEN = Path(__file__).parents[1] / "golden" / "format_1.json"
READERS: dict[str, Callable[[Any], object]] = {
    "job": job_of,
    "dead_letter": dead_letter_of,
    "registry": registry_of,
    "schedule": schedule_of,
    "template": template_of,
    "handover": handover_of,
}


def registry_of_a_newer_release(world: World) -> None:
    world.table.write(Update(key=partitions.control(partitions.REGISTRY), conditions=(), sets={FORMAT: NEWER}))
    world.services.deployment.forget()


def test_under_a_newer_deployment_nothing_is_enqueued_and_nothing_is_polled(world: World) -> None:
    waiting = world.queue.enqueue("report").job_id
    before = world.table.get(keys.job(waiting))
    registry_of_a_newer_release(world)

    with pytest.raises(UnknownFormatError, match="what is deployed has format 3, and this version of Leasehold reads"):
        world.queue.enqueue("report")
    with pytest.raises(UnknownFormatError):
        world.poll()
    assert world.table.get(keys.job(waiting)) == before
    assert world.dispatches.handovers == []


def test_a_release_that_is_too_old_cannot_be_deployed_over_a_newer_one(world: World) -> None:
    registry_of_a_newer_release(world)
    before = world.table.get(partitions.control(partitions.REGISTRY))

    with pytest.raises(UnknownFormatError, match="UPGRADING"):
        world.deploy(*world.types.values())
    assert world.table.get(partitions.control(partitions.REGISTRY)) == before


def test_a_job_of_a_newer_format_is_named_and_left_as_it_is(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.table.write(Update(key=keys.job(job_id), conditions=(), sets={FORMAT: NEWER}))
    before = world.table.get(keys.job(job_id))

    with pytest.raises(UnknownFormatError, match=f"job {job_id} has format 3"):
        world.queue.get(job_id)
    with pytest.raises(UnknownFormatError):
        world.queue.cancel(job_id, reason="it is not read")
    assert world.table.get(keys.job(job_id)) == before


def test_a_hand_over_of_a_newer_format_starts_nothing(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    event = {**handover_event(world.claim_one()), FORMAT: NEWER}
    before = world.table.get(keys.job(job_id))

    with pytest.raises(UnknownFormatError, match="this hand-over has format 3"):
        handover_of(event)
    assert world.table.get(keys.job(job_id)) == before


@pytest.mark.parametrize("kind", sorted(READERS))
def test_what_an_earlier_release_stored_is_read(kind: str) -> None:
    for record in json.loads(GOLDEN.read_text())[kind]:
        READERS[kind](record)


@pytest.mark.parametrize("kind", sorted(READERS))
def test_every_kind_of_record_is_refused_in_a_format_that_is_not_known(kind: str) -> None:
    for record in json.loads(GOLDEN.read_text())[kind]:
        with pytest.raises(UnknownFormatError):
            READERS[kind]({**record, FORMAT: NEWER})
