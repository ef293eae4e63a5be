"""Where an engine on this machine answers otherwise than AWS: the case, its answer, and what that means for us."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    engine: str
    case: str
    answer: object
    meaning: str


DEVIATIONS = (
    Deviation(
        "ministack",
        "a refused statement of a batch carries no item, though it asks for it",
        [("ConditionalCheckFailed", "item")],
        "none is asked for, and none would be read",
    ),
)
