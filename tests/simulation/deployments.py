"""What is deployed: job types with short times, so that leases and retries run out within a seed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.batches.model import Batch
from leasehold.circuit_breaker.model import CircuitBreaker
from leasehold.kernel.job_type import JobType
from leasehold.kernel.registry import Registry
from leasehold.kernel.retry import Fixed
from leasehold.kernel.type_options import DELIVERY, OnFull, Retention
from leasehold.limits.model import Rate
from leasehold.webhooks.model import delivery_type

if TYPE_CHECKING:
    from random import Random

    from tests.simulation.plan import Plan

TIMEOUT = timedelta(seconds=8)
WEBHOOKS = "webhooks"
# One for the jobs of all types that need it.
PRESS = "press"
_PAUSE = timedelta(seconds=10)
# Longer than a late copy of a call is on its way: an insert must not come after the removal of what it made.
_SHORT = Retention(completed=timedelta(seconds=60), cancelled=timedelta(seconds=60))
_BREAKER = CircuitBreaker(failure_rate=0.6, min_runs=2, probe_after=_PAUSE, longest_pause=2 * _PAUSE)


def _type(name: str, **settings: object) -> JobType:
    common: dict[str, object] = {
        "name": name,
        "function": name,
        "timeout": TIMEOUT,
        "max_event_age": timedelta(seconds=6),
        "max_attempts": 3,
        "retry": Fixed(timedelta(seconds=4)),
    }
    return JobType(**{**common, **settings})  # type: ignore[arg-type]


TYPES = {
    each.name: each
    for each in (
        _type("plain"),
        _type("limited", concurrency=1),
        _type("keyed", concurrency_per_key=1),
        _type("double", concurrency=2, concurrency_per_key=1),
        _type("triple", concurrency=2, concurrency_per_key=1, rate=Rate(3, timedelta(seconds=10))),
        _type("pressed", concurrency=2, concurrency_per_key=1, resources=(PRESS,)),
        _type("rated", rate=Rate(1, timedelta(seconds=15))),
        _type("paced", rate_per_key=Rate(1, timedelta(seconds=15)), resources=(PRESS,)),
        _type("sharing", resources=(PRESS,)),
        _type("skipping", concurrency=1, on_full=OnFull.SKIP),
        _type("refusing", concurrency=1, on_full=OnFull.CANCEL_NEW),
        _type("beating", lease=timedelta(seconds=15), heartbeat=True, timeout=timedelta(seconds=25)),
        _type("breaking", breaker=_BREAKER),
        _type("batching", batch=Batch(size=4)),
        _type("waiting", batch=Batch(size=3, wait=timedelta(seconds=2)), concurrency=3),
    )
}


def registry_of(plan: Plan) -> Registry:
    types = {name: TYPES[name] for name in ("plain", *plan.types)}
    if plan.removes:
        types = {name: replace(each, retention=_SHORT) for name, each in types.items()}
    return Registry(
        types={**types, DELIVERY: delivery_type(WEBHOOKS)},
        shards=plan.shards,
        concurrency=plan.concurrency,
        resources={PRESS: 1},
    )


def redeployed(registry: Registry, random_source: Random) -> Registry:
    """The same types with other limits, one of them perhaps missing; shards are only ever raised."""
    types = dict(registry.types)
    for name, each in registry.types.items():
        if each.concurrency is not None:
            types[name] = replace(each, concurrency=random_source.choice((1, 2)))
        if each.retry == Fixed(timedelta(seconds=4)) and random_source.random() < 0.5:
            types[name] = replace(types[name], retry=Fixed(timedelta(seconds=2)))
    if random_source.random() < 0.4 and len(types) > 1:
        types.pop(random_source.choice(sorted(registry.types)))
    return replace(registry, types=types, shards=registry.shards + random_source.choice((0, 0, 1)))
