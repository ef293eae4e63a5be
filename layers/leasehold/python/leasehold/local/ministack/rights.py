"""Rights of functions hold as on AWS, also where DynamoDB gives them by partition, by item and by statement.

With `AUTH=true` ministack lets a function do what its role allows. It does not say which partitions a call names
(`dynamodb:LeadingKeys`), so that no condition on them is ever met, and it takes a PartiQL statement for an action of
its own. Here a call becomes what AWS decides about: one question for each item of a transaction and each statement of
a batch, with the keys and the attributes that it names. The answers stay those of ministack's own evaluator.
"""

from __future__ import annotations

import json
import logging
import re
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_logger = logging.getLogger("rights")

type Document = dict[str, Any]
# The action, the name of the table with its index, and the condition keys that DynamoDB adds.
type Question = tuple[str, str, Document]

# Where the body of a call waits between the place that reads it and the one that decides.
_BODY = "leasehold:body"
_STATEMENT = re.compile(
    r'\s*(?:(INSERT)\s+INTO|(UPDATE)|(DELETE)\s+FROM|(SELECT)\s.*?\sFROM)\s+"([^"]+)"(?:\."([^"]+)")?', re.DOTALL
)
# A name in an expression; what follows a dot is inside of an attribute, what follows a colon is a value.
_NAME = re.compile(r"(?<![:.\w#])(#\w+|[A-Za-z_]\w*)(?!\w*\s*\()")
_WORDS = frozenset(("SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"))


def install() -> None:
    actions: Any = import_module("ministack.core.iam_actions")
    evaluator: Any = import_module("ministack.core.iam_evaluator")
    own_context = actions.dynamodb_service_context
    actions.dynamodb_service_context = lambda body: {**own_context(body), _BODY: body}
    # Its own way with transactions asks about each item, but without its keys.
    actions.dynamodb_transaction_checks = lambda *_: []
    evaluator.enforce = partial(_ask_for_each, evaluator.enforce)
    # Without TLS, but nothing leaves this machine: policies that ask for TLS (the CDK's own bucket has one) are met.
    pin_origin = evaluator.pin_request_origin
    application: Any = import_module("ministack.app")
    application.pin_request_origin = lambda address, _: pin_origin(address, secure_transport=True)


def _ask_for_each(
    enforce: Callable[..., Any], *caller: Any, resource_arn: str = "*", service_context: Document | None = None
) -> Any:
    access_key, action, service, region = caller
    context = dict(service_context or {})
    questions = _questions(action.partition(":")[2], context.pop(_BODY, None))
    account = import_module("ministack.core.responses").get_account_id()
    for asked, place, keys in questions or [(action, resource_arn, {})]:
        is_name = place != "*" and not place.startswith("arn:")
        arn = f"arn:aws:dynamodb:{region}:{account}:table/{place}" if is_name else place
        right = asked if ":" in asked else f"dynamodb:{asked}"
        refused = enforce(access_key, right, service, region, resource_arn=arn, service_context=context | keys)
        if refused:
            _logger.warning("refused: %s on %s %s to %s", asked, arn, keys, getattr(refused, "principal_arn", "?"))
            return refused
    return None


def _questions(operation: str, body: bytes | None) -> list[Question]:
    try:
        return list(questions_of(operation, json.loads(body or b"{}")))
    except (KeyError, TypeError, ValueError):
        # DynamoDB will say what is wrong with it, to who may call it at all.
        return []


def questions_of(operation: str, call: Document) -> Iterator[Question]:
    """What IAM decides about when this is called; nothing for what names no item."""
    match operation:
        case "GetItem" | "UpdateItem" | "DeleteItem" | "PutItem":
            yield _on_item(operation, call, {})
        case "Query":
            index = call.get("IndexName")
            place = f"{call['TableName']}/index/{index}" if index else call["TableName"]
            yield "Query", place, _keys(_queried(call, _hash_key(call["TableName"], index)))
        case "BatchGetItem":
            for table, wanted in call["RequestItems"].items():
                hash_key = _hash_key(table)
                yield operation, table, _keys(*(_text(key.get(hash_key)) for key in wanted["Keys"]))
        case "TransactWriteItems" | "TransactGetItems":
            for item in call["TransactItems"]:
                for kind, change in item.items():
                    yield _on_item(f"{kind}Item", change, {"dynamodb:EnclosingOperation": [operation]})
        case "ExecuteStatement":
            yield _statement(call, {})
        case "BatchExecuteStatement":
            yield from (_statement(each, {}) for each in call["Statements"])
        case "ExecuteTransaction":
            enclosing = {"dynamodb:EnclosingOperation": [operation]}
            yield from (_statement(each, enclosing) for each in call["TransactStatements"])


def _on_item(action: str, call: Document, more: Document) -> Question:
    table, named = call["TableName"], call.get("Item") or call.get("Key") or {}
    keys = _keys(_text(named.get(_hash_key(table))))
    attributes = sorted({*named, *_named_in(call)})
    return action, table, {**keys, "dynamodb:Attributes": attributes, **more}


def _named_in(call: Document) -> set[str]:
    """The top-level attributes of what a call sets and asks for."""
    placeholders = call.get("ExpressionAttributeNames") or {}
    found: set[str] = set()
    for expression in ("UpdateExpression", "ConditionExpression", "ProjectionExpression"):
        names = _NAME.findall(call.get(expression) or "")
        found |= {placeholders.get(name, name) for name in names if name.upper() not in _WORDS}
    return found


def _statement(statement: Document, more: Document) -> Question:
    text, values = statement["Statement"], statement.get("Parameters") or []
    found = _STATEMENT.match(text)
    if found is None:
        return "PartiQL", "*", more
    kind = next(word for word in found.groups()[:4] if word)
    table, index = found[5], found[6]
    hash_key = re.escape(_hash_key(table, index))
    if kind == "INSERT":
        place = re.search(rf"'{hash_key}'\s*:\s*\?", text)
        attributes = re.findall(r"'([^']+)'\s*:\s*\?", text)
    else:
        where = text.find("WHERE")
        place = re.compile(rf'"{hash_key}"\s*=\s*\?').search(text, max(where, 0))
        attributes = re.findall(r'"([^"]+)"', text[found.end() :])
    # A value belongs to its question mark, counted from the start.
    key = _text(values[text.count("?", 0, place.end()) - 1]) if place else None
    context = {**_keys(key), "dynamodb:Attributes": sorted(set(attributes)), **more}
    return f"PartiQL{kind.capitalize()}", f"{table}/index/{index}" if index else table, context


def _queried(call: Document, hash_key: str) -> str | None:
    names, values = call.get("ExpressionAttributeNames") or {}, call.get("ExpressionAttributeValues") or {}
    found = re.findall(r"([#\w]+)\s*=\s*(:\w+)", call.get("KeyConditionExpression") or "")
    return next((_text(values.get(value)) for name, value in found if names.get(name, name) == hash_key), None)


def _keys(*found: str | None) -> Document:
    """Left out where one is not known: then no condition on them is met."""
    known = sorted({key for key in found if key is not None})
    return {"dynamodb:LeadingKeys": known} if known and None not in found else {}


def _text(value: Document | None) -> str | None:
    return next((str(each) for each in value.values()), None) if value else None


def _hash_key(table: str, index: str | None = None) -> str:
    dynamodb: Any = import_module("ministack.services.dynamodb")
    known = dynamodb._tables.get(table.rpartition("/")[2])
    if known is None:
        return ""
    return str(dynamodb._resolve_index_keys(known, index)[0] if index else known["pk_name"])
