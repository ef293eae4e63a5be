"""The table port: pages in sort order, from the table and from its sparse indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.table import (
    BY_TYPE_INDEX,
    DEAD_LETTERS,
    DUE_INDEX,
    JOBS,
    After,
    Equals,
    Exists,
    Key,
    OneOf,
    Put,
    Update,
)

if TYPE_CHECKING:
    from leasehold.kernel.table import Index, Record, Table

NAMES = ["a", "b", "c", "d", "e"]


def fill(table: Table) -> None:
    """Five records whose order in the due index is the reverse of their order in the table, and one in no index."""
    for position, name in enumerate(NAMES):
        due_key = f"t{9 - position}"
        record: Record = {"due_lane": "lane", "due_key": due_key, "job_type": name, "status": "pending", "secret": 1}
        table.write(Put(key=Key(JOBS, ("things", name)), record=record))
    table.write(Put(key=Key(JOBS, ("things", "f")), record={"job_type": "f"}))
    table.write(Put(key=Key(JOBS, ("others", "a")), record={"due_lane": "elsewhere", "due_key": "t0"}))


def names(records: list[Record]) -> list[object]:
    return [record["SK"] for record in records]


def paged(table: Table, partition: str, index: Index | None, *, newest_first: bool = False) -> list[list[object]]:
    """Everything in a partition, two records a page, each page after the cursor of the one before."""
    pages = []
    cursor: Record | None = None
    while True:
        page = table.query(JOBS, partition, index=index, limit=2, after=cursor, newest_first=newest_first)
        if page.records:
            pages.append(names(page.records))
        cursor = page.cursor
        if cursor is None:
            return pages


def test_a_partition_is_read_in_sort_order(table: Table) -> None:
    fill(table)

    assert names(table.query(JOBS, "things", limit=10).records) == [*NAMES, "f"]
    assert names(table.query(JOBS, "things", limit=10, newest_first=True).records) == ["f", *reversed(NAMES)]
    assert table.query(JOBS, "nowhere", limit=10).records == []


def test_an_index_is_read_in_its_own_order_and_holds_only_records_with_both_keys(table: Table) -> None:
    fill(table)

    assert names(table.query(JOBS, "lane", index=DUE_INDEX, limit=10).records) == list(reversed(NAMES))
    assert names(table.query(JOBS, "lane", index=DUE_INDEX, limit=10, newest_first=True).records) == NAMES


def test_a_read_from_a_table_shows_whole_records_and_one_from_an_index_only_what_it_projects(table: Table) -> None:
    fill(table)

    whole = table.query(JOBS, "things", limit=1).records
    shown = table.query(JOBS, "lane", index=DUE_INDEX, limit=1).records

    key: Record = {"PK": "things", "SK": "a", "due_lane": "lane", "due_key": "t9"}
    assert whole == [{**key, "job_type": "a", "status": "pending", "secret": 1}]
    assert shown == [{**key, "SK": "e", "due_key": "t5", "job_type": "e", "status": "pending"}]


def test_an_index_of_keys_only_shows_only_keys(table: Table) -> None:
    key = Key(DEAD_LETTERS, ("one",))
    table.write(Put(key=key, record={"open_type": "report", "open_key": "t1", "job_type": "report", "secret": 1}))

    page = table.query(DEAD_LETTERS, "report", index=BY_TYPE_INDEX, limit=1)

    assert page.records == [{"id": "one", "open_type": "report", "open_key": "t1"}]


def test_bounds_are_part_of_the_range(table: Table) -> None:
    fill(table)

    assert names(table.query(JOBS, "things", first="b", last="d", limit=10).records) == ["b", "c", "d"]
    assert names(table.query(JOBS, "things", first="d", limit=10).records) == ["d", "e", "f"]
    assert names(table.query(JOBS, "things", last="b", limit=10).records) == ["a", "b"]
    assert names(table.query(JOBS, "things", first="b", last="d", limit=2, newest_first=True).records) == ["d", "c"]
    assert names(table.query(JOBS, "lane", index=DUE_INDEX, last="t6", limit=10).records) == ["e", "d"]
    assert names(table.query(JOBS, "lane", index=DUE_INDEX, first="t8", limit=10).records) == ["b", "a"]


def test_pages_follow_each_other_without_a_gap_or_a_double(table: Table) -> None:
    fill(table)

    assert paged(table, "things", None) == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert paged(table, "things", None, newest_first=True) == [["f", "e"], ["d", "c"], ["b", "a"]]
    assert paged(table, "lane", DUE_INDEX) == [["e", "d"], ["c", "b"], ["a"]]
    assert paged(table, "lane", DUE_INDEX, newest_first=True) == [["a", "b"], ["c", "d"], ["e"]]


def test_a_page_that_is_not_full_is_the_last_one(table: Table) -> None:
    fill(table)

    assert table.query(JOBS, "things", limit=7).cursor is None


def test_equal_sort_keys_of_an_index_are_paged_without_a_gap_or_a_double(table: Table) -> None:
    for name in NAMES:
        table.write(Put(key=Key(JOBS, ("things", name)), record={"due_lane": "lane", "due_key": "same"}))

    pages = paged(table, "lane", DUE_INDEX)

    assert [len(page) for page in pages] == [2, 2, 1]
    assert sorted(str(name) for page in pages for name in page) == NAMES


def test_a_record_leaves_an_index_with_its_keys_and_moves_with_them(table: Table) -> None:
    fill(table)
    table.write(Update(key=Key(JOBS, ("things", "e")), conditions=(), removes=frozenset({"due_lane", "due_key"})))
    table.write(Update(key=Key(JOBS, ("things", "a")), conditions=(), sets={"due_key": "t1"}))
    table.write(Update(key=Key(JOBS, ("things", "b")), conditions=(), sets={"due_lane": "elsewhere"}))

    assert names(table.query(JOBS, "lane", index=DUE_INDEX, limit=10).records) == ["a", "d", "c"]
    assert names(table.query(JOBS, "elsewhere", index=DUE_INDEX, limit=10).records) == ["a", "b"]


def test_entries_of_an_index_are_counted_up_to_a_bound_and_a_limit(table: Table) -> None:
    fill(table)

    assert table.count(JOBS, "lane", index=DUE_INDEX, limit=100) == 5
    assert table.count(JOBS, "lane", index=DUE_INDEX, last="t6", limit=100) == 2
    assert table.count(JOBS, "lane", index=DUE_INDEX, limit=3) == 3
    assert table.count(JOBS, "nowhere", index=DUE_INDEX, limit=3) == 0


def test_a_filter_leaves_records_out_after_they_were_read(table: Table) -> None:
    fill(table)

    page = table.query(JOBS, "things", limit=3, where=(OneOf("job_type", ("c", "d")), Exists("due_key")))
    rest = table.query(JOBS, "things", limit=2, where=(Equals("job_type", "a"),), after=page.cursor, consistent=False)

    assert names(page.records) == ["c"]
    assert rest.records == []
    assert rest.cursor is not None


def test_an_index_is_filtered_by_what_it_projects(table: Table) -> None:
    fill(table)
    wanted = (Equals("status", "pending"), After("job_type", "b"))

    assert names(table.query(JOBS, "lane", index=DUE_INDEX, limit=10, where=wanted).records) == ["e", "d", "c"]
