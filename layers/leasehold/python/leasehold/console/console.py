"""The console as a function from requests to answers: the guard, then the page's files, the session, and the API."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.admin.others import Auditor
from leasehold.api.local import LocalApi
from leasehold.audit.roots import check_roots
from leasehold.console.exchange import answer, json_answer, problem
from leasehold.console.security import READS
from leasehold.kernel.errors import InvalidInputError, LeaseholdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.local import LocalAnswer
    from leasehold.audit.roots import Archive
    from leasehold.console.exchange import Request
    from leasehold.console.security import Guard
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


class Console:
    """What the page reads and does is the HTTP API itself, in this process, in the name of `services.identity`.

    name: what the page calls this queue, e.g. the stage.
    open_roots: the archive of audit roots in a bucket, which a verification reads too.
    """

    def __init__(
        self, services: Services, guard: Guard, *, name: str, open_roots: Callable[[str], Archive] | None = None
    ) -> None:
        self._guard = guard
        self._name = name
        self._services = services
        self._api = LocalApi(services)
        self._auditor = Auditor(services)
        self._open_roots = open_roots

    def handle(self, request: Request) -> LocalAnswer:
        is_of_api = request.path.startswith("/api/")
        refused = self._guard.refusal(request, is_data=is_of_api or request.path in {VERIFY, SESSION})
        if refused is not None:
            return refused
        if is_of_api:
            return self._api.answer(request.method, request.path, request.query, request.headers, request.body)
        if request.method not in READS:
            return problem(405, "method_not_allowed", "Only what is below /api can be changed.")
        if request.path == VERIFY:
            return self.verified(request.query)
        if request.path == SESSION:
            return json_answer({"name": self._name, **self._actor()})
        # The same for everybody: whoever has no secret sees an empty page.
        return assets().get(request.path) or problem(404, "not_found", "There is nothing at this address.")

    def _actor(self) -> dict[str, str]:
        """Who acts, so that whoever looks at the page sees in whose name its records will be."""
        try:
            return {"actor": self._services.identity.actor()}
        except LeaseholdError as error:
            return {"actor_error": str(error)}

    def verified(self, query: str) -> LocalAnswer:
        """One trail or all of them, and the daily roots where some are kept and can be read."""
        target = parse_qs(query).get("target", [""])[0] or None
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
        flaws = [f"{flaw.target}: {flaw.problem}" for flaw in check_roots(kept, self._services)]
        return {"from": kept.place, "kept": len(kept.roots), "flaws": flaws}


@cache
def assets() -> dict[str, LocalAnswer]:
    """The files of the page by path; `/` is the page itself.

    All are known before the first request: a path is looked up, never opened.
    """
    root = Path(__file__).parent / "static"
    found = {
        f"/{each.relative_to(root).as_posix()}": answer(each.read_bytes(), _TYPES[each.suffix])
        for each in root.rglob("*")
        if each.suffix in _TYPES
    }
    found["/"] = found.pop("/index.html")
    return found
