"""Requests that our adapter does not make: other words of the language, and what DynamoDB must refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.agreement.malformed import BAD_KEYS, BAD_TRANSACTIONS, BAD_VALUES, Jobs

if TYPE_CHECKING:
    from random import Random

    from leasehold.kernel.dynamodb.table import TableNames

type Call = tuple[str, dict[str, Any]]

_VALUES: dict[str, dict[str, Any]] = {
    ":text": {"S": "b"},
    ":empty": {"S": ""},
    ":number": {"N": "2"},
    ":float": {"N": "1.50"},
    ":flag": {"BOOL": True},
    ":null": {"NULL": True},
    ":list": {"L": [{"S": "b"}, {"N": "2"}]},
    ":map": {"M": {"a": {"N": "1"}}},
    ":words": {"SS": ["b", "c"]},
    ":numbers": {"NS": ["1", "2"]},
    ":bytes": {"B": "Yg=="},
    ":type": {"S": "N"},
}
CONDITIONS = (
    *("n = :number", "n <> :number", "n < :float", "n >= :number", ":number < n", "n = m", "s > n", "flag = :flag"),
    *("n BETWEEN :float AND :number", "n IN (:number, :text)", "NOT n = :number", "NOT (n = :number OR s = :text)"),
    *("size(s) > :number", "size(l) = :number", "size(words) = :number", "contains(s, :text)", "contains(l, :text)"),
    *("contains(words, :text)", "begins_with(s, :text)", "attribute_type(n, :type)", "nothing <> :text"),
    *("l[0] = :text", "map1.a = :number", "map1.nested.deep = :number", "attribute_exists(l[1])", "words = :words"),
    *("n = :number AND s = :text OR flag = :flag", "attribute_exists(n) AND NOT attribute_exists(s)"),
    # Refused.
    *("", "n =", "= :number", "n = :number AND", "(n = :number", "((n = :number))", "((n = :number) AND (s = :text))"),
    *("status = :text", "n = :undefined", "#undefined = :number", "n == :number", "n ! :number", "size(s)"),
    *("unknown(n)", "attribute_exists(:number)", "n > :flag", "n BETWEEN :flag AND :null", "begins_with(s, :number)"),
    *("attribute_type(n, :text)", "n IN ()", "n IN :number", "n BETWEEN :number", "1 = :number", "n = 'text'"),
)
UPDATES = (
    *(
        "SET n = :number",
        "SET n = n + :number",
        "SET n = n - :float",
        "SET x = if_not_exists(n, :number)",
        "ADD n :float",
    ),
    *("SET l = list_append(l, :list)", "SET l = list_append(if_not_exists(l, :list), :list)", "SET l[0] = :text"),
    *(
        "SET map1.a = :text",
        "SET map1.b = :text REMOVE n",
        "REMOVE l[0]",
        "REMOVE l[1], l[0]",
        "REMOVE x",
    ),
    *(
        "ADD words :words",
        "ADD numbers :numbers",
        "DELETE words :words",
        "DELETE numbers :numbers",
        "set n = :number remove s",
    ),
    *(
        "SET s = n, n = s",
        "SET x = if_not_exists(x, :number) + :number",
        "SET l = :list, map1 = :map",
        "DELETE nothing :words",
    ),
    # Refused.
    *(
        "",
        "SET",
        "SET n",
        "SET n = ",
        "SET n = :number SET s = :text",
        "SET n = :number, n = :text",
        "SET map1 = :map, map1.a = :text",
    ),
    *(
        "SET n = missing",
        "SET n = s + :number",
        "ADD s :number",
        "ADD n :text",
        "DELETE n :words",
        "ADD words :numbers",
    ),
    *("SET map2.a = :text", "SET s[0] = :text", "SET PK = :text", "REMOVE SK", "ADD n + :number", "SET n = :undefined"),
    *("SET status = :text", "SET n = n + :number + :float", "FETCH n", "SET n = unknown(n)", "SET due_lane = :number"),
    *("SET due_lane = :empty", "SET due_lane = :text, due_key = :text", "REMOVE nothing.inner"),
)
KEY_CONDITIONS = (
    *(
        "PK = :p AND begins_with(SK, :s)",
        "PK = :p AND SK > :s",
        "PK = :p AND SK < :s",
        "PK = :p AND SK = :s",
        "PK = :p",
    ),
    *("SK = :s AND PK = :p", ":p = PK AND :s <= SK", "PK = :p AND SK BETWEEN :s AND :s", "(PK = :p) AND (SK >= :s)"),
    # Refused.
    *("PK > :p", "SK = :s", "PK = :p AND n = :s", "PK = :p AND SK <> :s", "PK = :p OR SK = :s", "PK = :p AND PK = :p"),
    *("PK = :p AND SK = :s AND SK = :s", "PK = :p AND NOT SK = :s", "PK = :p AND SK IN (:s)", "", "PK = :n", "PK = SK"),
    *(
        "PK = :empty",
        "PK = :p AND attribute_exists(SK)",
        "PK = :p AND SK BETWEEN :t AND :s",
        "PK = :p AND contains(SK, :s)",
    ),
)


class Hostile:
    def __init__(self, random_source: Random, names: TableNames) -> None:
        self._random_source = random_source
        self._jobs = Jobs(random_source, names.jobs)

    def call(self) -> Call:
        makers = [self._put] * 2 + [self._condition] * 4 + [self._update] * 5 + [self._query] * 3
        makers += [self._key, self._value, self._transact, self._read]
        return self._random_source.choice(makers)()

    def remember(self, call: Call, answer: dict[str, Any]) -> None:
        """No request here builds on an answer."""

    def _put(self) -> Call:
        return "PutItem", {
            "TableName": self._jobs.table,
            "Item": self._jobs.item(),
            "ReturnConsumedCapacity": "INDEXES",
        }

    def _condition(self) -> Call:
        text = self._random_source.choice(CONDITIONS)
        returns = {"ReturnValuesOnConditionCheckFailure": self._random_source.choice(["NONE", "ALL_OLD"])}
        request = {**self._jobs.addressed(), "ConditionExpression": text, **_given(text, _VALUES), **returns}
        return "DeleteItem", {**request, "ReturnValues": self._random_source.choice(["NONE", "ALL_OLD"])}

    def _update(self) -> Call:
        text = self._random_source.choice(UPDATES)
        returns = self._random_source.choice(["NONE", "ALL_OLD", "ALL_NEW"])
        request = {**self._jobs.addressed(), "UpdateExpression": text, **_given(text, _VALUES), "ReturnValues": returns}
        return "UpdateItem", {**request, "ReturnConsumedCapacity": "INDEXES"}

    def _query(self) -> Call:
        text = self._random_source.choice(KEY_CONDITIONS)
        key = self._jobs.key()
        values = {":p": key["PK"], ":s": key["SK"], ":t": {"S": "~"}, ":n": {"N": "1"}, ":empty": {"S": ""}}
        given = _given(text, values)
        extra: dict[str, Any] = self._random_source.choice(
            [
                *({"ProjectionExpression": "n, s"}, {"Select": "COUNT"}, {"ScanIndexForward": False}, {"Limit": 1}),
                *({"Limit": 0}, {"IndexName": "nowhere"}, {"ExclusiveStartKey": {"PK": {"S": "p"}}}, {}, {}),
            ]
        )
        return "Query", {"TableName": self._jobs.table, "KeyConditionExpression": text, **given, **extra}

    def _read(self) -> Call:
        bad: dict[str, Any] = self._random_source.choice(
            [
                {"IndexName": "due", "ConsistentRead": True},
                {"IndexName": "due", "ExclusiveStartKey": self._jobs.key()},
                {"ExpressionAttributeNames": {"#unused": "x"}},
                {"TableName": "no-such-table"},
            ]
        )
        name = "due_lane" if "IndexName" in bad else "PK"
        request = {"KeyConditionExpression": f"{name} = :p", "ExpressionAttributeValues": {":p": {"S": "p0"}}}
        return "Query", {"TableName": self._jobs.table, **request, **bad}

    def _key(self) -> Call:
        operation, name = self._random_source.choice([("GetItem", "Key"), ("DeleteItem", "Key"), ("PutItem", "Item")])
        return operation, {"TableName": self._jobs.table, name: self._random_source.choice(BAD_KEYS)}

    def _value(self) -> Call:
        item = {**self._jobs.key(), "x": self._random_source.choice(BAD_VALUES)}
        return "PutItem", {"TableName": self._jobs.table, "Item": item}

    def _transact(self) -> Call:
        return "TransactWriteItems", {"TransactItems": self._random_source.choice(BAD_TRANSACTIONS)(self._jobs)}


def _given(text: str, values: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The values that the text uses, as far as there are any."""
    used = {
        name: value for name, value in values.items() if f"{name}," in f"{text} ".replace(" ", ",").replace(")", ",")
    }
    return {"ExpressionAttributeValues": used} if used else {}
