"""What is stored and cannot be read: it is reported, and hides nothing of what can."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


class Unreadable(NamedTuple):
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
            listed.unreadable.append(_unreadable(record, error))
    return listed


def read_one[Item](record: Record, read: Callable[[Record], Item]) -> Item:
    """RecordUnreadableError where it cannot be read."""
    try:
        return read(record)
    except UnknownFormatError:
        raise
    except Exception as error:
        raise RecordUnreadableError(*_unreadable(record, error)) from error


def _unreadable(record: Record, error: Exception) -> Unreadable:
    """
    >>> _unreadable({"PK": "schedule", "SK": "nightly"}, ValueError("no cron"))
    Unreadable(key='schedule nightly', problem='ValueError: no cron')
    """
    key = " ".join(str(record[name]) for name in ("PK", "SK", "id") if name in record)
    return Unreadable(key, f"{type(error).__name__}: {error}"[:_LONGEST_PROBLEM])
