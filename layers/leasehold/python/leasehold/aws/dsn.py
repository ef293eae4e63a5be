"""Where the Sentry DSN comes from: Secrets Manager or an SSM parameter, read through a short cache."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from leasehold.domain.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable

# A rotated DSN is in use everywhere within this time.
CACHE_SECONDS = 300.0
# So soon is a first one in use.
MISSING_CACHE_SECONDS = 30.0
_NOT_THERE = frozenset({"ParameterNotFound", "ResourceNotFoundException"})
_DSN = re.compile(r"https?://[^\s:@/]+(:[^\s@/]*)?@[^\s/]+/(\S+/)?\d+")


class StoredDsn:
    """Gives the DSN, or None where no place for it is set or nothing is stored there yet. A place that cannot be read
    is an error; once known, a value is kept through a place's trouble.

    secret: name or ARN of a Secrets Manager secret that holds the DSN, as it is or as `{"dsn": "…"}`.
    parameter: name of an SSM parameter that holds it.
    """

    def __init__(
        self,
        *,
        secret: str | None = None,
        parameter: str | None = None,
        seconds: Callable[[], float] = time.monotonic,
        make_client: Callable[[str], Any] | None = None,
    ) -> None:
        if secret and parameter:
            raise InvalidOptionError((secret, parameter), "the Sentry DSN has two places", "Set one of them.")
        self._secret = secret
        self._parameter = parameter
        self._seconds = seconds
        self._make_client = make_client or _client
        self._known: tuple[float, str | None] | None = None

    def __call__(self) -> str | None:
        place = self._secret or self._parameter
        if not place:
            return None
        now = self._seconds()
        if self._known is None or now - self._known[0] >= (CACHE_SECONDS if self._known[1] else MISSING_CACHE_SECONDS):
            try:
                found = self._read()
            except InvalidOptionError:
                if self._known is None:
                    raise
                found = self._known[1]
            self._known = (now, found)
        return self._known[1]

    def _read(self) -> str | None:
        if self._secret:
            return _read(self._secret, "secretsmanager:GetSecretValue", self._read_secret)
        assert self._parameter is not None
        return _read(self._parameter, "ssm:GetParameter", self._read_parameter)

    def _read_secret(self) -> str:
        answer = self._make_client("secretsmanager").get_secret_value(SecretId=self._secret)
        return str(answer.get("SecretString", ""))

    def _read_parameter(self) -> str:
        answer = self._make_client("ssm").get_parameter(Name=self._parameter, WithDecryption=True)
        return str(answer["Parameter"]["Value"])


def _read(place: str, action: str, read: Callable[[], str]) -> str | None:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return _checked(place, read().strip())
    except (BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in _NOT_THERE:
            return None
        raise InvalidOptionError(
            place, f"the Sentry DSN cannot be read ({error})", f"Create it, and allow this function {action} on it."
        ) from error


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


def _client(service: str) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=2, read_timeout=3)
    return boto3.client(service, config=config)  # type: ignore[call-overload]
