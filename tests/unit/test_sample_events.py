"""The samples in events/ are what the functions really get."""

from __future__ import annotations

import json
from pathlib import Path

from leasehold.domain.handover import Handover
from leasehold.domain.ids import key_of, scheduled_for_of

EVENTS = Path(__file__).parent.parent.parent / "events"


def test_the_sample_hand_over_is_one_and_says_nothing_but_the_job_and_its_lease() -> None:
    event = json.loads((EVENTS / "handover.json").read_text())

    handover = Handover.from_event(event)

    assert handover.to_event() == event
    assert handover.lease.item_id == handover.job_id
    assert handover.lease.at > scheduled_for_of(handover.job_id)
    assert key_of(handover.job_id).sk.startswith("scheduled#2026-11-15T09:30:00.000Z#")


def test_every_sample_event_is_json() -> None:
    samples = sorted(EVENTS.glob("*.json"))

    assert {"handover.json", "poller_tick.json"} <= {sample.name for sample in samples}
    assert all(isinstance(json.loads(sample.read_text()), dict) for sample in samples)
