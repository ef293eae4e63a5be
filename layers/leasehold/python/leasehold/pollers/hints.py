"""Hints: what a stream has shown, before the index may show it. They are claimed by the same condition as others."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import shard_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.page import Hint, Poll
    from leasehold.kernel.registry import Switches


def take_hints(hints: Sequence[Hint], switches: Switches, poll: Poll) -> None:
    now = poll.services.clock.now()
    scopes = [hint for hint in hints if not isinstance(hint, DueJob)]
    if scopes:
        poll.claims.gate.take(scopes, switches)
    if switches.halt is not None:
        return
    due = [hint for hint in hints if isinstance(hint, DueJob) and hint.due.at <= now]
    due = poll.gathered([hint for hint in due if poll.is_trusted(hint, now)], now)
    due.sort(key=lambda hint: shard_of(hint.job_id))
    for shard, shown in groupby(due, key=lambda hint: shard_of(hint.job_id)):
        entries = list(shown)
        if poll.room is not None:
            entries = poll.room.admit(entries, switches)
        # Without the lock they are claimed all the same: the index of whoever has it may not show them yet.
        is_locked = poll.is_backlog(entries) and poll.share().take(shard)
        poll.work_off(entries, switches, is_locked=is_locked, stop_at_lost_race=False)
    poll.after_page(is_last=True)
