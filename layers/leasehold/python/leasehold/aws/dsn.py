"""Where the Sentry DSN comes from: Secrets Manager or an SSM parameter, read through a short cache."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leasehold.aws.stored_text import CACHE_SECONDS, MISSING_CACHE_SECONDS, StoredText
from leasehold.kernel.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CACHE_SECONDS", "MISSING_CACHE_SECONDS", "StoredDsn"]

_DSN = re.compile(r"https?://[^\s:@/]+(:[^\s@/]*)?@[^\s/]+/(\S+/)?\d+")


class StoredDsn(StoredText[str]):
    """secret: holds the DSN, as it is or as `{"dsn": "…"}`; or parameter: likewise."""

    def __init__(
        self,
        *,
        secret: str | None = None,
        parameter: str | None = None,
        **ports: Callable[..., Any],
    ) -> None:
        super().__init__("the Sentry DSN", _checked, secret=secret, parameter=parameter, **ports)


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
