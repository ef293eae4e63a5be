"""What every use case is built from."""

from __future__ import annotations

from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.kernel.job import SYSTEM
from leasehold.kernel.ports import KnownIdentity, RandomSource, SystemClock, SystemRandomSource
from leasehold.kernel.registry import Deployment
from leasehold.lean import dataclass
from leasehold.pool import InTurn
from leasehold.telemetry import Silence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.direct_runs.run import Caller
    from leasehold.features import Store
    from leasehold.kernel.hooks import Feature
    from leasehold.kernel.ports import Clock, Identity
    from leasehold.operate.failure_report import ErrorReporter
    from leasehold.pollers.window import Window
    from leasehold.pool import Pool
    from leasehold.schedules.trigger import ScheduleMirror
    from leasehold.telemetry import Telemetry


@dataclass(slots=True, kw_only=True)
class Services:
    store: Store
    clock: Clock = field(default_factory=SystemClock)
    random_source: RandomSource = field(default_factory=SystemRandomSource)
    telemetry: Telemetry = field(default_factory=Silence)
    # Whom features reach outside; None for programs that reach nobody there.
    reporter: ErrorReporter | None = None
    mirror: ScheduleMirror | None = None
    caller: Caller | None = None
    # Starts a poller for scopes whose seats were freed, faster than the stream would; DispatchError if that fails.
    waker: Callable[[Sequence[str]], None] | None = None
    # Where calls that do not depend on each other run side by side.
    pool: Pool = field(default_factory=InTurn)
    # Whoever does not say who it is acts as the system; connections of people and programs ask AWS who they are.
    identity: Identity = field(default_factory=lambda: KnownIdentity(SYSTEM))
    # Who joins in where the kernel asks, in the order in which they are asked; all that there are, if nobody is named.
    features: Sequence[Feature] = ()
    deployment: Deployment = field(init=False)
    # Where hand-overs are bounded: what this container has handed over and nobody was seen to start.
    window: Window | None = field(init=False, default=None)
    # When the payloads that stand apart are looked after again, as far as this process knows.
    next_payload_round: datetime | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        from leasehold.features import FEATURES

        self.deployment = Deployment(self.store, self.clock)
        self.features = self.features or FEATURES

    def acting_as(self, identity: Identity) -> Services:
        """The same parts, caches included, in somebody else's name."""
        other = copy(self)
        other.identity = identity
        return other
