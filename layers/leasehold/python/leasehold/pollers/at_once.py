"""At once: the plain jobs of a page are claimed by one request, for a poller that is alone with a backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.claim import UNDER_WAY
from leasehold.kernel.jobs import DueJob
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.claim import Claim, Claims
    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.registry import Switches

# So many leases a poller leaves to be reaped that dies before it handed them over.
_AT_ONCE = 25
# One job by itself is claimed as well by the write that knows every case.
_FEWEST_AT_ONCE = 2


class AtOnce:
    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._poll = claims.poll
        self._jobs = claims.services.store.jobs
        # What a batch has claimed, and what it left open until it is decided.
        self._taken: set[str] = set()
        self._undecided: dict[str, Claim] = {}
        # Types whose jobs a batch refuses for what they are, e.g. because they must start by a certain time.
        self._not_plain: set[str] = set()

    def work_off(self, entries: Sequence[DueEntry], switches: Switches, *, stop_at_lost_race: bool = True) -> bool:
        """Handle these; False if another poller was quicker with one of them."""
        report = self._poll.report
        lost_before = report.lost_races
        for begin in range(0, len(entries), _AT_ONCE):
            if (stop_at_lost_race and report.lost_races > lost_before) or not self._poll.may_go_on():
                break
            stride = entries[begin : begin + _AT_ONCE]
            # What owes something first is not to be claimed yet.
            self.take([each for each in stride if isinstance(each, DueJob) and each.due.afterwards is None], switches)
            stride = self._settle(stride)
            for position, entry in enumerate(stride):
                has_lost = stop_at_lost_race and report.lost_races > lost_before
                # What nobody decided yet will be read again.
                if has_lost and not (isinstance(entry, DueJob) and entry.due_key in self._taken):
                    continue
                if position and not self._poll.may_go_on():
                    break
                self._claims.handle_once(entry, switches)
            self.end_page()
        return report.lost_races == lost_before

    def _settle(self, entries: Sequence[DueEntry]) -> Sequence[DueEntry]:
        """Settle what owes something, if there are several; returns what is left to do."""
        owing = [each for each in entries if isinstance(each, DueJob) and each.owes]
        if len(owing) < _FEWEST_AT_ONCE:
            return entries
        from leasehold.pollers.settle import settle_page

        left = settle_page(owing, self._poll)
        return [*(each for each in entries if each not in owing), *left]

    def take(self, entries: Sequence[DueJob], switches: Switches) -> None:
        """Claim those of the entries that are plain jobs by one request, if there are several, and hand them over.

        Whoever a batch refuses is decided by the claim for one job, with the same token: that is how a batch whose
        answer was lost is recognised, too.
        """
        plain = [
            each for each in entries if each.job_type not in self._not_plain and self._claims.is_plain(each, switches)
        ]
        jobs = self._jobs
        if jobs.refused_batches is not None or len(plain) < _FEWEST_AT_ONCE:
            return
        self._claims.hand_overs.wait(at_most=UNDER_WAY)
        if not self._poll.may_go_on():
            return  # a page that is claimed now would only be put back, and then be claimed twice
        asked = [self._claims.prepare(entry) for entry in plain]
        claimed: list[Claim] = []
        for each, answer in zip(asked, jobs.apply_many([each.write for each in asked]), strict=True):
            if answer is None:
                self._taken.add(each.entry.due_key)
                self._claims.note_claimed(each.handover)
                claimed.append(each)
            else:
                self._undecided[each.entry.due_key] = each
        self._hand_over(claimed)
        if self._jobs.refused_batches is not None:  # what this request has learned
            self._poll.services.telemetry.event(
                Event.BATCH_REFUSED,
                worker_id=self._poll.poller.worker_id,
                reason=self._jobs.refused_batches,
                instead="one by one",
            )

    def _hand_over(self, claimed: Sequence[Claim]) -> None:
        """Begin to hand these over, in order. Once the poll has to end, the rest is put back: others need not wait."""
        for at, each in enumerate(claimed):
            if not self._poll.may_go_on():
                self._put_back([left.handover for left in claimed[at:]])
                break
            self._claims.hand_overs.begin(each)
        self._claims.hand_overs.collect()

    def decides(self, entry: DueJob) -> bool:
        """Whether a batch has claimed it, or asked for it: then it is asked for once more, alone."""
        asked = self._undecided.pop(entry.due_key, None)
        if asked is not None and self._claims.claim(entry, asked):
            self._not_plain.add(entry.job_type)  # a batch had refused it: so it will others of its type
        return asked is not None or entry.due_key in self._taken

    def end_page(self) -> None:
        """Put back what may be ours by a batch whose answer was lost, and was not decided before the poll ended."""
        undecided = [each.handover for each in self._undecided.values()]
        self._taken.clear()
        self._undecided.clear()
        for handover in self._put_back(undecided):
            self._claims.note_claimed(handover)

    def _put_back(self, handovers: Sequence[Handover]) -> list[Handover]:
        """Release what was claimed and not delivered, due at once; returns what was still ours."""
        if not handovers:  # nearly always, and then a cold poller imports nothing for it
            return []
        from leasehold.kernel.release import release

        services, reason = self._poll.services, f"not handed over: {self._poll.report.stopped_by}"
        until, pool = services.clock.now(), self._poll.poller.pool or services.pool
        pending = [
            (each, pool.submit(lambda each=each: release(each, reason, services, until=until)))  # type: ignore[misc]
            for each in handovers
        ]
        back = [each for each, answer in pending if answer.result()]
        self._poll.report.released += len(back)
        return back
