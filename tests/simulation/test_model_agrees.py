"""The model of DynamoDB answers what real engines answer: seeded sequences of calls, on the model and on an engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.simulation.dynamodb.agreement.differences import DYNOXIDE, MINISTACK
from tests.simulation.dynamodb.agreement.endpoint import Endpoint
from tests.simulation.dynamodb.agreement.sequences import Comparison

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("ordinary", "hostile")
# So many sequences in one test: a server answers a few hundred calls a second.
CHUNK = 25
FEW, MANY = 4, 40

dynoxide = pytest.mark.dynoxide
ministack = pytest.mark.ministack
_counted = os.getpid()


def _chunks(count: int, *, first: int = 0) -> list[range]:
    return [range(start * CHUNK, (start + 1) * CHUNK) for start in range(first, count)]


@pytest.fixture(scope="module")
def with_dynoxide(dynoxide_endpoint: str) -> Iterator[Comparison]:
    endpoint = Endpoint(dynoxide_endpoint)
    yield Comparison(endpoint, DYNOXIDE, str(_counted))
    endpoint.close()


@pytest.fixture(scope="module")
def with_ministack(ministack_endpoint: str) -> Iterator[Comparison]:
    endpoint = Endpoint(ministack_endpoint)
    yield Comparison(endpoint, MINISTACK, str(_counted))
    endpoint.close()


@dynoxide
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", _chunks(FEW), ids=str)
def test_the_model_answers_as_dynoxide_does(with_dynoxide: Comparison, kind: str, seeds: range) -> None:
    for seed in seeds:
        with_dynoxide.run(kind, seed)


@dynoxide
@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", _chunks(MANY, first=FEW), ids=str)
def test_the_model_answers_as_dynoxide_does_at_length(with_dynoxide: Comparison, kind: str, seeds: range) -> None:
    for seed in seeds:
        with_dynoxide.run(kind, seed)


@ministack
@pytest.mark.parametrize("seeds", _chunks(1), ids=str)
def test_the_model_answers_our_requests_as_ministack_does(with_ministack: Comparison, seeds: range) -> None:
    """Ours only: what it makes of hostile ones is often not what AWS makes of them."""
    for seed in seeds:
        with_ministack.run("ordinary", seed)


@ministack
@pytest.mark.deep
@pytest.mark.parametrize("seeds", _chunks(FEW, first=1), ids=str)
def test_the_model_answers_our_requests_as_ministack_does_at_length(with_ministack: Comparison, seeds: range) -> None:
    for seed in seeds:
        with_ministack.run("ordinary", seed)


@dynoxide
def test_every_known_difference_of_dynoxide_still_shows(dynoxide_endpoint: str) -> None:
    """One that no longer does would hide a fault of the model. Calls that are else not sent are sent here."""
    endpoint = Endpoint(dynoxide_endpoint)
    comparison = Comparison(endpoint, DYNOXIDE, f"{_counted}-known", asks_all=True)
    for seed in range(CHUNK):
        comparison.run("ordinary", seed)
    # These end with the first such call that writes, so there are more of them.
    for seed in range(FEW * CHUNK):
        comparison.run("hostile", seed)
    endpoint.close()
    assert [each.name for each in DYNOXIDE if not comparison.met[each.name]] == []


@ministack
def test_every_known_difference_of_ministack_still_shows(ministack_endpoint: str) -> None:
    endpoint = Endpoint(ministack_endpoint)
    comparison = Comparison(endpoint, MINISTACK, f"{_counted}-known", asks_all=True)
    for seed in range(CHUNK):
        comparison.run("ordinary", seed)
    endpoint.close()
    assert [each.name for each in MINISTACK if not comparison.met[each.name]] == []
