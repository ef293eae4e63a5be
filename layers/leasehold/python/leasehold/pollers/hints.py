"""Hints: what a stream has shown, before the index may show it. They are claimed by the same condition as others."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import partition_of
from leasehold.kernel.other_entries import FreedScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.poll import Hint, Poll
    from leasehold.kernel.registry import Switches


def take_hints(hints: Sequence[Hint], switches: Switches, poll: Poll) -> bool:
    """Claim them; False if nothing else may be due because of them."""
    now = poll.services.clock.now()
    scopes = [hint for hint in hints if not isinstance(hint, DueJob)]
    if scopes:
        features.gate_of(poll).take(scopes, switches)
    if switches.halt is not None:
        return False
    due = [hint for hint in hints if isinstance(hint, DueJob) and hint.due.at <= now]
    due = sorted(poll.fresh(due), key=lambda hint: partition_of(hint.job_id).shard)
    for shard, shown in groupby(due, key=lambda hint: partition_of(hint.job_id).shard):
        entries = list(shown)
        if poll.services.window is not None:
            entries = poll.services.window.admit(entries, switches, poll)
        # Without the lock they are claimed all the same: the index of whoever has it may not show them yet.
        if poll.is_backlog(entries) and features.share(poll).take(shard):
            poll.claims.at_once.work_off(entries, switches, stop_at_lost_race=False)
            continue
        for entry in entries:
            if not poll.may_go_on():
                break
            poll.claims.handle_once(entry, switches)
    poll.claims.after_page(is_last=True)
    # A freed seat makes nothing else due.
    return any(not isinstance(hint, FreedScope) for hint in hints) or features.gate_of(poll).is_open
