"""Claims at once: the plain jobs of a page by one request, for a poller that is alone with a backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.claim import UNDER_WAY, Claimed, together
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.claim import Claims
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.registry import Switches

# One job by itself is claimed as well by the write that knows every case.
_FEWEST_AT_ONCE = 2


def take_ahead(claims: Claims, entries: Sequence[DueJob], switches: Switches) -> None:
    """Claim those of the entries that are plain jobs by one request, if there are several, and hand them over.

    Whoever a batch refuses is decided by the claim for one job, with the same token: that is how a batch whose
    answer was lost is recognised, too.
    """
    jobs = claims.services.store.jobs
    plain = [entry for entry in entries if entry.job_type not in claims.not_plain and claims.is_plain(entry, switches)]
    if jobs.refused_batches is not None or len(plain) < _FEWEST_AT_ONCE:
        return
    types = claims.services.deployment.registry().types
    claims.handovers.wait(at_most=UNDER_WAY)
    if not claims.may_go_on():
        return  # a page that is claimed now would only be put back, and then be claimed twice
    asked = [claims.prepare(entry, types[entry.job_type]) for entry in plain]
    answers = jobs.apply_many([each.write for each in asked])
    claimed: list[Claimed] = []
    for entry, each, answer in zip(plain, asked, answers, strict=True):
        if answer is None:
            claims.taken.add(entry.due_key)
            claims.note_claimed(each.handover)
            shared = together(entry, types[entry.job_type])
            claimed.append(Claimed(each.handover, each.function, together=shared))
        else:
            claims.undecided[entry.due_key] = each
    claims.handovers.hand_over(claimed, claims.may_go_on)
    refused_for = claims.services.store.jobs.refused_batches  # what this request has learned
    if refused_for is not None:
        claims.services.telemetry.event(
            Event.BATCH_REFUSED, worker_id=claims.worker_id, reason=refused_for, instead="one by one"
        )


def end_page(claims: Claims) -> None:
    """Put back what may be ours by a batch whose answer was lost, and was not decided before the poll ended."""
    undecided = [each.handover for each in claims.undecided.values()]
    claims.taken.clear()
    if not undecided:
        return
    claims.undecided.clear()
    for handover in claims.handovers.put_back(undecided, f"not handed over: {claims.report.stopped_by}"):
        claims.note_claimed(handover)
