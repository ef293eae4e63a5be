"""The payloads that lives are measured with, by size and shape; tests/sample_payloads.py says how typical."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from leasehold.kernel import payload_forms as forms
from tests.sample_payloads import KILOBYTE, noise, order_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.payload import Json

SIZES = {"0.2 KB": 205, "1 KB": KILOBYTE, "4 KB": 4 * KILOBYTE, "16 KB": 16 * KILOBYTE}
TYPICAL, INCOMPRESSIBLE = SHAPES = ("typical", "incompressible")


def payload(size: str, shape: str) -> dict[str, Json]:
    """The same every time: figures of two runs can be compared."""
    return order_event(SIZES[size]) if shape == TYPICAL else noise(SIZES[size])


@contextmanager
def packed_as(shape: str) -> Iterator[None]:
    """What is incompressible is not packed: even random text would lose a sixth, since JSON leaves bits unused."""
    if shape == TYPICAL:
        yield
        return

    def larger(raw: bytes) -> bytes:
        return raw + b"!"

    with patch("zlib.compress", larger), patch.object(forms, "_packed_tightly", larger):
        yield
