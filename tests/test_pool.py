"""Calls side by side: how many at once, in which order they answer, and what becomes of those that fail."""

from __future__ import annotations

import threading

import pytest

from leasehold.pool import InTurn, Threads, ahead, threads_for


def test_threads_are_opened_when_first_needed_and_no_more_than_asked_for() -> None:
    before = threading.active_count()
    pool = Threads(3)
    names: set[str] = set()
    may_end = threading.Event()

    def call() -> None:
        names.add(threading.current_thread().name)
        may_end.wait(5)

    assert threading.active_count() == before
    pending = [pool.submit(call) for _ in range(10)]
    assert threading.active_count() - before <= 3
    may_end.set()
    for each in pending:
        each.result()

    assert 1 <= len(names) <= 3


def test_an_idle_thread_is_used_again() -> None:
    before = threading.active_count()
    pool = Threads(8)
    for _ in range(20):
        pool.submit(lambda: None).result()

    assert threading.active_count() - before <= 2


def test_what_a_call_raised_is_raised_where_its_answer_is_asked_for() -> None:
    for pool in (InTurn(), Threads(2)):
        pending = pool.submit(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            pending.result()


def test_answers_come_in_order_whoever_is_quicker() -> None:
    first_may_end = threading.Event()

    def call(number: int) -> int:
        if number == 0:
            first_may_end.wait(5)
        elif number == 2:
            first_may_end.set()
        return number * 10

    assert list(ahead(Threads(3), call, range(6))) == [(number, number * 10) for number in range(6)]


def test_without_a_pool_a_call_is_made_when_its_turn_has_come() -> None:
    made: list[int] = []
    for number, _ in ahead(InTurn(), made.append, range(3)):
        assert made == list(range(number + 1))


def test_a_function_of_512_megabytes_keeps_eight_threads_busy_and_none_more_than_sixteen() -> None:
    assert [threads_for(memory).size for memory in (128, 256, 512, 1769, 10240)] == [2, 4, 8, 16, 16]
