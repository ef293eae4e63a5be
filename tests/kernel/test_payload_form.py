"""Whatever the form in which a payload is stored, the same text comes back; and no form is taken for another."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import sys
import zlib
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel import keys
from leasehold.kernel.errors import PayloadNotReadError, PayloadUnreadableError, StoreError
from leasehold.kernel.job import Job, job_of, job_record
from leasehold.kernel.keys import JobPartition, Priority, make_job_id
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.offload import Payloads, plan_offload
from leasehold.kernel.payload import MAX_INLINE_BYTES, MAX_PAYLOAD_BYTES, OFFLOADED, encode_payload, size_of
from leasehold.kernel.payload_forms import compact, name_of, text_in
from leasehold.kernel.table import ConditionFailed
from leasehold.kernel.transitions import JobStatus
from leasehold.testing import LeaseholdTest
from tests.sample_payloads import order_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.payload import Form

PACKED_IN_2026 = (
    "OyCPS0gnR!EuXfo;79f;>f?lOOHf#(CSi01mvw<DFGc_TLyJ@ZXYsnvh-v_I%@8%rO=j@H@P9jVwb1h_3KCIl*8=@#-w@@|ngxs8"
    "q@eZJh$Oik03yfZXhyx|JrfZFcuk1_7ZZ>~H<dWhg82S5)U%2G@)Xv>6q7P0TAI^_<gY{giN;C9@OsU!Coq`;I@NgRi%-M&jOEGV"
    "Pf|j76IZ4LN&im->}F<aIJlQ%^F`I}n;Nc5`I?#cM5H70#r<$67>SBl6ieME$jT|^ouezyBW<*RwFh;j^KlxKhL{zFbdESYxKBUJ"
    "9O+n5mIjjM4>bpjag%R<31{0k5uo(cF3R{Bo>?#;m3RfrAAI4FSEOOyRErNhF@9a`GbaV`jr?HvYQehsZEJ4iKD(&gdHX{1y?-?r"
    "WKt9zeiu*eMK<gEUCl@8gp#+3y8qrM!m)wr`eJ}#ieKM&g(upDDtC>?M~^UyK3WkiN@n`Td%@J2&XPqNm7Y~Sl5Jo>G3K7nm{KvP"
    "KW7KqzkmP$"
)
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
SERVICES = LeaseholdTest().services
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
    max_leaves=30,
)
# Short and long, repetitive and not.
payload_texts = st.tuples(values, st.integers(1, 200)).map(lambda pair: encode_payload([pair[0]] * pair[1]))


def _tightly(raw: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 64 * 1024, "pb": 0}]
    return b"L" + lzma.compress(raw, format=lzma.FORMAT_RAW, filters=filters)


def job_with(form: Form) -> Job:
    return Job(
        job_id=make_job_id(NOW, JobPartition(1), 1),
        job_type="user_sync",
        stored_payload=form,
        scheduled_for=NOW,
        status=JobStatus.PENDING,
        priority=Priority.NORMAL,
        max_attempts=5,
        created_at=NOW,
    )


@given(payload_texts)
def test_a_text_survives_its_compact_form_which_is_never_larger(text):
    form = compact(text)

    assert text_in(form) == text
    assert size_of(form) <= len(text.encode())
    assert job_with(form).payload_name is None


@given(payload_texts)
def test_a_job_is_stored_and_read_with_its_payload_wherever_that_stands(text):
    table = MemoryTable()
    offload = plan_offload(job_with(text), SERVICES)
    if offload.item is not None:
        table.write(offload.item)

    stored = job_of({**keys.job(offload.job.job_id).attributes, **job_record(offload.job)})

    assert Payloads(table).read(stored).payload_text == text
    assert Payloads(table).shown(stored).payload_text == text
    assert (offload.item is None) == (stored.payload_name is None) == (size_of(compact(text)) <= MAX_INLINE_BYTES)
    assert size_of(stored.stored_payload) <= MAX_INLINE_BYTES
    assert plan_offload(stored, SERVICES).item is None


@pytest.mark.parametrize("answer", [None, ConditionFailed(None), StoreError("full")])
def test_an_item_that_is_there_already_is_as_good_as_written_and_any_other_refusal_is_raised(answer):
    class Answering(MemoryTable):
        def insert_many(self, puts):
            return [answer for _ in puts]

    text = json.dumps([hashlib.sha256(bytes([n])).hexdigest() for n in range(40)])
    item = plan_offload(job_with(text), SERVICES).item
    assert item is not None
    with pytest.raises(StoreError, match="full") if isinstance(answer, StoreError) else nullcontext():
        Payloads(Answering()).insert(item)


@given(payload_texts, payload_texts)
def test_names_tell_texts_apart(one, other):
    assert (name_of(one) == name_of(other)) == (one == other)


def test_a_payload_that_was_not_read_says_so():
    stored = job_with(OFFLOADED + name_of("x"))

    with pytest.raises(PayloadNotReadError, match="Get the job by its id"):
        _ = stored.payload


def test_a_payload_that_was_packed_tightly_by_an_earlier_version_is_read() -> None:
    """The stream says nothing of how it was packed, so how to unpack it must not change."""
    packed = base64.b85decode(PACKED_IN_2026)

    assert packed.startswith(b"L")
    assert text_in(packed) == encode_payload(
        [{"id": number, "sku": f"A-{number * 7919 % 1000}"} for number in range(120)]
    )


def test_a_python_without_lzma_packs_less_tightly_and_says_what_it_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = encode_payload(order_event(6000))
    tight = compact(text)
    monkeypatch.setitem(sys.modules, "lzma", None)

    loose = compact(text)

    assert isinstance(tight, bytes)
    assert isinstance(loose, bytes)
    assert len(tight) < len(loose) < len(text)
    assert text_in(loose) == text
    with pytest.raises(PayloadUnreadableError, match="built without lzma"):
        text_in(tight)


@pytest.mark.parametrize("form", [b"", b"x", b"L", b"Lx", b"L" * 50, compact("x" * 2000)[:-3]])
def test_damaged_bytes_are_named_so(form: Form) -> None:
    with pytest.raises(PayloadUnreadableError, match="enqueue the job anew"):
        text_in(form)


def test_a_payload_of_the_largest_size_still_comes_back() -> None:
    text = encode_payload("0" * (MAX_PAYLOAD_BYTES - 2))

    assert text_in(compact(text)) == text


@pytest.mark.parametrize("pack", [zlib.compress, _tightly], ids=["zlib", "lzma"])
def test_half_a_payload_is_unreadable(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"".join(b"%d," % n for n in range(9_000)))

    with pytest.raises(PayloadUnreadableError, match="ends in the middle"):
        text_in(packed[: len(packed) // 2])


@pytest.mark.parametrize("pb", [0, 1, 2])
def test_no_other_width_of_positions_packs_a_payload_more_tightly(pb):
    raw = encode_payload(order_event(50_000)).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 64 * 1024, "pb": pb}]

    packed = compact(raw.decode())

    assert isinstance(packed, bytes)
    assert len(packed.removeprefix(b"L")) <= len(lzma.compress(raw, format=lzma.FORMAT_RAW, filters=filters))


@pytest.mark.parametrize(("size", "is_packed_tightly"), [(64 * 1024, True), (64 * 1024 + 1, False)])
def test_what_is_larger_than_64_kilobytes_is_packed_quickly(size: int, is_packed_tightly: bool):
    text = json.dumps(order_event(80_000))[:size]

    form = compact(text)

    assert len(text.encode()) == size
    assert isinstance(form, bytes)
    assert form.startswith(b"L") is is_packed_tightly
    assert text_in(form) == text
