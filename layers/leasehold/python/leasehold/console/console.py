"""The console as a function from requests to answers: the guard, then the page's files, the session, and the API."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.admin.others import Auditor
from leasehold.api.local import LocalApi
from leasehold.console.exchange import Answer, json_answer, problem
from leasehold.console.security import READS, refusal_of_method
from leasehold.kernel.errors import InvalidInputError, LeaseholdError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable

    from leasehold.audit.roots import Archive
    from leasehold.console.exchange import Backend, Request
    from leasehold.console.security import Guard
    from leasehold.kernel.ports import Identity
    from leasehold.kernel.services import Services

SESSION = "/session.json"
# Not of the API, which is answered within seconds: what is verified here is read from end to end.
VERIFY = "/audit-check.json"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """`name` is what the page calls this queue, e.g. the stage."""

    guard: Guard
    backend: Backend
    identity: Identity
    name: str

    def handle(self, request: Request) -> Answer:
        is_data = request.path.startswith("/api/") or request.path in {VERIFY, SESSION}
        refused = self.guard.refusal_of_host(request) or refusal_of_method(request)
        refused = refused or (self.guard.refusal(request) if is_data else None)
        if refused is not None:
            return refused
        if is_data and request.path != SESSION:
            return self.backend.handle(request)
        if request.method not in READS:
            return problem(405, "method_not_allowed", "Only what is below /api can be changed.")
        if request.path == SESSION:
            return json_answer({"name": self.name, **self._actor()})
        # The same for everybody: whoever has no secret sees an empty page.
        return assets().get(request.path) or problem(404, "not_found", "There is nothing at this address.")

    def _actor(self) -> dict[str, str]:
        """Who acts, so that whoever looks at the page sees in whose name its records will be."""
        try:
            return {"actor": self.identity.actor()}
        except LeaseholdError as error:
            return {"actor_error": str(error)}


@cache
def assets() -> dict[str, Answer]:
    """The files of the page by path; `/` is the page itself.

    All are known before the first request: a path is looked up, never opened.
    """
    found = dict(_below(files("leasehold.console") / "static", ""))
    found["/"] = found.pop("/index.html")
    return found


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Answer]]:
    found: list[tuple[str, Answer]] = []
    for entry in folder.iterdir():
        path = f"{prefix}/{entry.name}"
        kind = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if entry.is_dir():
            found += _below(entry, path)
        elif kind is not None:
            found.append((path, Answer(status=200, body=entry.read_bytes(), content_type=kind)))
    return found


class ApiBackend:
    """What the page reads and does: the HTTP API itself, in this process, in the name of `services.identity`."""

    def __init__(self, services: Services, open_roots: Callable[[str], Archive] | None = None) -> None:
        self._api = LocalApi(services)
        self._auditor = Auditor(services)
        self._open_roots = open_roots

    def handle(self, request: Request) -> Answer:
        if request.path == VERIFY:
            return self._verified(request)
        made = self._api.answer(request.method, request.path, request.query, request.headers, request.body)
        headers = {name.lower(): str(value) for name, value in made.headers.items()}
        content_type = headers.pop("content-type", "application/json")
        return Answer(status=made.status, body=made.body, content_type=content_type)

    def _verified(self, request: Request) -> Answer:
        """One trail or all of them, and the daily roots where some are kept and can be read."""
        target = parse_qs(request.query).get("target", [""])[0] or None
        checked, flaws = 0, []
        try:
            for _, found in self._auditor.verify(target):
                checked += 1
                flaws += [flaw.problem if target else f"{flaw.target}: {flaw.problem}" for flaw in found]
            document = {"target": target, "checked": checked, "flaws": flaws, "roots": self._checked_roots()}
        except InvalidInputError as error:
            return problem(400, error.code, str(error))
        return json_answer(document)

    def _checked_roots(self) -> dict[str, object] | None:
        bucket = self._auditor.root_bucket()
        if bucket is None or self._open_roots is None:
            return None
        try:
            kept = self._open_roots(bucket).read()
        except (BotoCoreError, ClientError) as error:
            return {"from": f"s3://{bucket}", "unreadable": str(error)}
        flaws = [f"{flaw.target}: {flaw.problem}" for flaw in self._auditor.check_roots(kept)]
        return {"from": kept.place, "kept": len(kept.roots), "flaws": flaws}
