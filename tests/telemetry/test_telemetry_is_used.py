"""Every event and metric that the catalogue names is emitted by some line of the library, and no other is."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import leasehold
from leasehold import telemetry
from leasehold.telemetry import METRICS, Event, Metric

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = Path(leasehold.__path__[0])


def calls() -> Iterator[ast.Call]:
    """Every call in the library outside of the catalogue."""
    for source in LIBRARY.rglob("*.py"):
        if source != LIBRARY / "telemetry" / "__init__.py":
            yield from (node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call))


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def emitted_events() -> set[str]:
    """Events that are an argument of some call: `event(...)` itself, or a helper that passes it on."""
    return {
        part.attr
        for call in calls()
        if name_of(call) != "frozenset"
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]
        for part in ast.walk(argument)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "Event"
    }


def emitted_metrics() -> set[str]:
    return {
        call.args[0].id
        for call in calls()
        if name_of(call) == "measure" and call.args and isinstance(call.args[0], ast.Name)
    }


def test_every_event_is_emitted():
    assert emitted_events() >= {event.name for event in Event}


def test_every_metric_is_emitted():
    declared = {name for name, value in vars(telemetry).items() if isinstance(value, Metric)}

    assert emitted_metrics() >= declared


def test_every_metric_is_in_the_catalogue():
    assert set(METRICS) == {value for value in vars(telemetry).values() if isinstance(value, Metric)}


def test_no_event_field_has_a_name_that_the_logging_library_keeps_for_itself():
    reserved = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
    given = {
        keyword.arg
        for call in calls()
        if name_of(call) in {"event", "_tell_end"}
        for keyword in call.keywords
        if keyword.arg is not None
    }

    # `message` is taken out by the adapter and becomes the line's message.
    assert given & reserved <= {"message"}
