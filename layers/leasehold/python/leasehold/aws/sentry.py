"""Reports to Sentry. The SDK is imported with the first report, so that only who reports pays for it."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from leasehold.aws.stored_text import StoredText
from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from sentry_sdk import Client

    from leasehold.aws.sentry_event import KnownOutcomeTransport
    from leasehold.operate.failure_report import FailureReport

# After Sentry was not reached, nobody waits for it again so soon.
REST_SECONDS = 10.0
_DSN = re.compile(r"https?://[^\s:@/]+(:[^\s@/]*)?@[^\s/]+/(\S+/)?\d+")


@dataclass()
class SentryReporter:
    """Sends one event at a time and knows whether Sentry took it.

    `dsn` is asked before each report, so that a changed one counts; None means that there is no Sentry. Only what a
    FailureReport holds is sent: no local variables, no environment, no host, and nothing of other libraries, since
    no integration is active and no scope of the process is applied. Within an allowed payload field, values under
    names like `password` or `token` are filtered.
    """

    dsn: Callable[[], str | None]
    environment: str
    release: str = "leasehold"
    seconds: Callable[[], float] = time.monotonic
    _client: tuple[str, Client] | None = field(default=None, init=False, repr=False)
    _rests_until: float = field(default=float("-inf"), init=False)
    # The transport says that an event was dropped, not which one.
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def is_on(self) -> bool:
        return bool(self.dsn())

    def report(self, report: FailureReport) -> bool:
        """Send a report; True only if Sentry answered that it has it."""
        dsn = self.dsn()
        if not dsn:
            return False
        with self._lock:
            if self.seconds() < self._rests_until:
                return False
            # Nothing fails at a cold start: it need not pay for this.
            from leasehold.aws.sentry_event import event_of

            dropped = self._send(self._connected(dsn), event_of(report))
            # What Sentry refuses (status 4xx) is this event; else the next one would be dropped just the same. A rate
            # limit is kept by the transport itself.
            if dropped is not None and not dropped.startswith("status_4"):
                self._rests_until = self.seconds() + REST_SECONDS
        return dropped is None

    def _connected(self, dsn: str) -> Client:
        if self._client is not None and self._client[0] == dsn:
            return self._client[1]
        from sentry_sdk import Client
        from sentry_sdk.scrubber import EventScrubber

        from leasehold.aws.sentry_event import KnownOutcomeTransport

        # Personal data is off unless asked for; naming that option, too, has become a warning in the SDK.
        client = Client(
            dsn=dsn,
            transport=KnownOutcomeTransport,
            default_integrations=False,
            auto_enabling_integrations=False,
            include_local_variables=False,
            event_scrubber=EventScrubber(recursive=True),
            auto_session_tracking=False,
            enable_backpressure_handling=False,
            send_client_reports=False,
            spotlight=False,
            # Unset, the SDK would look for these in the environment, in git and in the host's name.
            environment=self.environment,
            release=self.release,
            server_name="",
        )
        self._client = (dsn, client)
        self._rests_until = float("-inf")
        return client

    def _send(self, client: Client, event: dict[str, Any]) -> str | None:
        """Send an event; returns why it was dropped, None if it was not."""
        scrubber = cast("Any", client.options["event_scrubber"])
        for value in event["contexts"].get("payload", {}).values():
            # Each does nothing unless it is given what its name says.
            scrubber.scrub_dict(value)
            scrubber.scrub_list(value)
        transport = cast("KnownOutcomeTransport", client.transport)
        transport.dropped = "not sent"
        client.capture_event(cast("Any", event))
        return transport.dropped


def stored_dsn(**places: Any) -> StoredText[str]:
    """secret: holds the DSN, as it is or as `{"dsn": "…"}`; or parameter: likewise."""
    return StoredText("the Sentry DSN", _checked, **places)


def _checked(place: str, text: str) -> str:
    if text.startswith("{"):
        try:
            text = str(json.loads(text).get("dsn", ""))
        except ValueError:
            text = ""
    if not _DSN.fullmatch(text):
        # What stands there instead may be another secret: it is not shown.
        raise InvalidOptionError(
            place, "what is stored there is no Sentry DSN", "Store text like https://<key>@<host>/<project>."
        )
    return text
