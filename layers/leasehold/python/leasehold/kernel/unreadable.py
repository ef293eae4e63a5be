"""What is stored and cannot be read: it is reported, and hides nothing of what can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import RecordUnreadableError, UnknownFormatError
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record


def readable[Item](listed: Listed[Item], services: Services) -> list[Item]:
    """What can be read of a listing; the rest is reported, and hides nothing."""
    report_unreadable(listed.unreadable, services)
    return listed.items


def report_unreadable(unreadable: Sequence[Unreadable], services: Services) -> None:
    for each in unreadable:
        services.telemetry.event(Event.RECORD_UNREADABLE, key=each.key, problem=each.problem)


_LONGEST_PROBLEM = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """`key` is where it stands in its table, for whoever repairs it."""

    key: str
    problem: str


@dataclass(frozen=True, slots=True)
class Listed[Item]:
    items: list[Item]
    unreadable: list[Unreadable]


def read_each[Item](records: Iterable[Record], read: Callable[[Record], Item]) -> Listed[Item]:
    listed: Listed[Item] = Listed([], [])  # Python 3.12 cannot make one in brackets: it has slots
    for record in records:
        try:
            listed.items.append(read(record))
        except Exception as error:  # whatever a reader says of what nobody meant to write
            listed.unreadable.append(Unreadable(key=key_text(record), problem=problem_text(error)))
    return listed


def read_one[Item](record: Record, read: Callable[[Record], Item]) -> Item:
    """RecordUnreadableError where it cannot be read."""
    try:
        return read(record)
    except UnknownFormatError:
        raise
    except Exception as error:
        raise RecordUnreadableError(key_text(record), problem_text(error)) from error


def key_text(record: Record) -> str:
    """
    >>> key_text({"PK": "schedule", "SK": "nightly"}), key_text({"id": "0194"})
    ('schedule nightly', '0194')
    """
    return " ".join(str(record[name]) for name in ("PK", "SK", "id") if name in record)


def problem_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_LONGEST_PROBLEM]
