"""Job ids carry their key."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.domain.errors import InvalidJobIdError, InvalidOptionError
from leasehold.domain.ids import (
    MAX_SHARDS,
    RANDOM_BITS,
    derive_job_id,
    job_id_of_key,
    key_of,
    make_job_id,
    parse_job_id,
    scheduled_for_of,
    shard_of,
)
from leasehold.domain.instants import LATEST, to_text
from tests.unit.strategies import instants, job_ids, random_bits, shards

NINE_THIRTY = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@given(instants, shards, random_bits)
def test_an_id_gives_back_what_it_was_made_from(scheduled_for, shard, bits):
    job_id = make_job_id(scheduled_for, shard, bits)

    assert scheduled_for_of(job_id) == scheduled_for
    assert shard_of(job_id) == shard
    assert uuid.UUID(job_id).int & ((1 << RANDOM_BITS) - 1) == bits


@given(instants, shards, random_bits)
def test_the_key_of_an_id_is_its_shard_and_its_time(scheduled_for, shard, bits):
    job_id = make_job_id(scheduled_for, shard, bits)
    pk, sk = key_of(job_id)

    assert pk == ("job" if shard == 0 else f"job#{shard}")
    assert sk == f"scheduled#{to_text(scheduled_for)}#{job_id}"
    assert job_id_of_key(sk) == job_id


@given(job_ids)
def test_every_id_is_a_uuid_of_version_8_in_the_rfc_variant(job_id):
    parsed = uuid.UUID(job_id)

    assert (parsed.version, parsed.variant) == (8, uuid.RFC_4122)
    assert parse_job_id(job_id) == job_id


@given(job_ids, job_ids)
def test_keys_sort_like_the_times_they_were_made_from(one, other):
    if scheduled_for_of(one) < scheduled_for_of(other):
        assert key_of(one).sk < key_of(other).sk
        assert one < other


@given(instants, shards, st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_the_same_origin_always_derives_the_same_id(scheduled_for, shard, origin):
    derived = derive_job_id(scheduled_for, shard, *origin)

    assert derived == derive_job_id(scheduled_for, shard, *origin)
    assert parse_job_id(derived) == derived
    assert (scheduled_for_of(derived), shard_of(derived)) == (scheduled_for, shard)


def test_another_origin_derives_another_id():
    derived = {derive_job_id(NINE_THIRTY, 0, *origin) for origin in (["a"], ["b"], ["a", "b"], ["ab"], ["a", "b", ""])}

    assert len(derived) == 5


@given(st.uuids(version=4) | st.uuids(version=1) | st.uuids(version=5))
def test_a_uuid_of_another_version_is_refused(foreign):
    with pytest.raises(InvalidJobIdError, match="not an id that Leasehold made"):
        parse_job_id(str(foreign))


OURS = make_job_id(NINE_THIRTY, 3, 0xABCDEF)


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "not a uuid",
        OURS.upper(),
        OURS.replace("-", ""),
        f"{{{OURS}}}",
        f"urn:uuid:{OURS}",
        f" {OURS}",
        f"{OURS}#",
        OURS[:19] + "c" + OURS[20:],
        "ffffffff-ffff-8000-8000-000000000000",
        None,
        7,
        uuid.UUID(OURS),
    ],
)
def test_what_make_job_id_could_not_have_made_is_refused(foreign):
    with pytest.raises(InvalidJobIdError) as refused:
        parse_job_id(foreign)

    assert refused.value.value == foreign
    assert "enqueue returned" in refused.value.fix


def test_the_last_millisecond_of_the_year_9999_is_the_last_that_an_id_holds():
    last = make_job_id(LATEST, MAX_SHARDS - 1, (1 << RANDOM_BITS) - 1)

    assert scheduled_for_of(parse_job_id(last)) == LATEST
    with pytest.raises(InvalidJobIdError):
        parse_job_id(str(uuid.UUID(int=uuid.UUID(last).int + (1 << 80))))


@pytest.mark.parametrize("shard", [-1, MAX_SHARDS])
def test_a_shard_beyond_twelve_bits_is_refused(shard):
    with pytest.raises(InvalidOptionError, match=f"no such shard: got {shard}"):
        make_job_id(NINE_THIRTY, shard, 0)
