"""What a route answers."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    document: Mapping[str, object]
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> str:
        return json.dumps(self.document, separators=(",", ":"), allow_nan=False)

    def to_text(self) -> str:
        """As it is kept for whoever asks again."""
        return json.dumps({"status": self.status, "document": self.document}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Answer:
        kept = json.loads(text)
        return cls(status=kept["status"], document=kept["document"])


def answered(document: Mapping[str, object]) -> Answer:
    return Answer(document=document)
