"""What the console's page reads and does: the HTTP API itself, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.admin.others import Auditor
from leasehold.api.local import LocalApi
from leasehold.console.exchange import Answer, json_answer, problem
from leasehold.kernel.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.audit.roots import Archive
    from leasehold.console.exchange import Request
    from leasehold.kernel.services import Services

# Not of the API, which is answered within seconds: what is verified here is read from end to end.
VERIFY = "/audit-check.json"


class ApiBackend:
    """Acts in the name of `parts.identity`."""

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
