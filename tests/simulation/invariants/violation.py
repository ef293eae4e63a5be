"""What a broken invariant raises: its name, so that teeth can say what bit, and what was seen."""

from __future__ import annotations


class Violation(AssertionError):  # noqa: N818  a finding, not an error
    def __init__(self, invariant: str, seen: str) -> None:
        super().__init__(f"{invariant}: {seen}")
        self.invariant = invariant
        self.seen = seen


def hold(is_so: object, invariant: str, seen: str) -> None:
    """Raise unless it is so."""
    if not is_so:
        raise Violation(invariant, seen)
