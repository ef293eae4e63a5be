"""Guards that the model can do without, each with the guard that implies it, and whether that holds in the code."""

from __future__ import annotations

_OWNED = ("release", "start", "extend", "complete", "fail", "dead_letter", "snooze", "abort")
_REAPS = ("reap_unstarted", "reap_failed", "reap_dead", "reap_cancelled")

_BY_OWNER = (
    "OWNER_IS_MINE: `locked_by` is there only while a job is in progress. So it is in the code: every transition out "
    "of `in_progress` removes it."
)
_BY_OWNER_AND_EXPIRY = (
    "OWNER_IS_MINE and LEASE_HAS_EXPIRED: while the owner is the same, only `extend` moves the entry, and then the "
    "lease lives again. The code needs it all the same: a reaper whose clock is ahead by more than an extension takes "
    "the extended lease for an expired one, and only the entry that it read refuses it. The model has one clock."
)

REDUNDANT = {
    **{f"{name}_STATUS": _BY_OWNER for name in (*_OWNED, *_REAPS)},
    **{f"{name}_ENTRY_AS_READ": _BY_OWNER_AND_EXPIRY for name in _REAPS},
    "claim_MAY_STILL_START": (
        "start_MAY_STILL_START: what is claimed too late is not started. In the code it saves a hand-over for nothing."
    ),
    "release_NOT_STARTED": (
        "OWNER_IS_MINE: a start puts a nonce in the place of the token. So it is in the code: only a token is released."
    ),
    "reap_unstarted_OWNER_IS_MINE": (
        "ENTRY_AS_READ and NOT_STARTED: another owner comes by `claim`, which moves the entry, or by `start`."
    ),
    "rule_LETTER_IF_ABSENT": (
        "the conditions of `dead_letter` and `reap_dead` on the job: a job dies once, and both are one transaction, in "
        "the code too."
    ),
}
