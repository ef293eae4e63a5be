"""Jobs that belong together: `queue.groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.groups.create import create
from leasehold.groups.model import MAX_MEMBERS, GroupMode, InvalidMemberError, OnFailure, parse_group_id
from leasehold.groups.plan import GroupRequest, check_members
from leasehold.groups.records import check_listed
from leasehold.groups.stop import cancel_group, find_group
from leasehold.kernel.enqueue import parse_words, request_of
from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.job import SYSTEM
from leasehold.kernel.type_options import parse_choice, whole_number
from leasehold.kernel.unreadable import readable, report_unreadable
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.groups.create import GroupCreated
    from leasehold.groups.model import Group
    from leasehold.kernel.enqueue import JobRequest, NewJob
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services

    # Named out here: within the class, `list` is a method.
    type _Groups = list[Group]


class Groups:
    """
    >>> made = queue.groups.create(                                            # doctest: +SKIP
    ...     [NewJob(job="extract"), NewJob(job="transform"), NewJob(job="load")],
    ...     callback=NewJob(job="tell_team", payload={"channel": "data"}),
    ...     group_id="import-2026-11-15",
    ... )
    >>> queue.groups.get(made.group_id).completed                              # doctest: +SKIP
    0
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def create(
        self,
        jobs: Iterable[NewJob],
        *,
        mode: GroupMode | str = GroupMode.SEQUENTIAL,
        on_failure: OnFailure | str = OnFailure.STOP,
        callback: NewJob | None = None,
        group_id: str | None = None,
        created_by: str = SYSTEM,
        reason: str | None = None,
    ) -> GroupCreated:
        """Make all jobs, and only then let them run: one after the other (`sequential`), or at once (`parallel`).

        on_failure: what a member that ends as a dead letter means for those that wait. `stop` (default): they are
            cancelled; `skip_remaining`: they complete as skipped; `continue`: nothing. What runs always finishes.
        callback: a job that the group's end makes, exactly once and in whatever state it ends. Its payload gets a
            `group` with group_id, state, total, completed, failed, cancelled and skipped.
        group_id: the same id with the same jobs makes one group, however often it is asked for, and goes on with a
            creation that broke off. One that nobody goes on with is cancelled after 15 minutes.
        reason: where people make groups: it is recorded, with who they are.
        """
        members = [_member(number, job) for number, job in enumerate(jobs)]
        called_back = None if callback is None else request_of(callback)
        self._services.deployment.refuse_if_halted()
        check_members(members)
        request = GroupRequest(
            members=members,
            mode=parse_choice(GroupMode, mode, "mode"),
            on_failure=parse_choice(OnFailure, on_failure, "on_failure"),
            callback=called_back,
            group_id=None if group_id is None else parse_group_id(group_id),
            created_by=parse_words(created_by, "created_by"),
        )
        return create(request, self._services, reason=reason)

    def get(self, group_id: str) -> Group:
        """The group with its counts as they are now; GroupNotFoundError if there is none."""
        return find_group(group_id, self._services)

    def members(self, group_id: str, *, start: int = 0, limit: int = 100) -> MemberPage:
        """Its jobs by their number, from `start` on; the page says where the next one starts.

        >>> page = queue.groups.members("import-2026-11-15")                   # doctest: +SKIP
        >>> [job.status for job in page.jobs], page.next                       # doctest: +SKIP
        """
        whole_number(start, "start", MAX_MEMBERS, least=0)
        whole_number(limit, "limit", _LONGEST_PAGE)
        group = self.get(group_id)
        numbers = range(start, min(start + limit, group.made))
        found, unreadable = self._services.store.listings.look_up([group.member_id(number) for number in numbers])
        report_unreadable(unreadable, self._services)
        jobs = [found[job_id] for number in numbers if (job_id := group.member_id(number)) in found]
        return MemberPage(jobs, numbers.stop if numbers and numbers.stop < group.made else None)

    def cancel(self, group_id: str, *, reason: str = "") -> Group:
        """Cancel the members that wait and ask those that run to stop; the group is `cancelled` when all have ended."""
        return cancel_group(group_id, reason, self._services)

    def list(self, *, limit: int = 100) -> _Groups:
        """The groups that were created last, the newest first."""
        whole_number(limit, "limit", _LONGEST_PAGE)
        check_listed(self._services)
        return readable(self._services.store.groups.newest(limit=limit), self._services)


def _member(number: int, job: NewJob) -> JobRequest:
    try:
        return request_of(job)
    except InvalidInputError as error:
        raise InvalidMemberError(number, error) from error


_LONGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class MemberPage:
    """`next` is the number that the next page starts at; None after the last. Members that have expired are missing."""

    jobs: list[Job]
    next: int | None
