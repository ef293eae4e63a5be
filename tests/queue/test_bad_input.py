"""Bad input gets a named error that says value, reason and fix, and never reaches a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from leasehold.bulk.enqueue_many import Rejected
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import InvalidInputError, InvalidOptionError
from tests.queue.bad_calls import CASES, Bad
from tests.worlds import read_only_dynamo_queue, spied_queue

if TYPE_CHECKING:
    from leasehold.kernel.enqueue import OnDuplicate

each_case = pytest.mark.parametrize("bad", CASES.values(), ids=CASES.keys())


def assert_tells(error: object, bad: Bad) -> None:
    assert type(error) is bad.error
    message = str(error)
    assert f"got {bad.shows}" in message
    assert bad.reason in message
    assert bad.fix in message.partition(": got ")[2]


@each_case
def test_enqueue_refuses_it_without_a_write(bad):
    queue, table = spied_queue()

    with pytest.raises(InvalidInputError) as refused:
        queue.enqueue(bad.job, bad.payload, **bad.options)

    assert_tells(refused.value, bad)
    assert table.writes == []


@each_case
def test_enqueue_many_rejects_it_alone(bad):
    queue, table = spied_queue()
    good = NewJob(job="user_sync", payload={"n": 1})

    first, rejected, last = queue.enqueue_many([good, NewJob(job=bad.job, payload=bad.payload, **bad.options), good])

    assert isinstance(rejected, Rejected)
    assert_tells(rejected.error, bad)
    assert len(table.writes) == 2
    assert not isinstance(first, Rejected)
    assert not isinstance(last, Rejected)


@each_case
def test_transact_items_refuses_it_before_anything_could_be_written(bad):
    with pytest.raises(InvalidInputError) as refused:
        read_only_dynamo_queue().transact_items(bad.job, bad.payload, **bad.options)

    assert_tells(refused.value, bad)


def test_the_clients_of_these_tests_accept_good_input():
    queue, table = spied_queue()
    queue.enqueue("user_sync", {"n": 1})
    assert len(table.writes) == 1

    (item,) = read_only_dynamo_queue().transact_items("user_sync", {"n": 1}).items
    assert item["Put"]["Item"]["payload"] == {"S": '{"n":1}'}
    assert item["Put"]["ConditionExpression"] == "attribute_not_exists(#0)"


@pytest.mark.parametrize("call", ["enqueue", "enqueue_many"])
def test_an_unknown_answer_to_duplicates_is_refused_without_a_write(call):
    queue, table = spied_queue()
    first = NewJob(job="user_sync") if call == "enqueue_many" else "user_sync"

    with pytest.raises(InvalidOptionError, match=r"got 'ignore'\. Use one of return_existing, raise, replace"):
        getattr(queue, call)([first] if call == "enqueue_many" else first, on_duplicate=cast("OnDuplicate", "ignore"))

    assert table.writes == []


def test_transact_items_takes_no_answer_to_duplicates():
    with pytest.raises(TypeError, match="on_duplicate"):
        read_only_dynamo_queue().transact_items("user_sync", on_duplicate="raise")  # type: ignore[call-arg]


def test_transact_items_needs_a_table_that_has_transactions_of_its_caller():
    queue, table = spied_queue()

    with pytest.raises(InvalidOptionError, match=r"needs a DynamoDB table: got 'spied'"):
        queue.transact_items("user_sync")
    assert table.writes == []
