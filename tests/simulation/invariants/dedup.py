"""A dedup record and the job that it points to agree, and no two live jobs share a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.mirror import Mirror

type Ref = tuple[str, str]

# Of these keys' jobs one waits for its burst to end, beside others that were claimed: the key is the next burst's then.
BURST = "burst"


def ref_of(job: dict[str, Any]) -> Ref | None:
    """The key of the dedup record that a job holds."""
    if "dedup_key" not in job:
        return None
    return f"scheduled-job#{job['job_type']}#{job['dedup_key']}", job.get("dedup_window", "-")


class DedupKeys:
    """Remembers which live jobs have which key, so that no step looks at more than what it touched."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._live: dict[Ref, set[tuple[str, str]]] = {}

    def note(self, key: tuple[str, str], job: dict[str, Any]) -> Ref | None:
        ref = ref_of(job)
        if ref is not None:
            holders = self._live.setdefault(ref, set())
            is_over = job["dedup_key"] == BURST or job["status"] in {"completed", "cancelled", "dead_letter"}
            (holders.discard if is_over else holders.add)(key)
        return ref

    def check(self, ref: Ref) -> None:
        live = self._live.get(ref, set())
        hold(len(live) <= 1, "one live job per dedup key", f"{ref} is held by {sorted(live)}")
        record = self._mirror.items.get(ref)
        if record is None:
            hold(not live, "dedup record and job agree", f"{sorted(live)} lost the record of {ref}")
            return
        pointed = (record["job_pk"], record["job_sk"])
        job = self._mirror.items.get(pointed)
        is_there = ref_of(job) == ref if job is not None else pointed in self._mirror.removed
        hold(is_there, "dedup record and job agree", f"{ref} points to {pointed}")
        hold(live <= {pointed}, "dedup record and job agree", f"{ref} points to {pointed}, not to {sorted(live)}")
