"""Few keys, few values: drawn changes meet each other, and conditions hold about as often as they do not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from leasehold.kernel.table import (
    BY_DATE_INDEX,
    BY_TYPE_INDEX,
    DEAD_LETTERS,
    DUE_INDEX,
    ENDED_INDEX,
    JOBS,
    Above,
    After,
    AnyOf,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    NotAfter,
    OneOf,
    Put,
    Update,
)

PARTITIONS = ("job", "job#1")
TIMES = ("2026-01-01", "2026-01-02", "2026-01-03")
LANES = ("1#0", "2#0")
INDEXES = {JOBS: (None, DUE_INDEX, ENDED_INDEX), DEAD_LETTERS: (BY_DATE_INDEX, BY_TYPE_INDEX)}

keys = st.builds(
    lambda partition, sort: Key(JOBS, (partition, sort)), st.sampled_from(PARTITIONS), st.sampled_from("123")
) | st.builds(lambda each: Key(DEAD_LETTERS, (each,)), st.sampled_from("ab"))

times = st.sampled_from(TIMES)
lanes = st.sampled_from(LANES)
# Equal in Python, and yet three things to DynamoDB.
lookalikes = st.sampled_from([1, True, 0, False, "1"])
lists = st.lists(lookalikes | st.just("x"), max_size=2)
# Sort keys are told apart by their record where it is written: the order of equal ones is nobody's promise.
ATTRIBUTES: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from(["pending", "failed", "completed"]),
    "job_type": st.sampled_from(["report", "sync"]),
    "at": times,
    "count": st.integers(-3, 3),
    "flag": lookalikes,
    "tags": lists,
    "data": st.sampled_from([b"", b"x"]),
    "runs": st.dictionaries(st.sampled_from("ab"), lookalikes | lists, max_size=2),
    "due_lane": lanes,
    "due_key": times,
    "ended_lane": lanes,
    "ended_key": times,
    "open": st.just("open"),
    "open_type": lanes,
    "open_key": times,
}
_SORTS = frozenset({"due_key", "ended_key", "open_key"})
records = st.fixed_dictionaries({}, optional=ATTRIBUTES)

_PLAIN = ("status", "at", "count", "flag", "tags", "job_type", "runs", "data")
_names = st.sampled_from([*_PLAIN, "due_lane"])
_equals = st.sampled_from(_PLAIN).flatmap(lambda name: st.builds(Equals, st.just(name), ATTRIBUTES[name]))
_simple = (
    st.builds(Exists, _names)
    | st.builds(Missing, _names)
    | _equals
    | st.builds(OneOf, st.just("status"), st.lists(ATTRIBUTES["status"], min_size=1, max_size=2).map(tuple))
    | st.builds(OneOf, st.just("flag"), st.lists(lookalikes, min_size=1, max_size=2).map(tuple))
    | st.builds(After, st.just("at"), times)
    | st.builds(NotAfter, st.just("at"), times)
    | st.builds(Above, st.just("count"), st.integers(-2, 2))
)
condition = _simple | st.builds(AnyOf, st.lists(_simple, min_size=1, max_size=3).map(tuple))
conditions = st.lists(condition, max_size=2).map(tuple)


@st.composite
def puts(draw: st.DrawFn, *, only_new: bool = False) -> Put:
    key = draw(keys)
    guards = None if only_new else draw(st.none() | conditions)
    return Put(key=key, record=_placed(key, draw(records)), conditions=guards)


@st.composite
def updates(draw: st.DrawFn) -> Update:
    key = draw(keys)
    sets = _placed(key, draw(records))
    free = [name for name in ATTRIBUTES if name not in sets]
    adds = {"count": draw(st.integers(-2, 2))} if "count" in free and draw(st.booleans()) else {}
    left = [name for name in free if name not in adds]
    removes = frozenset(draw(st.sets(st.sampled_from(left), max_size=3))) if left else frozenset()
    if not (sets or adds or removes):
        sets = {"at": draw(times)}
    return Update(key=key, conditions=draw(conditions), sets=sets, adds=adds, removes=removes)


@st.composite
def changes(draw: st.DrawFn) -> Put | Update | Delete:
    return draw(puts() | updates() | st.builds(Delete, key=keys, conditions=conditions))


def _placed(key: Key, record: dict[str, Any]) -> dict[str, Any]:
    mark = "/".join(key.values)
    return {name: f"{value}#{mark}" if name in _SORTS else value for name, value in record.items()}
