"""Scenarios of groups: their creation, the ends of their members, their policies, and their cancel."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.groups.create import ABANDON_AFTER
from leasehold.groups.model import GroupBrokenOffError, GroupState
from leasehold.groups.records import Groups
from leasehold.kernel.enqueue import NewJob
from tests.crash.faults import INVOKE
from tests.crash.scenario import Scenario, insistently

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_CALLBACK = NewJob(job="work", payload={"mode": "result"})
_TRANSACTION = "TransactWriteItems"
_INSERTS = "ExecuteTransaction"


def _id(world: World) -> str:
    """Unlike that of any other world: members' ids derive from it, and the ledger of completions is one for all."""
    return f"import-{world.names.jobs}"


def _jobs(count: int, *, failing: int | None = None, job_type: str = "work") -> list[NewJob]:
    return [
        NewJob(
            job=job_type, payload={"mode": "fail" if n == failing else "result"}, max_attempts=1 if n == failing else 3
        )
        for n in range(count)
    ]


@contextmanager
def _in_small_steps() -> Iterator[None]:
    """Members are made, and ended, two at a time: a few of them show what happens between transactions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leasehold.groups.create._MEMBERS_AT_ONCE", 2)
        patch.setattr("leasehold.groups.stop._PAGE", 2)
        yield


def _make(process: Process, count: int = 3, **options: Any) -> None:
    failing, job_type = options.pop("failing", None), options.pop("job_type", "work")
    options = {"callback": _CALLBACK, **options}
    process.queue.groups.create(
        _jobs(count, failing=failing, job_type=job_type), group_id=_id(process.world), **options
    )


def _create(mode: str) -> Any:
    def act(process: Process, _prepared: object) -> object:
        with _in_small_steps():
            _make(process, 5, mode=mode)
            return process.queue.groups.get(_id(process.world)).state

    return act


def _create_again(mode: str) -> Any:
    def again(process: Process, _prepared: object) -> None:
        with _in_small_steps():
            _make(process, 5, mode=mode)

    return again


def _made(**options: Any) -> Any:
    def prepare(world: World) -> None:
        _make(world.elsewhere, **options)

    return prepare


def _first_ended(**options: Any) -> Any:
    """The first member's handler has ended it, and nobody has counted that yet."""

    def prepare(world: World) -> None:
        _make(world.elsewhere, **options)
        world.run(world.claim())

    return prepare


def _half_made(world: World) -> None:
    """Two members of five exist, and nobody goes on."""

    class BrokenOffError(Exception):
        pass

    change_with = Groups.change_with

    def once(groups: Groups, seen: Any, after: Any, changes: Any, *, token: str) -> bool:
        if seen.made:
            raise BrokenOffError
        return change_with(groups, seen, after, changes, token=token)

    with pytest.MonkeyPatch.context() as patch, _in_small_steps():
        patch.setattr(Groups, "change_with", once)
        with pytest.raises(BrokenOffError):
            _make(world.elsewhere, 5)


def _given_up(world: World) -> None:
    _half_made(world)
    world.clock.advance(ABANDON_AFTER)


def _cancelled_with_some_claimed(world: World) -> None:
    _make(world.elsewhere, 4, mode="parallel", job_type="limited")
    world.claim()
    world.elsewhere.queue.groups.cancel(_id(world), reason="wrong file")


def _poll(process: Process, _prepared: object) -> object:
    with _in_small_steps():
        report = process.poller().poll()
    return {name: value for name, value in report.as_fields().items() if name not in {"scanned", "settled"}}


def _cancel(process: Process, _prepared: object) -> object:
    return process.queue.groups.cancel(_id(process.world), reason="wrong file").state


def _ended_as(*wanted: tuple[GroupState, int, int, int, int]) -> Any:
    """The state, and how many members completed, failed, were cancelled and skipped; one of these."""

    def check(_world: World, end: Snapshot, _prepared: object) -> None:
        (group,) = end.groups.values()
        assert (group.state, group.completed, group.failed, group.cancelled, group.skipped) in wanted

    return check


