"""Read documents as a test sees them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def code_blocks(name: str, language: str) -> list[str]:
    return [code for found, code in _BLOCK.findall(text_of(name)) if found == language]
