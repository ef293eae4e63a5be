"""List groups, and the members of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.group import MAX_MEMBERS
from leasehold.domain.lean import dataclass
from leasehold.engine.cancel_group import find_group
from leasehold.engine.look import readable, report_unreadable

if TYPE_CHECKING:
    from leasehold.domain.group import Group
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts

_LONGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class MemberPage:
    """`next` is the number that the next page starts at; None after the last. Members that have expired are missing."""

    jobs: list[Job]
    next: int | None


def members(group_id: object, parts: Parts, *, start: int, limit: int) -> MemberPage:
    _check(start, "start", 0)
    _check(limit, "limit", 1, _LONGEST_PAGE)
    group = find_group(group_id, parts)
    numbers = range(start, min(start + limit, group.made))
    found, unreadable = parts.store.jobs.look_up([group.member_id(number) for number in numbers])
    report_unreadable(unreadable, parts)
    jobs = [found[job_id] for number in numbers if (job_id := group.member_id(number)) in found]
    return MemberPage(jobs, numbers.stop if numbers and numbers.stop < group.made else None)


def newest(parts: Parts, *, limit: int) -> list[Group]:
    _check(limit, "limit", 1, _LONGEST_PAGE)
    if not parts.deployment.registry().ended_index:
        raise InvalidOptionError(
            "ended_index = false",
            "this deployment has no ended index, from which groups are listed",
            "Deploy with it, or look at a group by its id with get().",
        )
    return readable(parts.store.groups.newest(limit=limit), parts)


def _check(value: object, what: str, least: int, most: int = MAX_MEMBERS) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidOptionError(value, f"{what} is a whole number from {least} to {most}", "Correct it.")
