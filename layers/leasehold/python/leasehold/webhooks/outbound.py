"""Post to an address that somebody else chose, without being led inside: looked up once, checked, and connected to."""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import field
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidInputError, LeaseholdError
from leasehold.lean import dataclass
from leasehold.webhooks.address import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_MOST_ADDRESSES = 3
_MOST_BYTES_READ = 4096


def addresses_of(host: str, port: int) -> Sequence[str]:
    """Where a name leads to, as the system's resolver says now."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def refusal_of(text: str) -> str | None:
    """Why this address may not be connected to; None if it may.

    >>> refusal_of("93.184.215.14"), refusal_of("169.254.169.254")
    (None, 'it is link-local')
    """
    try:
        address = ip_address(text)
    except ValueError:
        return "it is no IP address"  # one with a zone is none, either
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return "it is for one network interface only"
        if any(address in network for network in _HIDING_IPV4):
            return "it is an IPv6 spelling of an IPv4 address"
    claims = {
        "it is unspecified": address.is_unspecified,
        "it is loopback": address.is_loopback,
        "it is link-local": address.is_link_local,
        "it is multicast": address.is_multicast,
        "it is a metadata service": address in _METADATA,
        "it is private": address.is_private,
        "it is reserved": address.is_reserved or any(address in network for network in _NOT_PUBLIC),
        "it is not public": not address.is_global
        or (isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST),
    }
    return next((reason for reason, holds in claims.items() if holds), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound:
    """How far a request may go.

    ports: that may be connected to.
    refusal: why an IP address may not be connected to; None if it may.
    within, connect_within: seconds for all of it, and for a connection to one address.
    """

    ports: Sequence[int] = (443,)
    resolve: Callable[[str, int], Sequence[str]] = addresses_of
    refusal: Callable[[str], str | None] = refusal_of
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    connect_within: float = 5.0
    within: float = 15.0

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer, whatever it is; WebhookFailedError if there is none. Redirects are not followed."""
        try:
            address = Address.of(url)
        except InvalidInputError as error:
            raise WebhookFailedError("refused_address", str(error), is_final=True) from None
        if address.port not in self.ports:
            raise _refused(f"port {address.port} is not one of {', '.join(map(str, self.ports))}")
        if is_odd_host(address.host):
            raise _refused(f"{address.host} is an odd spelling of an IP address")
        exchange = _Exchange(self, address, body, headers)
        exchange.start()
        # Each step has a time limit, and a receiver can still answer a byte at a time: all of it has one, too.
        exchange.join(self.within)
        return exchange.outcome()


