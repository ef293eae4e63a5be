"""A few bytes that unpack to more than a hundred megabytes: what reads them takes no memory for it.

In a process of its own each: what a library in C takes is seen only there.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import zlib
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNPACKED_BYTES = 120_000_000
BOUND_BYTES = 50_000_000

READS = """
import sys
from pathlib import Path
from leasehold.groups.records import decompressed
from leasehold.kernel.errors import PayloadUnreadableError
from leasehold.kernel.payload_forms import text_in

def payload(form):
    try:
        text_in(form)
    except PayloadUnreadableError as error:
        return str(error)

def codes_of(total):
    return lambda form: f"{len(decompressed(form, total))} bytes of codes"

read = {"payload": payload, "no members": codes_of(0), "members": codes_of(1000), "too many": codes_of(10**12)}
form = sys.stdin.buffer.read()
seen = read[sys.argv[1]](form)
# Not getrusage: it knows what the process took before it became this program, too.
(most,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(seen, int(most) * 1024, sep="\\n")
"""


def _unpacked() -> Iterator[bytes]:
    return (b"0" * 1_000_000 for _ in range(UNPACKED_BYTES // 1_000_000))


@cache
def _with_zlib() -> bytes:
    stream = zlib.compressobj()
    return b"".join(map(stream.compress, _unpacked())) + stream.flush()


@cache
def _with_lzma() -> bytes:
    # Read like every payload that is packed tightly, and packed in less time.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 * 1024, "pb": 0}]
    stream = lzma.LZMACompressor(format=lzma.FORMAT_RAW, filters=filters)
    return b"L" + b"".join(map(stream.compress, _unpacked())) + stream.flush()


@pytest.mark.parametrize(
    ("pack", "reader", "says"),
    [
        pytest.param(_with_zlib, "payload", "more than 204800 bytes", id="a payload"),
        pytest.param(_with_lzma, "payload", "more than 204800 bytes", id="a payload, packed tightly"),
        pytest.param(_with_zlib, "no members", "0 bytes of codes", id="codes of a group of none"),
        pytest.param(_with_zlib, "members", "2000 bytes of codes", id="codes of a group of 1,000"),
        pytest.param(_with_zlib, "too many", "200000 bytes of codes", id="codes of a group of more than there can be"),
    ],
)
def test_a_bomb_is_read_within_50_megabytes_of_a_whole_process(
    pack: Callable[[], bytes], reader: str, says: str
) -> None:
    bomb = pack()
    assert len(bomb) < 400_000

    ran = subprocess.run([sys.executable, "-c", READS, reader], input=bomb, capture_output=True, check=True)
    seen, most = ran.stdout.decode().splitlines()

    assert says in seen
    assert int(most) < BOUND_BYTES
