"""The samples in events/ are what the functions really get."""

from __future__ import annotations

import json
from pathlib import Path

from leasehold.aws.handovers import handover_event, handover_of
from leasehold.aws.lifecycle_events import events_of
from leasehold.kernel.keys import key_of, scheduled_for_of

EVENTS = Path(__file__).parent.parent / "events"


def test_the_sample_hand_over_is_one_and_says_nothing_but_the_job_and_its_lease() -> None:
    event = json.loads((EVENTS / "handover.json").read_text())

    handover = handover_of(event)

    assert handover_event(handover) == event
    assert handover.lease.item_id == handover.job_id
    assert handover.lease.at > scheduled_for_of(handover.job_id)
    assert key_of(handover.job_id).sk.startswith("scheduled#2026-11-15T09:30:00.000Z#")


def test_every_function_has_a_sample() -> None:
    functions = {each.parent.name for each in (EVENTS.parent / "functions").glob("*/handler.py")}
    samples = " ".join(sample.name for sample in EVENTS.glob("*.json"))
    named = {"dead_letter_reporter": "dead_letter", "api": "api_request"}

    assert [name for name in functions if named.get(name, name) not in samples] == []


def test_every_sample_event_is_json() -> None:
    samples = sorted(EVENTS.glob("*.json"))

    assert {"handover.json", "poller_tick.json"} <= {sample.name for sample in samples}
    assert all(isinstance(json.loads(sample.read_text()), dict) for sample in samples)


def test_the_sample_of_the_lifecycle_function_tells_of_one_end() -> None:
    """Its function is deployed in stages that ask for it; the local one does not."""
    (told,) = events_of(json.loads((EVENTS / "lifecycle_events.json").read_text()))

    assert (told.name, told.detail["previous_status"]) == ("job.completed", "in_progress")
