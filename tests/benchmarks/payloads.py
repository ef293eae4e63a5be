"""The payloads that lives are measured with, by size and shape; tests/sample_payloads.py says how typical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sample_payloads import KILOBYTE, noise, order_event

if TYPE_CHECKING:
    from leasehold.domain.payload import Json

SIZES = {"0.2 KB": 205, "1 KB": KILOBYTE, "4 KB": 4 * KILOBYTE, "16 KB": 16 * KILOBYTE}
TYPICAL, INCOMPRESSIBLE = SHAPES = ("typical", "incompressible")


def payload(size: str, shape: str) -> dict[str, Json]:
    """The same every time: figures of two runs can be compared."""
    return order_event(SIZES[size]) if shape == TYPICAL else noise(SIZES[size])
