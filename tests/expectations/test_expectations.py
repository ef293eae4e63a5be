"""Every fact of DynamoDB that the store relies on, asked of each engine on this machine: AWS is right."""

from __future__ import annotations

import itertools
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest

from leasehold.kernel.dynamodb.expressions import statement_answer
from leasehold.kernel.dynamodb.table import TableNames
from leasehold.kernel.errors import StoreError, StoreUnavailableError
from leasehold.kernel.table import ConditionFailed, StatementRefused
from tests.expectations.cases import CASES, Case, Site
from tests.expectations.engines import DEVIATIONS
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.wire import connect_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

_numbers = itertools.count()
_KNOWN = {(each.engine, each.case): each for each in DEVIATIONS}


def seen_by(client: DynamoDBClient, case: Case) -> object:
    suffix = f"{os.getpid()}-{next(_numbers)}"
    return case.ask(Site(client, TableNames(jobs=f"expect-{suffix}", dead_letters=f"expect-dead-{suffix}")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_model_answers_as_aws(case: Case) -> None:
    assert seen_by(connect_to(Database(lambda: datetime.now(UTC)).call, validates=True), case) == case.answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("dynoxide", marks=pytest.mark.dynoxide),
        pytest.param("ministack", marks=pytest.mark.ministack),
    ],
)
def test_an_engine_answers_as_aws_or_as_it_is_known_to(
    engine: str, case: Case, request: pytest.FixtureRequest, make_client: Callable[[str], DynamoDBClient]
) -> None:
    client = make_client(request.getfixturevalue(f"{engine}_endpoint"))
    known = _KNOWN.get((engine, case.name))

    assert seen_by(client, case) == (known.answer if known else case.answer)


def test_every_code_that_aws_lists_for_a_statement_has_its_meaning_here() -> None:
    """botocore's model of the service is AWS's own: API_BatchStatementError.html shows the same list."""
    service: Any = botocore.session.get_session().get_service_model("dynamodb")
    listed = set(service.shape_for("BatchStatementErrorCodeEnum").enum)
    meanings = {code: type(statement_answer({"Code": code}, was_repeated=False)) for code in listed}

    assert {code for code, meaning in meanings.items() if meaning is ConditionFailed} == {
        "ConditionalCheckFailed",
        "DuplicateItem",
    }
    assert {code for code, meaning in meanings.items() if meaning is StatementRefused} == {
        "ValidationError",
        "AccessDenied",
    }
    assert {code for code, meaning in meanings.items() if meaning is StoreUnavailableError} == {
        "TransactionConflict",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingError",
        "InternalServerError",
    }
    # Of a table that is not deployed, and of local indexes, which ours have not: nothing but an error to be told.
    assert {code for code, meaning in meanings.items() if meaning is StoreError} == {
        "ResourceNotFound",
        "ItemCollectionSizeLimitExceeded",
    }


def test_every_deviation_is_of_a_case_and_differs_from_aws() -> None:
    answers = {case.name: case.answer for case in CASES}

    assert len(answers) == len(CASES)
    assert all(each.case in answers and each.answer != answers[each.case] for each in DEVIATIONS)
