"""The `[retry]` table: which policy, and its numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.retry import MAX_DELAY, Delays, Exponential, Fixed
from leasehold.settings.values import choice, duration, share

if TYPE_CHECKING:
    from leasehold.domain.retry import RetryPolicy
    from leasehold.settings.section import Section

_DEFAULT = Exponential()
_delay = duration("a retry comes after", most=MAX_DELAY)


def read_retry(retry: Section) -> RetryPolicy:
    policy = retry.read("policy", choice({name: name for name in ("exponential", "fixed", "delays")}), "exponential")
    made: RetryPolicy
    match policy:
        case "fixed":
            made = Fixed(retry.read("delay", _delay, timedelta(seconds=60)))
        case "delays":
            delays = retry.read_each("delays", _delay, required='policy = "delays" lists them')
            made = Delays(delays) if delays else _DEFAULT
        case _:
            base = retry.read("base", _delay, _DEFAULT.base)
            cap = retry.read("cap", _delay, max(_DEFAULT.cap, base))
            jitter = retry.read("jitter", share, _DEFAULT.jitter)
            made = retry.build(lambda: Exponential(base, cap, jitter), _DEFAULT)
    retry.close(f'[retry] with policy = "{policy}"')
    return made
