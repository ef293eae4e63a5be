"""The DSN is read where the stacks keep it, rarely, and a place that cannot be read is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError

from leasehold.aws.sentry import stored_dsn
from leasehold.aws.stored_text import CACHE_SECONDS, MISSING_CACHE_SECONDS
from leasehold.kernel.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.aws.stored_text import StoredText

DSN = "https://public@o1.ingest.sentry.io/42"


class Place:
    """Both services, as far as the DSN needs them; `stored` is what they give, or the error that they raise."""

    def __init__(self, stored: str | Exception = DSN) -> None:
        self.stored = stored
        self.reads = 0
        self.now = 0.0

    def dsn(self, **place: Any) -> StoredText[str]:
        return stored_dsn(seconds=lambda: self.now, make_client=lambda _: self, **(place or {"parameter": "/dsn"}))

    def get_parameter(self, **_: object) -> dict[str, Any]:
        return {"Parameter": {"Value": self._read()}}

    def get_secret_value(self, **_: object) -> dict[str, Any]:
        return {"SecretString": self._read()}

    def _read(self) -> str:
        self.reads += 1
        if isinstance(self.stored, Exception):
            raise self.stored
        return self.stored


DENIED = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not yours"}}, "GetParameter")


def test_without_a_place_there_is_no_dsn() -> None:
    assert stored_dsn(secret=None, parameter=None, make_client=lambda _: pytest.fail("asked AWS"))() is None


def test_two_places_are_one_too_many() -> None:
    with pytest.raises(InvalidOptionError, match="two places"):
        stored_dsn(secret="a", parameter="b")


def test_it_is_read_once_in_five_minutes_and_a_new_one_counts_after() -> None:
    place = Place()
    dsn = place.dsn()
    assert {dsn(), dsn()} == {DSN}
    place.stored = rotated = DSN.replace("public", "rotated")

    place.now += CACHE_SECONDS - 1
    assert (dsn(), place.reads) == (DSN, 1)
    place.now += 1
    assert (dsn(), place.reads) == (rotated, 2)


def test_a_place_that_cannot_be_read_is_named_with_what_to_do() -> None:
    with pytest.raises(InvalidOptionError, match=r"AccessDenied.*'/dsn'.*ssm:GetParameter"):
        Place(DENIED).dsn()()


def test_a_known_dsn_outlives_trouble_at_its_place() -> None:
    place = Place()
    dsn = place.dsn()
    dsn()
    place.stored = DENIED
    place.now += CACHE_SECONDS

    assert dsn() == DSN


def test_a_dsn_that_is_stored_later_counts_soon() -> None:
    place = Place(ClientError({"Error": {"Code": "ParameterNotFound", "Message": "none"}}, "GetParameter"))
    dsn = place.dsn()
    assert (dsn(), dsn(), place.reads) == (None, None, 1)
    place.stored = DSN
    place.now += MISSING_CACHE_SECONDS

    assert dsn() == DSN


@pytest.mark.parametrize("stored", [DSN, f"  {DSN}\n", json.dumps({"dsn": DSN})])
def test_a_secret_may_hold_the_dsn_as_it_is_or_as_json(stored: str) -> None:
    assert Place(stored).dsn(secret="sentry")() == DSN


@pytest.mark.parametrize("stored", ["", "hunter2", "{broken", '{"password": "hunter2"}', "https://o1.sentry.io/42"])
def test_what_is_no_dsn_is_refused_without_being_shown(stored: str) -> None:
    with pytest.raises(InvalidOptionError, match="no Sentry DSN") as refused:
        Place(stored).dsn(secret="sentry")()
    assert "hunter2" not in str(refused.value)


@pytest.mark.ministack
@pytest.mark.parametrize("service", ["ssm", "secretsmanager"])
def test_it_is_read_from_a_real_endpoint(
    service: str, ministack_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack_endpoint)
    store: dict[str, Callable[[], StoredText[str]]] = {"ssm": _in_ssm, "secretsmanager": _in_secrets_manager}

    assert store[service]()() == DSN


@pytest.mark.ministack
@pytest.mark.parametrize(
    "stored", [stored_dsn(secret="nowhere"), stored_dsn(parameter="/nowhere")], ids=["secret", "ssm"]
)
def test_where_none_is_stored_yet_there_is_no_dsn(
    stored: StoredText[str], ministack_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack_endpoint)

    assert stored() is None


def _in_ssm() -> StoredText[str]:
    boto3.client("ssm").put_parameter(Name="/leasehold/dsn", Value=DSN, Type="SecureString", Overwrite=True)
    return stored_dsn(parameter="/leasehold/dsn")


def _in_secrets_manager() -> StoredText[str]:
    created = boto3.client("secretsmanager").create_secret(Name="leasehold/dsn", SecretString=json.dumps({"dsn": DSN}))
    return stored_dsn(secret=created["ARN"])
