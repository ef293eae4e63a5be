"""What a process is given, and what it finds out by itself."""

from __future__ import annotations

import inspect

from leasehold.kernel.services import Services
from tests.stories.story import Story


def test_what_a_process_learns_is_not_given_to_it() -> None:
    assert not {"deployment", "window", "next_payload_round"} & set(inspect.signature(Services).parameters)


def test_whoever_acts_in_anothers_name_has_the_same_caches() -> None:
    services = Story("a process").services
    other = services.acting_as(identity := object())  # type: ignore[arg-type]

    assert other is not services
    assert other.identity is identity
    assert (other.deployment, other.store) == (services.deployment, services.store)
    assert services.identity is not identity
