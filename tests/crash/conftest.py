"""Two clients on an engine, one of which can be struck; botocore's own pauses take no time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from botocore.config import Config

from leasehold.kernel.dynamodb.connection import connect
from tests.crash.faults import Wire
from tests.crash.ledger import Ledger
from tests.crash.model_site import ModelSite
from tests.crash.world import Site, create_users_table

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def site(dynoxide_endpoint: str) -> Iterator[Site]:
    ledger = Ledger()
    # The library's own retries and timeouts. Its requests are well-formed: to check that costs time, 50,000 times.
    cheap = Config(parameter_validation=False)
    healthy, faulty = (connect(endpoint_url=dynoxide_endpoint, config=cheap) for _ in range(2))
    Wire(healthy, ledger)
    create_users_table(healthy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _seconds: None))
        yield Site(healthy=healthy, faulty=faulty, wire=Wire(faulty, ledger), ledger=ledger)
    healthy.close()
    faulty.close()


@pytest.fixture(scope="session")
def model_site() -> Site:
    return ModelSite.make()


@pytest.fixture
def struck(request: pytest.FixtureRequest) -> Site:
    """The site that the test is for: `model_site`, in this process, or `site`, on a real engine."""
    found: Site = request.getfixturevalue(request.param)
    return found
