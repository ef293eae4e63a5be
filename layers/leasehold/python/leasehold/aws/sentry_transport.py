"""How events get to Sentry: at once, in the caller's thread, and with a known outcome.

The SDK's own transport sends from a background thread, which Lambda freezes with the answer, and drops in silence what
Sentry does not take. Import this only where something is reported: it brings the SDK along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sentry_sdk.transport import HttpTransport

if TYPE_CHECKING:
    from sentry_sdk.envelope import Envelope


class KnownOutcomeTransport(HttpTransport):
    # A Sentry that hangs must not use up the time of the function that reports.
    TIMEOUT = 3

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        # Why the last envelope did not arrive, in the SDK's words: network, status_500, self_rate_limits, …
        self.dropped: str | None = None

    def capture_envelope(self, envelope: Envelope) -> None:
        self.dropped = None
        try:
            self._send_envelope(envelope)
        except Exception as error:
            self.on_dropped_event(f"network: {error}")

    def on_dropped_event(self, reason: str, /) -> None:
        self.dropped = reason

    def _get_pool_options(self) -> dict[str, Any]:
        # The stream and the sweep try again; urllib3's own retries would only multiply the timeout.
        return {**super()._get_pool_options(), "retries": False}
