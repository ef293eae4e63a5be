"""A text that is kept in Secrets Manager or in an SSM parameter, read through a short cache."""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import open_client, tries
from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

# One that was replaced is in use everywhere within this time.
CACHE_SECONDS = 300.0
# So soon is a first one in use.
MISSING_CACHE_SECONDS = 30.0
_NOT_THERE = frozenset({"ParameterNotFound", "ResourceNotFoundException"})


@dataclass()
class StoredText[T]:
    """Gives what is stored, or None where no place for it is set or nothing is stored there yet. A place that cannot be
    read is an error; once known, a value is kept through a place's trouble.

    what: names it in errors.
    parse: makes of the place and its text what is wanted, or raises InvalidOptionError without showing it.
    secret: name or ARN of a Secrets Manager secret that holds it.
    parameter: name of an SSM parameter that holds it.
    """

    what: str
    parse: Callable[[str, str], T]
    secret: str | None = None
    parameter: str | None = None
    seconds: Callable[[], float] = time.monotonic
    make_client: Callable[[str], Any] = lambda service: open_client(service, tries(3, read=3))
    _known: tuple[float, T | None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.secret and self.parameter:
            places = (self.secret, self.parameter)
            raise InvalidOptionError(places, f"{self.what} has two places", "Set one of them.")

    def __call__(self) -> T | None:
        place = self.secret or self.parameter
        if not place:
            return None
        now = self.seconds()
        if self._known is None or now - self._known[0] >= (CACHE_SECONDS if self._known[1] else MISSING_CACHE_SECONDS):
            try:
                found = self._read(place)
            except InvalidOptionError:
                if self._known is None:
                    raise
                found = self._known[1]
            self._known = (now, found)
        return self._known[1]

    def _read(self, place: str) -> T | None:
        from botocore.exceptions import BotoCoreError, ClientError

        action = "secretsmanager:GetSecretValue" if self.secret else "ssm:GetParameter"
        try:
            if self.secret:
                answer = self.make_client("secretsmanager").get_secret_value(SecretId=self.secret)
                text = str(answer.get("SecretString", ""))
            else:
                answer = self.make_client("ssm").get_parameter(Name=self.parameter, WithDecryption=True)
                text = str(answer["Parameter"]["Value"])
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and error.response["Error"]["Code"] in _NOT_THERE:
                return None
            raise InvalidOptionError(
                place, f"{self.what} cannot be read ({error})", f"Create it, and allow this function {action} on it."
            ) from error
        return self.parse(place, text.strip())
