"""Templates by themselves: how payloads are laid over each other, and that the largest template can be stored."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.audit.records import audit_entry_of, audited
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.errors import InvalidKeyError, InvalidPayloadError
from leasehold.kernel.job import MAX_REASON_BYTES
from leasehold.kernel.keys import Priority, from_millis
from leasehold.kernel.payload import MAX_PAYLOAD_BYTES, decode, encode, encode_payload
from leasehold.kernel.retry import Delays
from leasehold.templates.model import MAX_DESCRIPTION_BYTES, Template, merged, parse_template_name
from leasehold.templates.records import preset_record, template_key, template_of, template_record
from leasehold.webhooks.address import MAX_WEBHOOK_BYTES
from tests.kernel.test_item_size import LIMIT, size_of
from tests.strategies import instants, json_values, names, retries, same, texts
from tests.worlds import spied_queue

objects = st.dictionaries(texts, json_values, max_size=4)
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@given(objects, objects)
def test_a_merged_payload_is_the_defaults_with_single_keys_replaced(defaults, overrides):
    assert same(decode(merged(encode(defaults), encode(overrides))), decode(encode({**defaults, **overrides})))


def test_a_payload_that_is_no_object_replaces_nothing_but_no_defaults():
    assert merged("{}", "[1]") == "[1]"
    with pytest.raises(InvalidPayloadError, match=r"cannot be merged.* got \[1\]\. Use a dict"):
        merged('{"a":1}', "[1]")


def test_an_object_that_looks_like_a_datetime_is_merged_as_the_object_that_it_is():
    assert merged(encode({"$datetime": "x"}), encode({"$decimal": 1})) == '{"$datetime":"x","$decimal":1}'


@pytest.mark.parametrize("name", ["", "Nightly", "a#b", "1st", "n" * 65, "a\n", None, 7])
def test_a_name_that_is_no_name_is_refused(name):
    with pytest.raises(InvalidKeyError, match=r"a template's name is .*nightly-report"):
        parse_template_name(name)


templates = st.builds(
    Template,
    name=names,
    job_type=names,
    payload_text=objects.map(encode),
    priority=st.none() | st.sampled_from(Priority),
    max_attempts=st.none() | st.integers(1, 1000),
    retry=st.none() | retries,
    webhook=st.none() | names,
    description=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    created_by=names,
    created_at=instants,
    version=st.integers(1, 10_000),
)


@given(templates)
def test_a_template_is_read_back_from_its_record(template):
    record = {**template_key(template.name).attributes, **template_record(template)}

    assert template_of(record) == template


def largest() -> Template:
    template = Template(
        name="n" * 64,
        job_type="t" * 64,
        payload_text=encode_payload({"x": "ü" * ((MAX_PAYLOAD_BYTES - 8) // 2)}),
        priority=Priority.CRITICAL,
        max_attempts=1000,
        retry=Delays((timedelta(seconds=1234.567),) * 50),
        webhook="w" * MAX_WEBHOOK_BYTES,
        description="ü" * (MAX_DESCRIPTION_BYTES // 2),
        created_by="b" * 256,
        created_at=from_millis(2**40),
        version=10_000,
        audit_head="h" * 64,
    )
    assert [each.name for each in fields(template) if getattr(template, each.name) is None] == []
    return template


def test_the_largest_template_fits_into_an_item():
    record = {**template_key("n" * 64).attributes, **template_record(largest()), "audit_head": "h" * 64}

    assert size_of(to_item(record)) < LIMIT


@pytest.mark.parametrize("filling", ["ü", '"', "\u0001"], ids=["two bytes", "escaped", "escaped at length"])
def test_the_audit_record_of_the_largest_payload_fits_too(filling):
    """A payload in it is JSON within JSON: what is escaped is escaped again."""
    queue, _ = spied_queue()
    count = (MAX_PAYLOAD_BYTES - 8) // (len(json.dumps(filling, ensure_ascii=False).encode()) - 2)
    says = {**preset_record(largest()), "payload": encode_payload({"x": filling * count})}

    audit_entry = audit_entry_of(
        "template#" + "n" * 64, "create", says, queue.services, by="b" * 256, reason="r" * MAX_REASON_BYTES
    )
    put = audited(audit_entry, "h" * 64)

    assert size_of(to_item(put.item)) < LIMIT
    assert "sha256" in audit_entry.details


def test_a_payload_of_usual_size_stands_in_its_audit_record():
    queue, _ = spied_queue()

    audit_entry = audit_entry_of(
        "template#t", "create", {"payload": '{"to":"ädä"}'}, queue.services, by="ada", reason="r"
    )

    assert json.loads(audit_entry.details) == {"payload": '{"to":"ädä"}'}
