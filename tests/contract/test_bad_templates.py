"""Bad templates are refused by name on every store, before anything is written."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidJobTypeError,
    InvalidKeyError,
    InvalidOptionError,
    InvalidPayloadError,
    PayloadTooLargeError,
    UnknownJobTypeError,
)
from leasehold.kernel.retry import Delays

if TYPE_CHECKING:
    from tests.contract.world import World

HOOK = "https://example.com/hooks/jobs"
BAD: dict[str, tuple[type[InvalidInputError], dict[str, object]]] = {
    "a bad name": (InvalidKeyError, {"name": "a#b"}),
    "no type": (InvalidJobTypeError, {"job": None}),
    "a type that is not deployed": (UnknownJobTypeError, {"job": "nobody"}),
    "a payload that is no object": (InvalidPayloadError, {"payload": [1]}),
    "a payload that is too large": (PayloadTooLargeError, {"payload": {"x": "x" * 204_800}}),
    "a bad priority": (InvalidOptionError, {"priority": 9}),
    "no attempts": (InvalidOptionError, {"max_attempts": 0}),
    "a number for a policy": (InvalidOptionError, {"retry": 30}),
    "too many delays": (InvalidOptionError, {"retry": Delays((timedelta(seconds=1),) * 51)}),
    "a webhook without TLS": (InvalidOptionError, {"webhook": "http://example.com"}),
    "a webhook with a password": (InvalidOptionError, {"webhook": "https://ada:secret@example.com"}),
    "an endless description": (InvalidOptionError, {"description": "x" * 1025}),
    "an endless reason": (InvalidOptionError, {"reason": "r" * 1025}),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_template_is_refused_by_name_and_nothing_is_written(case: str, world: World) -> None:
    error, options = BAD[case]
    given: dict[str, object] = {"name": "nightly", "job": "report", **options}

    with pytest.raises(error) as refused:
        world.queue.templates.create(**given)  # type: ignore[arg-type]

    assert "secret" not in str(refused.value)
    assert world.queue.templates.list() == []


@pytest.mark.parametrize(("remove", "more"), [(["job"], {}), (["webhook"], {"webhook": HOOK}), (["payload", "x"], {})])
def test_what_cannot_be_removed_is_refused(remove: list[str], more: dict[str, str], world: World) -> None:
    world.queue.templates.create("nightly", "report", webhook=HOOK)

    with pytest.raises(InvalidOptionError):
        world.queue.templates.update("nightly", remove=remove, **more)  # type: ignore[arg-type]
    assert world.queue.templates.get("nightly").version == 1