def _whole_or_given_up(_world: World, end: Snapshot, _prepared: object) -> None:
    for group in end.groups.values():
        ended = (group.state, group.completed, group.cancelled)
        assert ended in {(GroupState.COMPLETED, 5, 0), (GroupState.CANCELLED, 0, 5)}
        assert group.abandoned == (group.state is GroupState.CANCELLED)


def _refused_or_running(process: Process, prepared: object) -> None:
    """Who goes on with a creation that was cancelled is told so."""
    try:
        _create_again("sequential")(process, prepared)
    except GroupBrokenOffError:
        return


_COMPLETED = _ended_as((GroupState.COMPLETED, 3, 0, 0, 0))

SCENARIOS = (
    *(
        Scenario(
            name=f"create a {mode} group",
            act=_create(mode),
            again=_create_again(mode),
            calls=(_TRANSACTION, *(_INSERTS,) * 3, _TRANSACTION),
            check=_whole_or_given_up,
        )
        for mode in ("sequential", "parallel")
    ),
    Scenario(
        name="go on with a creation that broke off",
        prepare=_half_made,
        act=_create("sequential"),
        again=_create_again("sequential"),
        calls=(*(_INSERTS,) * 2, _TRANSACTION),
        check=_whole_or_given_up,
    ),
    Scenario(
        name="give up a creation that broke off",
        prepare=_given_up,
        act=_poll,
        calls=(_TRANSACTION,) * 2,
        check=_ended_as((GroupState.CANCELLED, 0, 0, 5, 0)),
    ),
    Scenario(
        name="cancel a group that is being made",
        prepare=_half_made,
        act=_cancel,
        again=_refused_or_running,
        calls=(_TRANSACTION,),
        check=_whole_or_given_up,
    ),
    Scenario(
        name="let the first member of a group in",
        prepare=_made(),
        act=_poll,
        calls=("UpdateItem", INVOKE),
        check=_COMPLETED,
    ),
    Scenario(
        name="let all members of a parallel group in",
        prepare=_made(mode="parallel"),
        act=_poll,
        calls=("UpdateItem", INVOKE) * 3,
        check=_COMPLETED,
    ),
    Scenario(
        name="count a member's end and let the next in",
        prepare=_first_ended(),
        act=_poll,
        calls=(_TRANSACTION, "UpdateItem", INVOKE),
        check=_COMPLETED,
    ),
    Scenario(
        name="count the last end and call back",
        prepare=_first_ended(count=1),
        act=_poll,
        calls=(_TRANSACTION, "UpdateItem", INVOKE),
        check=_ended_as((GroupState.COMPLETED, 1, 0, 0, 0)),
    ),
    Scenario(
        name="stop a group whose first member failed",
        prepare=_first_ended(count=5, failing=0),
        act=_poll,
        calls=(_TRANSACTION,) * 3,
        check=_ended_as((GroupState.FAILED, 0, 1, 4, 0)),
    ),
    Scenario(
        name="skip the rest of a group whose first member failed",
        prepare=_first_ended(count=5, failing=0, on_failure="skip_remaining"),
        act=_poll,
        calls=(_TRANSACTION,) * 3,
        check=_ended_as((GroupState.FAILED, 0, 1, 0, 4)),
    ),
    Scenario(
        name="go on with a group whose first member failed",
        prepare=_first_ended(failing=0, on_failure="continue"),
        act=_poll,
        calls=(_TRANSACTION, "UpdateItem", INVOKE),
        check=_ended_as((GroupState.FAILED, 2, 1, 0, 0)),
    ),
    Scenario(
        name="cancel a group",
        prepare=_made(),
        act=_cancel,
        again=insistently(_cancel),
        calls=(_TRANSACTION,),
        # A cancel that arrives late meets a group of which some members have run.
        check=_ended_as(
            *((GroupState.CANCELLED, ran, 0, 3 - ran, 0) for ran in range(4)), (GroupState.COMPLETED, 3, 0, 0, 0)
        ),
    ),
    Scenario(
        name="cancel the members of a cancelled group",
        prepare=_cancelled_with_some_claimed,
        act=_poll,
        calls=(_TRANSACTION, _TRANSACTION, "UpdateItem"),
        check=_ended_as((GroupState.CANCELLED, 0, 0, 4, 0)),
    ),
)
