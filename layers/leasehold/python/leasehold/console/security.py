"""Who may talk to the console: the browser that opened its address, from the console's own page, and nobody else.

Every site that the operator has open can send requests to localhost. So a request needs, in this order:

- a Host of ours: a name that somebody else's DNS points to 127.0.0.1 is refused;
- the session's cookie, which only the address that the command printed gives, and which no other site sends along;
- no foreign origin; and to change something our own Origin and a secret that only our page can read.
"""

from __future__ import annotations

import secrets
from dataclasses import field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from leasehold.console.exchange import Answer, problem
from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from leasehold.console.exchange import Request

READS = frozenset({"GET", "HEAD"})
CHANGES = frozenset({"POST", "PATCH", "DELETE"})
CSRF_HEADER = "x-leasehold-console"
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

_LOCKED = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Leasehold console</title>
<h1>Locked</h1><p>Open the address that <code>leasehold console</code> printed: it holds the key to this session.</p>
"""
# A page of ours that leads on: a redirect would go without the strict cookie where a link of another site led here.
_ADMITTED = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Leasehold console</title>
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Go on to the console</a></p>
"""
_HTML = "text/html; charset=utf-8"


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One session: it ends with the process."""

    port: int
    token: str = field(default_factory=_secret, repr=False)
    csrf: str = field(default_factory=_secret, repr=False)
    _cookie: str = field(default_factory=_secret, repr=False)

    @property
    def cookie_name(self) -> str:
        # Cookies do not tell ports apart: two consoles must not take each other's.
        return f"leasehold-console-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})

    def admission(self, request: Request) -> Answer | None:
        """The cookie in exchange for the token that the printed address carries; None if this is no such request."""
        if request.method != "GET" or request.path != "/":
            return None
        given = parse_qs(request.query).get("token", [""])[0]
        if not _same(given, self.token):
            return None
        cookie = f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
        return Answer(status=200, body=_ADMITTED, content_type=_HTML, headers={"Set-Cookie": cookie})

    def refusal_of_host(self, request: Request) -> Answer | None:
        if request.headers.get("host", "") in self.hosts:
            return None
        return problem(421, "foreign_host", f"The console answers on {' and '.join(sorted(self.hosts))} only.")

    def refusal(self, request: Request) -> Answer | None:
        """Why this request is not let in; None if it is."""
        if request.method not in READS | CHANGES:
            return problem(405, "method_not_allowed", "Use GET, POST, PATCH or DELETE.")
        if not _same(self._cookie_of(request), self._cookie):
            return self._locked(request)
        if self._is_foreign(request):
            return problem(403, "foreign_origin", "This request comes from another site.")
        if request.method in CHANGES:
            return self._refusal_of_change(request)
        return None

    def _refusal_of_change(self, request: Request) -> Answer | None:
        if "origin" not in request.headers:
            return problem(403, "foreign_origin", "A change must say which page it comes from.")
        if not _same(request.headers.get(CSRF_HEADER, ""), self.csrf):
            return problem(403, "csrf_token_missing", "A change needs the secret of the console's own page: reload it.")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return problem(415, "not_json", "Send application/json.")
        return None

    def _is_foreign(self, request: Request) -> bool:
        origin = request.headers.get("origin")
        is_other_origin = origin is not None and origin != f"http://{request.headers['host']}"
        # Browsers say where a request comes from, and scripts cannot. "none" is the address bar.
        return is_other_origin or request.headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}

    def _cookie_of(self, request: Request) -> str:
        try:
            found = SimpleCookie(request.headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def _locked(self, request: Request) -> Answer:
        if request.path.startswith("/api/"):
            return problem(401, "locked", "Open the address that `leasehold console` printed.")
        return Answer(status=401, body=_LOCKED, content_type=_HTML)


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())