class _Exchange(threading.Thread):
    """One request, in a thread that can be left behind: a lookup cannot be interrupted."""

    def __init__(self, outbound: Outbound, address: Address, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(name="webhook", daemon=True)
        self._outbound = outbound
        self._address = address
        self._body = body
        self._headers = headers
        self._outcome: int | WebhookFailedError | None = None
        self._lock = threading.Lock()
        self._is_abandoned = False
        # A second handle on the connection: shutting it down ends whatever the thread waits for.
        self._second_handle: socket.socket | None = None

    def run(self) -> None:
        try:
            self._outcome = self._exchange()
        except WebhookFailedError as error:
            self._outcome = error
        except ssl.SSLError as error:
            self._outcome = WebhookFailedError("tls", f"no secure connection to {self._address.host}: {error}")
        except Exception as error:
            code = "connection" if isinstance(error, OSError | http.client.HTTPException) else "unknown"
            self._outcome = WebhookFailedError(code, f"{self._address.host}: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                if self._second_handle is not None:
                    self._second_handle.close()
                    self._second_handle = None

    def outcome(self) -> int:
        with self._lock:
            if isinstance(self._outcome, WebhookFailedError):
                raise self._outcome
            if self._outcome is not None:
                return self._outcome
            self._is_abandoned = True
            if self._second_handle is not None:
                with suppress(OSError):  # the receiver may have hung up just now
                    self._second_handle.shutdown(socket.SHUT_RDWR)
        raise WebhookFailedError("timeout", f"{self._address.host} took more than {self._outbound.within:g} s")

    def _exchange(self) -> int:
        with self._connect() as plain:
            plain.settimeout(self._outbound.within)
            with self._outbound.tls.wrap_socket(plain, server_hostname=self._address.host) as secure:
                connection = http.client.HTTPSConnection(self._address.host, self._address.port)
                # This very connection, or none: it is never opened again, to wherever the name may lead by then.
                connection.auto_open = 0
                connection.sock = secure
                connection.request("POST", self._address.path, self._body, dict(self._headers))
                answer = connection.getresponse()
                answer.read(_MOST_BYTES_READ)
                answer.close()
                return answer.status

    def _connect(self) -> socket.socket:
        host, port = self._address.host, self._address.port
        failed: OSError | None = None
        for ip in self._checked_addresses()[:_MOST_ADDRESSES]:
            try:
                connected = socket.create_connection((ip, port), self._outbound.connect_within)
            except OSError as error:
                failed = error
                continue
            self._hold(connected)
            return connected
        raise WebhookFailedError("connection", f"{host} cannot be reached: {failed}")

    def _checked_addresses(self) -> Sequence[str]:
        """All that the name leads to, from one lookup; refused altogether if one of them is no public address."""
        host = self._address.host
        try:
            found = self._outbound.resolve(host, self._address.port)
        except (OSError, UnicodeError) as error:
            raise WebhookFailedError("lookup", f"{host} is not known: {error}") from None
        for ip in found:
            reason = self._outbound.refusal(ip)
            if reason is not None:
                raise _refused(f"{host} is at {ip}, and {reason}")
        if not found:
            raise WebhookFailedError("lookup", f"{host} has no address")
        return found

    def _hold(self, connected: socket.socket) -> None:
        with self._lock:
            if self._is_abandoned:
                connected.close()
                raise WebhookFailedError("timeout", "nobody waits for it any more")
            self._second_handle = socket.socket(fileno=os.dup(connected.fileno()))


def _refused(reason: str) -> WebhookFailedError:
    return WebhookFailedError("refused_address", f"this address is not called: {reason}", is_final=True)


# What the standard library's tables call global although it leads back inside, or to another network's IPv4 hosts.
_HIDING_IPV4 = (
    ip_network("::ffff:0:0/96"),  # IPv4-mapped
    ip_network("::ffff:0:0:0/96"),  # IPv4-translated
    ip_network("::/96"),  # IPv4-compatible
    ip_network("64:ff9b::/96"),  # NAT64
    ip_network("64:ff9b:1::/48"),  # NAT64, local use
    ip_network("2001::/32"),  # Teredo
    ip_network("2002::/16"),  # 6to4
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# The metadata services of clouds that do not use link-local addresses for them, and the wire server of one that does.
_METADATA = frozenset({ip_address("100.100.100.200"), ip_address("168.63.129.16"), ip_address("192.0.0.192")})
_NOT_PUBLIC = (
    ip_network("192.88.99.0/24"),  # the anycast relays of 6to4
    ip_network("3fff::/20"),  # documentation (RFC 9637), which the standard library's tables do not know yet
)
_LOOKS_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


def is_odd_host(host: str) -> bool:
    """Whether a host would be read as an IP address by some and as a name by others, like `127.1` or `0x7f.0.0.1`.

    >>> is_odd_host("0177.0.0.1"), is_odd_host("93.184.215.14"), is_odd_host("example.com")
    (True, False, False)
    """
    try:
        ip_address(host)
    except ValueError:
        return _LOOKS_NUMERIC.fullmatch(host.rpartition(".")[2]) is not None
    return False


class WebhookFailedError(LeaseholdError, code="webhook_failed"):
    """A receiver was not told, or did not take it. `code` says how: http_503, timeout, refused_address, …"""

    def __init__(self, code: str, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.code = code
        # Trying again would not change it.
        self.is_final = is_final
