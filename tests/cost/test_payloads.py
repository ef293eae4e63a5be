"""What a payload costs: its bytes are paid once, not at every transition."""

from __future__ import annotations

import zlib
from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING

import pytest

from leasehold import NewJob
from leasehold.housekeeping.payload_rounds import keep_payloads
from leasehold.kernel.job_type import JobType
from leasehold.kernel.payload import MAX_INLINE_BYTES, encode_payload, size_of
from leasehold.kernel.payload_forms import compact
from tests.cost.life import Life
from tests.meter import Meter
from tests.real_queue import RealQueue
from tests.sample_payloads import KILOBYTE, dense_event, noise, order_event
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.payload import Json

pytestmark = pytest.mark.dynoxide

PLAIN = "enqueue poll start complete"
SAMPLES = {"order": order_event, "dense": dense_event, "noise": noise}
# Keys, name and time to live of the item that holds a payload.
OVERHEAD = 120


@pytest.fixture
def live(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> Callable[..., Life]:
    def run(payload: dict[str, Json], steps: str = PLAIN, *, ended_index: bool = False) -> Life:
        deployed = RealQueue(
            make_client(dynoxide_endpoint), [JobType(name="send_order_receipt")], ended_index=ended_index
        )
        life = Life(deployed, payload=payload)
        for step in steps.split():
            life.take(step)
        print(f"\n{life.units:g} units: " + ", ".join(f"{s.name} {s.units:g} ({s.item_bytes} B)" for s in life.steps))
        return life

    return run


@pytest.mark.parametrize(
    ("sample", "size", "units"),
    [
        ("order", 200, 8),
        ("order", KILOBYTE, 9),
        ("order", 4 * KILOBYTE, 10),
        ("order", 16 * KILOBYTE, 11),
        ("dense", 200, 8),
        ("dense", KILOBYTE, 9),
        ("dense", 4 * KILOBYTE, 10),
        ("dense", 16 * KILOBYTE, 14),
        ("noise", 200, 8),
        ("noise", KILOBYTE, 9),
        ("noise", 4 * KILOBYTE, 12),
        ("noise", 16 * KILOBYTE, 22),
    ],
)
@pytest.mark.parametrize("ended_index", [False, True])
def test_a_plain_jobs_life_with_a_payload(
    sample: str, size: int, units: int, ended_index: bool, live: Callable[..., Life]
) -> None:
    life = live(SAMPLES[sample](size), ended_index=ended_index)

    assert life.units == units + ended_index
    assert max(step.item_bytes for step in life.steps) <= KILOBYTE


@pytest.mark.parametrize("ended_index", [False, True])
def test_what_does_not_compress_at_all_costs_no_more_than_its_bytes_once(
    ended_index: bool, live: Callable[..., Life], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text that JSON allows is that bad, so here compression gives nothing."""
    monkeypatch.setattr("leasehold.kernel.payload_forms.zlib.compress", lambda raw: raw + b"!")
    monkeypatch.setattr("leasehold.kernel.payload_forms._packed_tightly", lambda raw: raw + b"!")

    life = live(noise(16 * KILOBYTE), ended_index=ended_index)

    assert life.units == 8 + 17 + ended_index
    assert life.units <= 28


def test_the_sample_compresses_no_better_than_json_does() -> None:
    """The median of the JSON files that we measured: a sample above it would flatter us."""
    text = encode_payload(order_event(16 * KILOBYTE)).encode()

    assert 4.5 <= len(text) / len(zlib.compress(text)) <= 5.1


@pytest.mark.parametrize(
    ("steps", "units"),
    [
        ("enqueue_with_key poll start complete", 13),
        ("enqueue poll start fail poll start complete", 15),
        ("enqueue poll start snooze poll start complete", 15),
        ("enqueue poll start extend complete", 11),
        ("enqueue cancel", 10),
    ],
)
def test_a_longer_life_pays_for_the_payload_once_too(steps: str, units: int, live: Callable[..., Life]) -> None:
    payload = order_event(16 * KILOBYTE)
    apart = ceil((size_of(compact(encode_payload(payload))) + OVERHEAD) / KILOBYTE)

    assert live(payload, steps).units == units + apart


def test_what_compresses_into_the_job_costs_nothing_more(live: Callable[..., Life]) -> None:
    payload = {"lines": [{"sku": "A-1", "quantity": 1, "note": "as always"}] * 40}
    assert len(encode_payload(payload)) > MAX_INLINE_BYTES

    life = live(payload)

    assert (life.units, [step.writes for step in life.steps]) == (8, [1, 1, 1, 1])


def test_a_held_dedup_key_is_found_before_its_payload_is_written(
    live: Callable[..., Life], dynoxide_endpoint: str
) -> None:
    life = live(order_event(16 * KILOBYTE), "enqueue_with_key enqueue_with_key")

    assert life.steps[1].units == 0


def test_a_round_of_the_keeper_reads_what_is_left_of_old_jobs_and_pays_for_what_it_renews(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    """No payload is read; jobs that have ended cost their bytes in reads, as long as they are there."""
    deployed = RealQueue(make_client(dynoxide_endpoint), [JobType(name="send_order_receipt")])
    meter = Meter(deployed.client)
    deployed.queue.enqueue_many(NewJob(job="send_order_receipt", payload=noise(8 * KILOBYTE)) for _ in range(100))
    (old,) = [deployed.queue.enqueue("send_order_receipt", noise(16 * KILOBYTE)).job_id]
    for job in stored_jobs(deployed.services):
        if job.job_id != old:
            deployed.queue.cancel(job.job_id, reason="only one is left")
    deployed.clock.advance(timedelta(days=8))

    def visit() -> None:
        assert keep_payloads(deployed.services, worker_id="poller", should_stop=lambda: None) is not None

    reading = meter.during(visit)

    print(f"\n{reading.read_units:g} read and {reading.write_units:g} write units, {reading.total_requests} requests")
    # Begun and finished, and one payload of 13.5 KB.
    assert reading.write_units == 2 + 14
    # 101 jobs of half a KB, read at half price.
    assert reading.read_units <= 101 * 0.5 / 4 / 2 * 1.3 + 2
