"""Payloads as jobs have them, of a given size and from a seed, so that every run measures the same bytes.

`order_event` is shaped like the order webhooks of shops: nested money, statuses, nulls, long numbers for ids. zlib
makes a fifth of 16 KB of it. The 129 JSON files of 14 to 19 KB that we found on a development machine (schemas, service
models, caches) have a median of 5.1 and quartiles of 4.5 and 5.9: it is as typical as we can make one.
`dense_event` is the opposite of forgiving: rows of little more than random UUIDs, amounts and times. `noise` is text
that hardly compresses at all.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from leasehold.kernel.payload import encode_payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.payload import Json

KILOBYTE = 1024
_FIRST = [
    "Ada",
    "Grace",
    "Edsger",
    "Barbara",
    "Alan",
    "Katherine",
    "Donald",
    "Margaret",
    "Ken",
    "Frances",
    "John",
    "Radia",
    "Leslie",
    "Hedy",
    "Tim",
    "Joan",
]
_LAST = [
    "Lovelace",
    "Hopper",
    "Dijkstra",
    "Liskov",
    "Turing",
    "Johnson",
    "Knuth",
    "Hamilton",
    "Thompson",
    "Allen",
    "Backus",
    "Perlman",
    "Lamport",
]
_STREETS = [
    "Park",
    "Mill",
    "Station",
    "Church",
    "Garden",
    "Bridge",
    "Harbour",
    "Meadow",
    "School",
    "Castle",
    "Market",
    "Forest",
]
_CITIES = [("Berlin", "DE"), ("Lyon", "FR"), ("Leeds", "GB"), ("Porto", "PT"), ("Gdańsk", "PL"), ("Aarhus", "DK")]
_GOODS = [
    "lamp",
    "chair",
    "desk",
    "shelf",
    "mirror",
    "carpet",
    "clock",
    "vase",
    "kettle",
    "blanket",
    "pillow",
    "basket",
    "stool",
    "bench",
    "frame",
]
_LOOKS = [
    "red",
    "oak",
    "walnut",
    "linen",
    "brushed-steel",
    "white",
    "striped",
    "small",
    "large",
    "folding",
    "vintage",
    "matte",
    "glazed",
    "woven",
]
_VENDORS = ["Nordlys", "Atelier Brun", "Mill & Sons", "Casa Verde", "Hoffmann"]
# What JSON text may hold as it is.
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\')


def order_event(size: int, *, seed: int = 1) -> dict[str, Json]:
    """An order with as many lines as bring its JSON to `size` bytes; its note fills up what is left."""
    random_source = random.Random(seed)
    currency = random_source.choice(["EUR", "GBP", "DKK"])
    order: dict[str, Json] = {
        "event": "order.placed",
        "event_id": _uuid(random_source),
        "order": {"id": _number(random_source), "name": f"#{random_source.randrange(10**4, 10**5)}"},
        "created_at": _moment(random_source),
    }
    details: dict[str, Json] = {
        "currency": currency,
        "financial_status": "paid",
        "fulfillment_status": None,
        "customer": _customer(random_source),
        "shipping_address": _address(random_source),
    }
    if _size({**order, **details}) < size - KILOBYTE // 2:
        order |= details
    return _filled(order, size, random_source, lambda number: _line(random_source, number, currency))


def dense_event(size: int, *, seed: int = 1) -> dict[str, Json]:
    """Movements of accounts: next to nothing in a row is like the row before it."""
    random_source = random.Random(seed)
    batch: dict[str, Json] = {"event": "postings", "batch": _uuid(random_source)}

    def row(number: int) -> dict[str, Json]:
        cents, at = random_source.randrange(199, 10**7), _moment(random_source)
        return {
            "n": number,
            "id": _uuid(random_source),
            "amount": f"{cents / 100:.2f}",
            "at": at,
            "ref": _number(random_source),
        }

    return _filled(batch, size, random_source, row)


def noise(size: int, *, seed: int = 1) -> dict[str, Json]:
    """One string of random characters."""
    random_source = random.Random(seed)
    return {"blob": "".join(random_source.choices(_PRINTABLE, k=size - _size({"blob": ""})))}


def _filled(
    document: dict[str, Json], size: int, random_source: random.Random, line: Callable[[int], dict[str, Json]]
) -> dict[str, Json]:
    lines: list[Json] = []
    document |= {"line_items": lines, "note": ""}
    while _size(document) <= size:
        lines.append(line(len(lines) + 1))
    if lines:
        lines.pop()
    words = " ".join(random_source.choice(_LOOKS + _GOODS) for _ in range(size // 3))
    document["note"] = words[: max(size - _size(document), 0)]
    return document


def _line(random_source: random.Random, number: int, currency: str) -> dict[str, Json]:
    quantity, cents = random_source.randrange(1, 9), random_source.randrange(199, 89_999)
    look, thing = random_source.choice(_LOOKS), random_source.choice(_GOODS)
    price, rate = f"{cents / 100:.2f}", random_source.choice(["0.19", "0.07", "0.20"])
    return {
        "id": _number(random_source),
        "position": number,
        "product_id": _number(random_source),
        "sku": f"{thing[:3].upper()}-{random_source.randrange(10**5):05d}",
        "title": f"{look} {thing}",
        "variant_title": random_source.choice([None, random_source.choice(_LOOKS)]),
        "vendor": random_source.choice(_VENDORS),
        "quantity": quantity,
        "fulfillment_status": None,
        "requires_shipping": random_source.random() < 0.9,
        "taxable": True,
        "promised_at": _moment(random_source),
        "price": {"amount": price, "currency_code": currency},
        "tax_lines": [{"title": "VAT", "rate": rate, "amount": f"{cents * float(rate) / 100:.2f}"}],
    }


def _customer(random_source: random.Random) -> dict[str, Json]:
    first, last = random_source.choice(_FIRST), random_source.choice(_LAST)
    email = f"{first}.{last}{random_source.randrange(100)}@example.com".lower()
    return {
        "id": _number(random_source),
        "first_name": first,
        "last_name": last,
        "email": email,
        "verified_email": True,
    }


def _address(random_source: random.Random) -> dict[str, Json]:
    city, country = random_source.choice(_CITIES)
    return {
        "address1": f"{random_source.choice(_STREETS)} Street {random_source.randrange(1, 200)}",
        "address2": None,
        "city": city,
        "zip": f"{random_source.randrange(10**4, 10**5)}",
        "country_code": country,
    }


def _moment(random_source: random.Random) -> str:
    at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(milliseconds=random_source.randrange(10**10))
    return at.isoformat(timespec="milliseconds")


def _number(random_source: random.Random) -> int:
    return random_source.randrange(10**12, 10**13)


def _uuid(random_source: random.Random) -> str:
    return str(UUID(int=random_source.getrandbits(128), version=4))


def _size(value: Json) -> int:
    return len(encode_payload(value).encode())
