"""Job ids carry their key."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.errors import InvalidJobIdError, InvalidOptionError
from leasehold.kernel.keys import (
    LATEST,
    MAX_SHARDS,
    NOT_ISOLATED,
    RANDOM_BITS,
    SYSTEM_CODE,
    JobPartition,
    derive_job_id,
    job_id_at,
    key_of,
    make_job_id,
    parse_job_id,
    partition_of,
    scheduled_for_of,
    to_text,
    type_code,
)
from leasehold.kernel.partitions import id_pattern
from tests.strategies import instants, job_ids, partitions, random_bits

NINE_THIRTY = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
HOME = JobPartition(0x3FA1)


@given(instants, partitions, random_bits)
def test_an_id_gives_back_what_it_was_made_from(scheduled_for, partition, bits):
    job_id = make_job_id(scheduled_for, partition, bits)

    assert scheduled_for_of(job_id) == scheduled_for
    assert partition_of(job_id) == partition
    whole = uuid.UUID(job_id).int
    assert (whole >> 60 & 0b11) << 48 | whole & ((1 << 48) - 1) == bits


@given(instants, partitions, random_bits)
def test_the_key_of_an_id_is_its_partition_and_its_time(scheduled_for, partition, bits):
    job_id = make_job_id(scheduled_for, partition, bits)
    pk, sk = key_of(job_id)

    assert pk == partition.name
    assert sk == f"scheduled#{to_text(scheduled_for)}#{job_id}"
    assert job_id_at(pk, sk) == job_id


@given(partitions, partitions)
def test_partitions_of_two_codes_have_two_names(one, other):
    assert (one.name == other.name) == (one == other)


@given(partitions)
def test_no_partition_of_the_systems_is_like_one_of_users(partition):
    is_users = any(fnmatchcase(partition.name, pattern) for pattern in ("job", "job#*"))
    assert is_users == (partition.code != SYSTEM_CODE)


@given(job_ids, st.integers(0, SYSTEM_CODE))
def test_a_pattern_of_iam_picks_the_ids_of_one_code(job_id, code):
    assert fnmatchcase(job_id, id_pattern(partition_of(job_id).code))
    assert fnmatchcase(job_id, id_pattern(code)) == (code == partition_of(job_id).code)


@given(job_ids, job_ids)
def test_no_job_is_at_the_key_of_another(one, other):
    assert (job_id_at(key_of(one).pk, key_of(other).sk) is None) == (key_of(one).pk != key_of(other).pk)


@pytest.mark.parametrize("sk", ["", "scheduled#x", "-", f"scheduled#2026-11-15T09:30:00.000Z#{'0' * 36}"])
def test_what_is_no_key_is_no_jobs(sk):
    assert job_id_at("job", sk) is None


@given(st.text(max_size=64))
def test_the_code_of_a_name_is_neither_of_the_reserved_ones(name):
    assert NOT_ISOLATED < type_code(name) < SYSTEM_CODE


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


@given(instants, partitions, st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_the_same_origin_always_derives_the_same_id(scheduled_for, partition, origin):
    derived = derive_job_id(scheduled_for, partition, *origin)

    assert derived == derive_job_id(scheduled_for, partition, *origin)
    assert parse_job_id(derived) == derived
    assert (scheduled_for_of(derived), partition_of(derived)) == (scheduled_for, partition)


def test_another_origin_derives_another_id():
    derived = {
        derive_job_id(NINE_THIRTY, HOME, *origin) for origin in (["a"], ["b"], ["a", "b"], ["ab"], ["a", "b", ""])
    }

    assert len(derived) == 5


@given(st.uuids(version=4) | st.uuids(version=1) | st.uuids(version=5))
def test_a_uuid_of_another_version_is_refused(foreign):
    with pytest.raises(InvalidJobIdError, match="not an id that Leasehold made"):
        parse_job_id(str(foreign))


OURS = make_job_id(NINE_THIRTY, JobPartition(0x3FA1, 3), 0xABCDEF)


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
    last = make_job_id(LATEST, JobPartition(SYSTEM_CODE, MAX_SHARDS - 1), (1 << RANDOM_BITS) - 1)

    assert scheduled_for_of(parse_job_id(last)) == LATEST
    with pytest.raises(InvalidJobIdError):
        parse_job_id(str(uuid.UUID(int=uuid.UUID(last).int + (1 << 80))))


@pytest.mark.parametrize("shard", [-1, MAX_SHARDS])
def test_a_shard_beyond_eight_bits_is_refused(shard):
    with pytest.raises(InvalidOptionError, match=f"no such shard: got {shard}"):
        make_job_id(NINE_THIRTY, JobPartition(1, shard), 0)
