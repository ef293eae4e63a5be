"""Tracebacks as text, read back into exceptions and frames."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from leasehold.aws.sentry_event import exceptions_of

if TYPE_CHECKING:
    from collections.abc import Callable


def formatted(fail: Callable[[], object]) -> str:
    try:
        fail()
    except BaseException:
        return traceback.format_exc().rstrip()
    raise AssertionError("nothing was raised")


NOTHING: dict[str, object] = {}


def look_up() -> object:
    return NOTHING["order"]


def test_what_python_formats_is_read_back() -> None:
    found = exceptions_of(formatted(look_up))

    assert found is not None
    assert [(each["type"], each["value"]) for each in found] == [("KeyError", "'order'")]
    last = found[0]["stacktrace"]["frames"][-1]
    assert (last["filename"], last["function"]) == ("test_sentry_event.py", "look_up")
    assert last["context_line"] == 'return NOTHING["order"]'


def test_a_cause_comes_before_its_effect() -> None:
    def fail() -> None:
        try:
            look_up()
        except KeyError as error:
            raise RuntimeError("no order\nin two lines") from error

    found = exceptions_of(formatted(fail))

    assert found is not None
    assert [each["type"] for each in found] == ["KeyError", "RuntimeError"]
    assert found[1]["value"] == "no order\nin two lines"


def test_a_traceback_whose_beginning_was_cut_off_keeps_its_end() -> None:
    text = formatted(look_up)

    found = exceptions_of("…" + text[text.index("in formatted") :])

    assert found is not None
    assert [frame["function"] for frame in found[0]["stacktrace"]["frames"]] == ["look_up"]


def test_an_exception_without_a_message_has_an_empty_one() -> None:
    def fail() -> None:
        raise TimeoutError

    found = exceptions_of(formatted(fail))

    assert found is not None
    assert (found[0]["type"], found[0]["value"]) == ("TimeoutError", "")


def test_text_that_is_no_plain_traceback_is_left_as_text() -> None:
    def fail_in_a_group() -> None:
        raise ExceptionGroup("several", [ValueError("one"), ValueError("two")])

    assert exceptions_of("worker lost: the lease expired") is None
    assert exceptions_of("") is None
    assert exceptions_of(formatted(fail_in_a_group)) is None
