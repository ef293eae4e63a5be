"""The limits that were ever deployed: whoever reads the registry, before or after a change, keeps to one of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import timedelta

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry

type Job = dict[str, Any]

EVERYTHING = "all"


class Limits:
    """A deployment changes how many there may be, never whether there is a limit."""

    def __init__(self) -> None:
        self.types: dict[str, JobType] = {}
        self._most: Counter[str] = Counter()

    def expect(self, registry: Registry) -> None:
        self.types.update(registry.types)
        self._note(EVERYTHING, registry.concurrency)
        for name, seats in registry.resources.items():
            self._note(f"resource:{name}", seats)
        for name, each in registry.types.items():
            self._note(f"type:{name}", each.concurrency)
            self._note(f"key:{name}:", each.concurrency_per_key)
            self._note(f"rate:{name}", each.rate.count if each.rate else None)
            self._note(f"rate:{name}:", each.rate_per_key.count if each.rate_per_key else None)

    def most(self, scope: str) -> int:
        """The largest limit that it ever had; 0 if there is none, and so nothing to take."""
        kind, _, name = scope.partition(":")
        # All keys of a type have the same limit.
        job_type, is_of_key, _ = name.partition(":")
        return self._most[f"{kind}:{job_type}:" if is_of_key else scope]

    def shared_by(self, job: Job) -> list[str]:
        """The scopes in which it counts for as long as it runs."""
        name, key = job["job_type"], job.get("concurrency_key")
        scopes = [EVERYTHING, f"type:{name}", *(f"resource:{each}" for each in self.types[name].resources)]
        if key is not None:
            scopes.append(f"key:{name}:{key}")
        return [scope for scope in scopes if self.most(scope)]

    def rates_of(self, job: Job) -> list[tuple[str, timedelta]]:
        """The scopes in which its start counts, each with for how long."""
        name, key = job["job_type"], job.get("concurrency_key")
        settings, rates = self.types[name], []
        if settings.rate is not None:
            rates.append((f"rate:{name}", settings.rate.per))
        if settings.rate_per_key is not None and key is not None:
            rates.append((f"rate:{name}:{key}", settings.rate_per_key.per))
        return rates

    def _note(self, scope: str, seats: int | None) -> None:
        self._most[scope] = max(self._most[scope], seats or 0)
