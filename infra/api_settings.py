"""Settings of the HTTP API, for stages that have one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.settings.api_access import Access

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """access: who has which role. By default requests are signed, and nobody has one.

    rate_limit: requests a second that the gateway lets through, all callers together.
    burst_limit: how many at once beyond that.
    """

    access: Access = field(default_factory=Access)
    rate_limit: int = 25
    burst_limit: int = 50

    def problems(self) -> Iterator[str]:
        if self.rate_limit < 1 or self.burst_limit < 1:
            yield f"api, rate_limit = {self.rate_limit}, burst_limit = {self.burst_limit}: nothing would get through."
        if len(self.access.to_text().encode()) > 2048:
            yield "api, access: the patterns of roles are more than a function's environment holds. Use wildcards."
