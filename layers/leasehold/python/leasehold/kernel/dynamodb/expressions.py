"""Conditions and changes, which are data, to the expressions that DynamoDB takes."""

from __future__ import annotations

from base64 import b64decode
from itertools import starmap
from typing import TYPE_CHECKING, Any, assert_never, cast

from botocore.validate import ParamValidator

from leasehold.kernel.errors import InvalidOptionError, StoreError, StoreUnavailableError
from leasehold.kernel.table import (
    AnyOf,
    Comparison,
    ConditionFailed,
    Equals,
    Exists,
    Missing,
    OneOf,
    Put,
    StatementRefused,
    Update,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.table import Attribute, Change, Condition, ForeignItem, Record


type Request = dict[str, Any]


class Placeholders:
    """Names and values of one request. Every name gets a placeholder: half of ours are reserved words."""

    exists, missing = "attribute_exists({})", "attribute_not_exists({})"
    compares, one_of = "{} {} {}", "{} IN ({})"

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: Item = {}

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#{len(self._names)}")

    def value(self, attribute: object) -> str:
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = to_value(cast("Attribute", attribute))
        return placeholder

    def as_request(self) -> Request:
        # The names are kept from attribute to placeholder; DynamoDB wants them the other way round.
        names = {placeholder: attribute for attribute, placeholder in self._names.items()}
        named = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": self._values}
        return {name: each for name, each in named.items() if each}


class Parameters:
    """Values of one PartiQL statement, in the order of its question marks."""

    exists, missing = "{} IS NOT MISSING", "{} IS MISSING"
    compares, one_of = "{}{}{}", "{} IN [{}]"

    def __init__(self, values: Iterable[Attribute]) -> None:
        self.values = [to_value(each) for each in values]

    def name(self, attribute: str) -> str:
        return f'"{attribute}"'

    def value(self, attribute: object) -> str:
        self.values.append(to_value(cast("Attribute", attribute)))
        return "?"


def condition_expression(conditions: Iterable[Condition], words: Placeholders | Parameters) -> str:
    return " AND ".join(_expression(condition, words) for condition in conditions)


def _expression(condition: Condition, words: Placeholders | Parameters) -> str:
    match condition:
        case Exists(attribute):
            return words.exists.format(words.name(attribute))
        case Missing(attribute):
            return words.missing.format(words.name(attribute))
        case OneOf(attribute, values):
            return words.one_of.format(words.name(attribute), ", ".join(map(words.value, values)))
        case Comparison(attribute, value):
            return words.compares.format(words.name(attribute), condition.sign, words.value(value))
        case AnyOf(conditions):
            return "(" + " OR ".join(_expression(each, words) for each in conditions) + ")"
        case _:
            assert_never(condition)


def update_expression(change: Update, placeholders: Placeholders) -> str:
    name, value = placeholders.name, placeholders.value
    clauses = {
        "SET": [f"{name(each)} = {value(new)}" for each, new in change.sets.items()],
        "REMOVE": [name(each) for each in sorted(change.removes)],
        "ADD": [f"{name(each)} {value(amount)}" for each, amount in change.adds.items()],
    }
    return " ".join(f"{verb} {', '.join(paths)}" for verb, paths in clauses.items() if paths)


def write_request(change: Change) -> Request:
    """A change as the parameters that the single-item call and the transaction share."""
    placeholders = Placeholders()
    if isinstance(change, Put):
        request: Request = {"Item": to_item(change.item)}
    else:
        request = {"Key": to_item(change.key.attributes)}
    if isinstance(change, Update):
        request["UpdateExpression"] = update_expression(change, placeholders)
    conditions = change.guards if isinstance(change, Put) else change.conditions
    if conditions:
        request["ConditionExpression"] = condition_expression(conditions, placeholders)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return {**request, **placeholders.as_request()}


def key_condition(
    names: Sequence[str], partition: str, first: str | None, last: str | None, where: Sequence[Condition] = ()
) -> Request:
    """One partition, between these sort values; `names` are the attributes of both."""
    placeholders = Placeholders()
    name, value, sort = placeholders.name, placeholders.value, names[-1]
    expression = f"{name(names[0])} = {value(partition)}"
    if first is not None and last is not None:
        expression += f" AND {name(sort)} BETWEEN {value(first)} AND {value(last)}"
    elif first is not None or last is not None:
        expression += f" AND {name(sort)} {'<=' if first is None else '>='} {value(last if first is None else first)}"
    request: Request = {"KeyConditionExpression": expression}
    if where:
        request["FilterExpression"] = condition_expression(where, placeholders)
    return {**request, **placeholders.as_request()}


def insert_statement(table: str, item: Mapping[str, Attribute]) -> Request:
    """A conditional insert as a PartiQL statement: it fails where the key exists, unlike BatchWriteItem."""
    fields = ", ".join(f"'{name}': ?" for name in item)
    return {
        "Statement": f'INSERT INTO "{table}" VALUE {{{fields}}}',
        "Parameters": [to_value(attribute) for attribute in item.values()],
    }


def update_statement(table: str, update: Update) -> Request:
    """A plain conditional update as a PartiQL statement: AWS documents one path for each SET and each REMOVE.

    It does not ask for the item where its condition fails: in a batch AWS gives none.
    """
    parameters = Parameters(update.sets.values())
    changes = [*(f'SET "{name}"=?' for name in update.sets), *(f'REMOVE "{name}"' for name in sorted(update.removes))]
    of_the_key = starmap(Equals, update.key.attributes.items())
    guards = condition_expression((*of_the_key, *update.conditions), parameters)
    return {"Statement": f'UPDATE "{table}" {" ".join(changes)} WHERE {guards}', "Parameters": parameters.values}


type AttributeValue = dict[str, Any]
type Item = dict[str, AttributeValue]


def to_value(attribute: Attribute) -> AttributeValue:
    match attribute:
        case bool():
            return {"BOOL": attribute}
        case str():
            return {"S": attribute}
        case int():
            return {"N": str(attribute)}
        case bytes():
            return {"B": attribute}
        case list():
            return {"L": [to_value(each) for each in attribute]}
        case dict():
            return {"M": to_item(attribute)}


def to_item(record: Mapping[str, Attribute]) -> Item:
    # Most attributes are texts: the short way for these is a good part of the time.
    return {name: {"S": value} if type(value) is str else to_value(value) for name, value in record.items()}


def from_value(value: AttributeValue) -> Attribute:
    match value:
        case {"S": plain} | {"BOOL": plain}:
            return cast("str | bool", plain)
        case {"N": number}:
            return int(number)
        case {"B": data}:
            # The client decodes them; a stream's record that came through Lambda has them as base64.
            return data if isinstance(data, bytes) else b64decode(data)
        case {"L": values}:
            return [from_value(each) for each in values]
        case {"M": item}:
            return from_item(item)
        case _:
            raise TypeError(f"Leasehold writes no attribute like {value!r}; who changed this item?")


def from_item(item: Mapping[str, AttributeValue]) -> Record:
    return {name: value["S"] if "S" in value else from_value(value) for name, value in item.items()}


# By the stems of codes: a statement, a reason and some engines name the same trouble with another ending.
# The key exists, or the condition failed.
REFUSED = frozenset({"ConditionalCheckFailed", "DuplicateItem"})
# botocore retries throttling and network trouble by itself, but neither conflicts nor what a single statement met.
CONFLICTS = frozenset({"TransactionConflict", "TransactionInProgress"})
THROTTLES = frozenset({"ProvisionedThroughputExceeded", "RequestLimitExceeded", "Throttling", "InternalServer"})
# The form of a statement is not known here, or this caller may not use it: the same change by itself may do.
UNTAKEN = frozenset({"Validation", "AccessDenied", "UnknownOperation"})


def stem(code: str) -> str:
    """
    >>> {stem(code) for code in ("Throttling", "ThrottlingError", "ThrottlingException")}
    {'Throttling'}
    """
    return code.removesuffix("Exception").removesuffix("Error")


def statement_answer(error: Any, *, was_repeated: bool) -> Exception | None:
    """The answer to one statement of a batch; StoreUnavailableError if another try may do."""
    if not error:
        return None
    code, message = error["Code"], error.get("Message", "no message")
    kind = stem(code)
    if kind in REFUSED:
        # Some engines tell what is stored; AWS does not, so nobody may know it from here.
        return ConditionFailed(None, was_repeated=was_repeated)
    if kind in CONFLICTS | THROTTLES:
        return StoreUnavailableError(f"a statement was refused with {code} on every try")
    return (StatementRefused if kind in UNTAKEN else StoreError)(f"{code}: {message}")


def check_foreign(client: DynamoDBClient, items: Sequence[ForeignItem]) -> None:
    """Refuse what botocore could not even send: no retry would help."""
    shape = client.meta.service_model.operation_model("TransactWriteItems").input_shape
    assert shape is not None
    report = ParamValidator().validate({"TransactItems": list(items)}, shape)
    if report.has_errors():
        reason = f"these are no items of TransactWriteItems: {report.generate_report()}"
        raise InvalidOptionError(items, reason, 'Pass items such as {"Put": {"TableName": ..., "Item": {...}}}.')
