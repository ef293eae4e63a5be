"""The client that Leasehold opens for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.useragent import UserAgentString

from leasehold.kernel.dynamodb.connection import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class Empty:
    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield b"{}"


def test_a_call_says_who_asks_without_putting_botocores_own_text_together(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = connect(
        region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y", endpoint_url="http://127.0.0.1:9"
    )
    agents: list[bytes] = []

    def answer(request: Any, **_: object) -> AWSResponse:
        agents.append(request.headers["User-Agent"])
        return AWSResponse(request.url, 200, HTTPHeaders(), Empty())

    def unwanted(self: UserAgentString) -> list[object]:
        raise AssertionError("the long text is made")

    client.meta.events.register_last("before-send", answer)
    monkeypatch.setattr(UserAgentString, "_build_os_metadata", unwanted)

    client.list_tables()

    assert agents[0].startswith(b"leasehold ")


def test_a_call_is_tried_five_times_and_given_up_after_seconds() -> None:
    asked: list[tuple[Any, Any]] = []

    def opened(name: str, **how: Any) -> Any:
        asked.append((name, how))
        return "client"

    client: Any = connect(open_client=opened, region_name="eu-west-1", a=1)

    assert client == "client"
    ((name, how),) = asked
    config = how.pop("config")
    assert (name, how) == ("dynamodb", {"region_name": "eu-west-1", "a": 1})
    assert config.retries == {"mode": "standard", "total_max_attempts": 5}
    assert (config.connect_timeout, config.read_timeout, config.max_pool_connections) == (2, 5, 16)
    assert (config.tcp_keepalive, config.parameter_validation) == (True, False)
