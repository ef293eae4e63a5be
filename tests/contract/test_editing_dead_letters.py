"""A dead job is run again with another payload; what differs is on record, and what it says is not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold import Registry
from leasehold.admin.job_documents import encode_shown
from leasehold.kernel.errors import InvalidPayloadError, WrongStateError
from leasehold.kernel.payload import encode_payload
from leasehold.kernel.payload_forms import shown_json
from leasehold.schemas.records import PayloadSchema, digest_of, write_schema
from leasehold.schemas.shape import shape_of
from tests.contract.test_dead_letters import bury

if TYPE_CHECKING:
    from tests.contract.world import World


class Address(BaseModel):
    city: str


class Invoice(BaseModel):
    number: int
    address: Address | None = None
    lines: dict[str, int] = {}


def changes(world: World, dead: str) -> list[str]:
    (record,) = world.services.store.audits.trail(f"dead-letter#{dead}")
    found: list[str] = json.loads(record.audit_entry.details)["payload_changes"]
    return found


def check_payloads_of_once(world: World) -> None:
    shape = shape_of(Invoice)
    write_schema("once", PayloadSchema(digest=digest_of(shape), shape=shape, code="c"), world.services.store.table)
    registry = world.services.deployment.registry(fresh=True)
    once = replace(registry.types["once"], schema=digest_of(shape))
    world.operator.publish(replace(registry, types={**registry.types, "once": once}))
    assert isinstance(world.services.deployment.registry(fresh=True), Registry)


def test_an_edited_dead_letter_runs_with_its_new_payload_and_the_old_one_stays_on_the_dead_job(world: World) -> None:
    dead = bury(world, payload={"n": 4, "to": "ada"})

    redriven = world.operator.redrive(dead, payload={"n": 5, "to": "ada"}, reason="five was meant")

    assert redriven.job_id is not None
    job = world.queue.get(redriven.job_id)
    assert (job.payload, job.retry_of) == ({"n": 5, "to": "ada"}, dead)
    assert world.queue.get(dead).payload == {"n": 4, "to": "ada"}
    assert changes(world, dead) == ["replace /n"]
    assert world.work() == ["completed"]


def test_the_audit_entry_names_fields_and_no_values_nor_keys_that_may_be_personal(world: World) -> None:
    check_payloads_of_once(world)
    before = {"number": 1, "address": {"city": "Ulm"}, "lines": {"ada@example.com": 1}, "gone": 1}
    dead = bury(world, payload=dict(before))

    world.operator.redrive(
        dead,
        payload={"number": 1, "address": {"city": "Bonn"}, "lines": {"ada@example.com": 2}, "note": "x"},
        reason="moved",
    )

    assert changes(world, dead) == ["replace /address/city", "replace /lines/*", "remove /gone", "add /note"]


def test_a_new_payload_that_does_not_fit_is_refused_with_its_path_and_nothing_changes(world: World) -> None:
    check_payloads_of_once(world)
    dead = bury(world, payload={"number": 1})

    with pytest.raises(InvalidPayloadError, match=r"payload\.address\.city is missing"):
        world.operator.redrive(dead, payload={"number": 1, "address": {}}, reason="wrong")

    assert world.operator.dead_letter(dead).is_open
    assert world.services.store.audits.trail(f"dead-letter#{dead}") == []
    assert world.work() == []


def test_a_second_redrive_with_the_same_payload_finds_the_first_and_with_another_is_refused(world: World) -> None:
    dead = bury(world, payload={"n": 1})
    first = world.operator.redrive(dead, payload={"n": 2}, reason="two")

    again = world.operator.redrive(dead, payload={"n": 2}, reason="two")

    assert (again.job_id, again.created) == (first.job_id, False)
    with pytest.raises(WrongStateError, match=f"redriven already, as {first.job_id} with another payload"):
        world.operator.redrive(dead, payload={"n": 3}, reason="three")


def test_a_large_payload_that_stood_apart_is_replaced_by_another_large_one(world: World) -> None:
    dead = bury(world, payload={"text": [f"{n:x}" for n in range(5000)]})
    other: dict[str, object] = {"text": [f"{n:x}" for n in range(5001)]}

    redriven = world.operator.redrive(dead, payload=other, reason="one more")  # type: ignore[arg-type]

    assert redriven.job_id is not None
    assert world.queue.get(redriven.job_id).payload == other
    assert changes(world, dead) == ["replace /text"]


def test_a_payload_that_is_sent_back_as_it_is_shown_is_the_same_payload() -> None:
    payload = {"at": datetime(2026, 11, 18, tzinfo=UTC), "sum": Decimal("1.10"), "own": {"$datetime": "no"}, "n": [1]}

    assert encode_shown(shown_json(encode_payload(payload))) == encode_payload(payload)
    with pytest.raises(InvalidPayloadError, match=r"\$datetime or \$decimal"):
        encode_shown({"at": {"$datetime": "soon"}})
