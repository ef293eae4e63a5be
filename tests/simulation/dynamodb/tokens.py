"""Expression texts to tokens. One tokenizer serves DynamoDB's expressions and PartiQL; each parser knows its words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulation.dynamodb.refusal import invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACEHOLDER = r"(?P<placeholder>[\#:][A-Za-z0-9_]+)|"
_OTHERS = r"""
      (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<quoted>"(?:[^"]|"")+")
    | (?P<string>'(?:[^']|'')*')
    | (?P<number>[0-9]+(?:\.[0-9]+)?)
    | (?P<sign><>|<=|>=|!=|[-=<>()\[\],.+?{}:*])
"""
_EXPRESSION = re.compile(rf"\s*(?:{_PLACEHOLDER}{_OTHERS})", re.VERBOSE)
_STATEMENT = re.compile(rf"\s*(?:{_OTHERS})", re.VERBOSE)
STATEMENT = "statement"

RESERVED = frozenset((Path(__file__).parent / "reserved_words.txt").read_text().split())


class Tokens:
    """A cursor on the tokens of one text; `what` names the text in refusals."""

    def __init__(self, text: str, what: str) -> None:
        self.what = what
        self._tokens: list[tuple[str, str]] = list(_split(text, what))
        self._at = 0

    def refuse(self, why: str) -> Exception:
        return invalid(f"Invalid {self.what}: {why}")

    def unexpected(self) -> Exception:
        if self._at >= len(self._tokens):
            return self.refuse('Syntax error; token: "<EOF>"')
        return self.refuse(f'Syntax error; token: "{self._tokens[self._at][1]}"')

    @property
    def kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else "end"

    @property
    def text(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def has_ended(self) -> bool:
        return self._at >= len(self._tokens)

    def next_is(self, *texts: str) -> bool:
        """Whether the tokens after this one are these signs."""
        ahead = [text for _, text in self._tokens[self._at + 1 : self._at + 1 + len(texts)]]
        return ahead == list(texts)

    def take(self) -> str:
        if self.has_ended():
            raise self.unexpected()
        text = self._tokens[self._at][1]
        self._at += 1
        return text

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words

    def take_word(self, *words: str) -> str | None:
        return self.take().upper() if self.is_word(*words) else None

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs

    def take_sign(self, *signs: str) -> str | None:
        return self.take() if self.is_sign(*signs) else None

    def expect_sign(self, sign: str) -> None:
        if not self.take_sign(sign):
            raise self.unexpected()

    def expect_word(self, word: str) -> None:
        if not self.take_word(word):
            raise self.unexpected()


def _split(text: str, what: str) -> Sequence[tuple[str, str]]:
    tokens = []
    pattern = _STATEMENT if what == STATEMENT else _EXPRESSION
    at, end = 0, len(text.rstrip())
    while at < end:
        found = pattern.match(text, at)
        if found is None or found.lastgroup is None:
            raise invalid(f'Invalid {what}: Syntax error; token: "{text[at : at + 10].strip()}"')
        tokens.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    return tokens
