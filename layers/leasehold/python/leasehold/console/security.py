"""Who may talk to the console: its own page, opened by the address that the command printed, and nobody else.

Every site that the operator has open can send requests to localhost, and so can every program that serves a page on
another port of it. Cookies do not tell ports apart, so there are none: the secret stands in the fragment of the printed
address, which no browser sends anywhere; the page keeps it in its tab's session storage, which is of one origin, port
included, and sends it in a header that no other site can set. So a request needs, in this order:

- a Host of ours: a name that somebody else's DNS points to 127.0.0.1 is refused;
- for anything but the page's own files, which tell nothing: that header, and no foreign origin;
- to change something, also our own Origin and a JSON body.
"""

from __future__ import annotations

import secrets
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from leasehold.console.exchange import problem
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from leasehold.api.local import LocalAnswer
    from leasehold.console.exchange import Request

READS = frozenset({"GET", "HEAD"})
CHANGES = frozenset({"POST", "PATCH", "DELETE"})
SECRET_HEADER = "x-leasehold-console"
MAX_BODY_BYTES = 1024 * 1024

# Sent with every answer. Trusted Types make the browser refuse any text that is to become markup.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One session: it ends with the process."""

    port: int
    secret: str = field(default_factory=partial(secrets.token_urlsafe, 32), repr=False)

    def refusal(self, request: Request, *, is_data: bool) -> LocalAnswer | None:
        """Why this request is not let in; None if it is."""
        headers, hosts = request.headers, (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        if headers.get("host", "") not in hosts:
            return problem(421, "foreign_host", f"The console answers on {' and '.join(hosts)} only.")
        if request.method not in READS | CHANGES:
            return problem(405, "method_not_allowed", "Use GET, POST, PATCH or DELETE.")
        if not is_data:
            return None
        if not secrets.compare_digest(headers.get(SECRET_HEADER, "").encode(), self.secret.encode()):
            return problem(401, "locked", "Open the address that `leasehold console` printed: it has the key in it.")
        own_origin = f"http://{headers['host']}"
        # Browsers say where a request comes from, and scripts cannot. "none" is the address bar.
        comes_from = headers.get("sec-fetch-site", "none")
        if headers.get("origin", own_origin) != own_origin or comes_from not in {"same-origin", "none"}:
            return problem(403, "foreign_origin", "This request comes from another site.")
        return _refusal_of_change(request) if request.method in CHANGES else None


def _refusal_of_change(request: Request) -> LocalAnswer | None:
    if "origin" not in request.headers:
        return problem(403, "foreign_origin", "A change must say which page it comes from.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return problem(415, "not_json", "Send application/json.")
    return None
