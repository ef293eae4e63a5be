"""A request goes to a public address that was checked, or nowhere: not inside, not elsewhere, not for ever."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.webhooks.outbound import Outbound, WebhookFailedError, refusal_of
from tests.webhook_receiver import HOST, receiving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from http.server import BaseHTTPRequestHandler

    from tests.webhook_receiver import Receiver

BODY = b'{"type":"job.run.completed"}'


@pytest.fixture
def receiver(tmp_path: Any) -> Iterator[Receiver]:
    with receiving(tmp_path) as opened:
        yield opened


class Resolver:
    """Answers each lookup with the next of its answers, and counts them."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.lookups: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def towards(receiver: Receiver, resolve: Resolver | None = None, **options: Any) -> Outbound:
    """Reaches the test's own receiver and nothing else that is not public."""
    return Outbound(
        **{
            "ports": (443, receiver.port),
            "resolve": resolve or Resolver(["127.0.0.1"]),
            "refusal": lambda ip: None if ip == "127.0.0.1" else refusal_of(ip),
            "tls": ssl.create_default_context(cafile=str(receiver.authority)),
            **options,
        }
    )


def test_a_body_is_posted_under_the_name_of_its_host(receiver: Receiver) -> None:
    assert towards(receiver).post(receiver.url, BODY, {"webhook-id": "m1"}) == 204

    (request,) = receiver.requests
    assert (request.path, request.body) == ("/hooks/jobs?team=7", BODY)
    assert request.headers["host"] == f"{HOST}:{receiver.port}"
    assert request.headers["webhook-id"] == "m1"


# Hosts that lead inside, however they are spelled. Each is looked up by the real resolver where it can be, so that what
# is shown is what would happen.
HOSTILE_HOSTS = [
    *("127.0.0.1", "127.1", "127.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "0.1.2.3"),
    *("2130706433", "0177.0.0.1", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "017700000001", "3232235777", "2852039166"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b::808:808]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:4136:e378::]"),
    *("[fe80::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[100::1]", "[4000::1]"),
    *("[3fff::1]", "[3fff:fff:ffff::1]"),
    "localhost",
]


@pytest.mark.parametrize("host", HOSTILE_HOSTS)
def test_a_host_that_leads_inside_is_not_called(host: str) -> None:
    with pytest.raises(WebhookFailedError, match="this address is not called") as failed:
        Outbound().post(f"https://{host}/latest/meta-data", BODY, {})

    assert failed.value.code == "refused_address"
    assert failed.value.is_final


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://ada:secret@example.com/",
        "https://example.com@127.0.0.1/",
        "https://127.0.0.1#@example.com/",
        "https://example.com\\@127.0.0.1/",
        "https://localhost./",
        "https://127.0.0.1./",
        # Names that become digits, dots or dead letters of another host when they are normalised.
        "https://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",
        "https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
        "https://127\u30020\u30020\u30021/",
        "https://\uff4cocalhost/",
        "https://[fe80::1%25eth0]/",
        "https://[::1/",
        "https://%31%32%37.0.0.1/",
        "https://example.com/\r\nhost: inside",
        "https://example.com\n.evil.example/",
        "https:127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "//127.0.0.1/",
        "",
    ],
)
def test_an_address_that_is_not_plainly_one_is_not_called(url: str) -> None:
    with pytest.raises(WebhookFailedError) as failed:
        Outbound(resolve=_never).post(url, BODY, {})

    assert (failed.value.code, failed.value.is_final) == ("refused_address", True)
    assert "secret" not in str(failed.value)


def _never(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host} was looked up")


@pytest.mark.parametrize("port", [1, 22, 25, 80, 444, 3306, 6379, 8080, 8443, 65535])
def test_a_port_that_is_not_allowed_is_not_connected_to(port: int) -> None:
    with pytest.raises(WebhookFailedError, match=f"port {port} is not one of 443"):
        Outbound(resolve=_never).post(f"https://example.com:{port}/", BODY, {})


