"""Whether an IP address belongs to the public internet: webhooks go nowhere else."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

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
    return _refusal(address)


def _refusal(address: IPv4Address | IPv6Address) -> str | None:
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
