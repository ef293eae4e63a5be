"""A caller's own items of a transaction: their form is checked here, as our clients leave that out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.validate import ParamValidator

from leasehold.domain.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.store.table import ForeignItem


def check_foreign(client: DynamoDBClient, items: Sequence[ForeignItem]) -> None:
    """Refuse what botocore could not even send: no retry would help."""
    shape = client.meta.service_model.operation_model("TransactWriteItems").input_shape
    assert shape is not None
    report = ParamValidator().validate({"TransactItems": list(items)}, shape)
    if report.has_errors():
        reason = f"these are no items of TransactWriteItems: {report.generate_report()}"
        raise InvalidOptionError(items, reason, 'Pass items such as {"Put": {"TableName": ..., "Item": {...}}}.')