@pytest.mark.parametrize(
    "answer",
    [
        ["10.0.0.1"],
        ["93.184.215.14", "10.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:10.0.0.1"],
        ["fe80::1%eth0"],
        ["2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::1"],
        ["not an address"],
    ],
)
def test_a_name_that_leads_inside_is_not_called_even_if_it_leads_outside_too(answer: list[str]) -> None:
    with pytest.raises(WebhookFailedError, match="this address is not called"):
        Outbound(resolve=Resolver(answer)).post("https://rebind.example/", BODY, {})


def test_a_name_is_looked_up_once_and_connected_to_where_it_was_checked(receiver: Receiver) -> None:
    """A name server that answers with a public address first, and then with one that leads inside."""
    rebinding = Resolver(["127.0.0.1"], ["169.254.169.254"])

    assert towards(receiver, rebinding).post(receiver.url, BODY, {}) == 204

    assert rebinding.lookups == [HOST]


def test_a_name_that_is_safe_only_at_the_second_look_is_not_called(receiver: Receiver) -> None:
    rebinding = Resolver(["10.0.0.1"], ["127.0.0.1"])

    with pytest.raises(WebhookFailedError, match=r"10\.0\.0\.1, and it is private"):
        towards(receiver, rebinding).post(receiver.url, BODY, {})

    assert receiver.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.answers, receiver.location = [status], f"https://{HOST}:{receiver.port}/elsewhere"

    assert towards(receiver).post(receiver.url, BODY, {}) == status

    assert len(receiver.requests) == 1


def test_the_next_address_of_a_name_is_tried_if_one_cannot_be_connected_to(receiver: Receiver) -> None:
    outbound = towards(receiver, Resolver(["127.0.0.2", "127.0.0.1"]), refusal=lambda _: None)

    assert outbound.post(receiver.url, BODY, {}) == 204


def test_a_certificate_of_another_name_is_not_trusted(tmp_path: Any) -> None:
    with receiving(tmp_path, host="other.example") as impostor:
        outbound = towards(impostor)
        with pytest.raises(WebhookFailedError, match=r"no secure connection to hooks\.example\.com") as failed:
            outbound.post(impostor.url, BODY, {})

    assert (failed.value.code, failed.value.is_final) == ("tls", False)
    assert impostor.requests == []


def test_an_authority_that_nobody_trusts_is_not_trusted(receiver: Receiver) -> None:
    with pytest.raises(WebhookFailedError) as failed:
        towards(receiver, tls=ssl.create_default_context()).post(receiver.url, BODY, {})

    assert failed.value.code == "tls"


def test_a_receiver_that_answers_a_byte_at_a_time_is_left_when_time_is_up(receiver: Receiver) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        try:
            for _ in range(200):
                handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            return  # it hung up

    receiver.instead = drip
    began = time.monotonic()

    with pytest.raises(WebhookFailedError, match=r"took more than 0\.5 s") as failed:
        towards(receiver, within=0.5).post(receiver.url, BODY, {})

    assert failed.value.code == "timeout"
    assert time.monotonic() - began < 5


def test_a_lookup_that_hangs_is_left_when_time_is_up() -> None:
    def hang(host: str, port: int) -> Sequence[str]:
        time.sleep(2)
        return ["93.184.215.14"]

    with pytest.raises(WebhookFailedError, match=r"took more than 0\.2 s"):
        Outbound(resolve=hang, within=0.2).post("https://slow.example/", BODY, {})


def test_of_an_endless_answer_only_the_beginning_is_read(receiver: Receiver) -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 65_536)
        except OSError:
            return  # it hung up

    receiver.instead = flood

    assert towards(receiver, within=5).post(receiver.url, BODY, {}) == 200


def test_a_receiver_that_hangs_up_is_a_failure_that_may_be_tried_again(receiver: Receiver) -> None:
    receiver.instead = lambda handler: handler.connection.close()

    with pytest.raises(WebhookFailedError) as failed:
        towards(receiver).post(receiver.url, BODY, {})

    assert (failed.value.code, failed.value.is_final) == ("connection", False)


def test_a_host_that_is_not_known_may_be_known_later() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    with pytest.raises(WebhookFailedError) as failed:
        Outbound(resolve=unknown).post("https://nowhere.example/", BODY, {})

    assert (failed.value.code, failed.value.is_final) == ("lookup", False)
