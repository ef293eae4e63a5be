"""Read documents as a test sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block; `language` is empty where none is named."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def blocks_of(name: str) -> list[Block]:
    text = text_of(name)
    return [Block(name, text.count("\n", 0, found.start()) + 1, *found.groups()) for found in _BLOCK.finditer(text)]


def code_blocks(name: str, language: str) -> list[str]:
    return [block.code for block in blocks_of(name) if block.language == language]
