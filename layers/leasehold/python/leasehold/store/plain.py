"""Plain updates: what a batch of statements can say, without counts and without choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.conditions import AnyOf, Missing, narrowed
from leasehold.store.table import Update

if TYPE_CHECKING:
    from leasehold.store.table import Attribute


def plain(update: Update) -> Update:
    """The same change under stronger conditions: of each choice the first alternative, and each count from nothing.

    Whom it lets in, the update itself would have let in, to the same effect. Whom it refuses, the update may still
    let in: the conditions of the update stay the one place that says what is right.
    """
    if not update.adds and not any(isinstance(each, AnyOf) for each in update.conditions):
        return update
    sets: dict[str, Attribute] = {**update.sets, **update.adds}
    uncounted = (Missing(name) for name in update.adds)
    return Update(
        key=update.key,
        conditions=(*(narrowed(each) for each in update.conditions), *uncounted),
        sets=sets,
        removes=update.removes,
    )


def check_plain(update: Update) -> None:
    if update.adds or any(isinstance(each, AnyOf) for each in update.conditions):
        raise TypeError(f"a batch takes no counts and no choices; make this update plain first: {update!r}")
