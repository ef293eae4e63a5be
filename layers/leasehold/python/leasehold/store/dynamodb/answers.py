"""What DynamoDB's answers mean: which errors pass by themselves, and what a statement of a batch was told."""

from __future__ import annotations

from typing import Any

from leasehold.domain.errors import StoreError, StoreUnavailableError
from leasehold.store.table import ConditionFailed, StatementRefused

# botocore retries throttling and network trouble by itself, but neither conflicts nor what a single statement met.
CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException", "TransactionConflict"})
THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ThrottlingException",
        "InternalServerError",
    }
)
# The form of a statement is not known here, or this caller may not use it: the same change by itself may do.
UNTAKEN = frozenset(
    {"ValidationError", "ValidationException", "AccessDenied", "AccessDeniedException", "UnknownOperationException"}
)


def statement_answer(error: Any, *, was_repeated: bool = False) -> Exception | None:
    """The answer to one statement of a batch; StoreUnavailableError if another try may do."""
    if not error:
        return None
    code, message = error["Code"], error.get("Message", "no message")
    if code in {"DuplicateItem", "ConditionalCheckFailed"}:
        # Some engines tell what is stored; AWS does not, so nobody may know it from here.
        return ConditionFailed(None, was_repeated=was_repeated)
    if code in CONFLICTS | THROTTLES:
        return StoreUnavailableError(f"a statement was refused with {code} on every try")
    if code in UNTAKEN:
        return StatementRefused(f"{code}: {message}")
    return StoreError(f"{code}: {message}")
