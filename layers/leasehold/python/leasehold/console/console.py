"""The console as a function from requests to answers: the guard, then the page's files, the session, and the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.console.assets import assets
from leasehold.console.backend import VERIFY
from leasehold.console.exchange import json_answer, problem
from leasehold.console.security import READS, refusal_of_method
from leasehold.kernel.errors import LeaseholdError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from leasehold.console.exchange import Answer, Backend, Request
    from leasehold.console.security import Guard
    from leasehold.kernel.ports import Identity

SESSION = "/session.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """`name` is what the page calls this queue, e.g. the stage."""

    guard: Guard
    backend: Backend
    identity: Identity
    name: str

    def handle(self, request: Request) -> Answer:
        refused = self.guard.refusal_of_host(request) or refusal_of_method(request)
        if refused is not None:
            return refused
        if request.path.startswith("/api/") or request.path in {VERIFY, SESSION}:
            return self.guard.refusal(request) or self._told(request)
        if request.method not in READS:
            return problem(405, "method_not_allowed", "Only what is below /api can be changed.")
        # The same for everybody: whoever has no secret sees an empty page.
        found = assets().get(request.path)
        return found or problem(404, "not_found", "There is nothing at this address.")

    def _told(self, request: Request) -> Answer:
        if request.path != SESSION:
            return self.backend.handle(request)
        if request.method not in READS:
            return problem(405, "method_not_allowed", "Only what is below /api can be changed.")
        return json_answer({"name": self.name, **self._actor()})

    def _actor(self) -> dict[str, str]:
        """Who acts, so that whoever looks at the page sees in whose name its records will be."""
        try:
            return {"actor": self.identity.actor()}
        except LeaseholdError as error:
            return {"actor_error": str(error)}
