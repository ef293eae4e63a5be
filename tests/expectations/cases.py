"""What the store relies on of DynamoDB: each case is one fact, AWS's answer to it, and who says so.

A case asks a DynamoDB through a real client, with botocore's checks of parameters on, and gives what it saw in plain
values. `answer` is AWS's. Sources are pages of AWS's documentation, or cases of public suites that were recorded on
AWS: `paritysuite` is github.com/paritysuite/dynamodb-conformance, `nubo-db` is github.com/nubo-db/dynamodb-conformance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.kernel.dynamodb.expressions import (
    REFUSED,
    from_item,
    insert_statement,
    key_condition,
    stem,
    to_item,
    update_statement,
    write_request,
)
from leasehold.kernel.dynamodb.table import KEYS_PER_BATCH, STATEMENTS_PER_BATCH
from leasehold.kernel.table import (
    DUE_INDEX,
    JOBS,
    MAX_TOKEN_LENGTH,
    Above,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    NotAfter,
    OneOf,
    Put,
    Update,
)
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.dynamodb.table import TableNames
    from leasehold.kernel.table import Change

_GUIDE = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
_API = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    answer: object
    source: str
    ask: Callable[[Site], object]


def _key(name: str) -> Key:
    return Key(JOBS, ("things", name))


class Site:
    """Fresh tables on one engine, with one item in them: things/one has n = 1 and status = waiting."""

    def __init__(self, client: DynamoDBClient, names: TableNames) -> None:
        self.client: Any = client
        self.table = names.jobs
        create_tables(client, names)
        self.put("one", n=1, status="waiting", gone="soon", also="gone")

    def put(self, name: str, **record: Any) -> Site:
        self.client.put_item(TableName=self.table, Item=to_item({"PK": "things", "SK": name, **record}))
        return self

    def read(self, name: str) -> dict[str, Any] | None:
        found = self.client.get_item(TableName=self.table, Key=to_item(_key(name).attributes), ConsistentRead=True)
        return _shown(from_item(found["Item"])) if "Item" in found else None

    def statements(self, *statements: dict[str, Any]) -> list[object]:
        """The answer to each: "made", or its code, with the item if one is told."""
        return [
            "made" if "Error" not in each else (each["Error"]["Code"], *(["item"] if "Item" in each["Error"] else []))
            for each in self.client.batch_execute_statement(Statements=list(statements))["Responses"]
        ]

    def write(self, change: Change) -> object:
        """What a single write answers: its image, or its code and the item that it is told."""
        operation = {Put: "put_item", Update: "update_item", Delete: "delete_item"}[type(change)]
        image = {"ReturnValues": "ALL_NEW"} if isinstance(change, Update) else {}
        request = {"TableName": self.table, **write_request(change), **image}
        try:
            answer = getattr(self.client, operation)(**request)
        except ClientError as error:
            item: Any = error.response.get("Item")
            return error.response["Error"]["Code"], _shown(from_item(item)) if item else None
        return _shown(from_item(answer["Attributes"])) if "Attributes" in answer else "made"

    def transact(self, *changes: Change, token: str = "token") -> object:
        kinds = {Put: "Put", Update: "Update", Delete: "Delete"}
        items = [{kinds[type(each)]: {"TableName": self.table, **write_request(each)}} for each in changes]
        return self.code(
            lambda: self.client.transact_write_items(TransactItems=items, ClientRequestToken=self.token(token))
        )

    def transact_statements(self, *statements: dict[str, Any], token: str = "token") -> object:
        """ "made", or the code of the refusal, with "refused" where an item or a condition stood in the way."""
        request = {"TransactStatements": list(statements), "ClientRequestToken": self.token(token)}
        try:
            self.client.execute_transaction(**request)
        except ClientError as error:
            reasons: Any = error.response.get("CancellationReasons") or []
            code, said = error.response["Error"]["Code"], {stem(each.get("Code", "")) for each in reasons}
            return (code, "refused") if said & REFUSED else code
        return "made"

    def read_batch(self, *names: str) -> Any:
        keys = [to_item(_key(name).attributes) for name in names]
        return self.client.batch_get_item(RequestItems={self.table: {"Keys": keys}})

    def token(self, token: str) -> str:
        """Engines remember tokens beyond a table's life: this one is the table's own."""
        return token if len(token) > MAX_TOKEN_LENGTH else f"{token}-{self.table}"[-MAX_TOKEN_LENGTH:]

    def code(self, call: Callable[[], Any]) -> object:
        """ "made", or the code of the refusal with the codes of the reasons."""
        try:
            call()
        except ClientError as error:
            reasons: Any = error.response.get("CancellationReasons")
            codes = [each.get("Code", "None") + ("+item" if each.get("Item") else "") for each in reasons or []]
            return (error.response["Error"]["Code"], codes) if codes else error.response["Error"]["Code"]
        return "made"

    def update(self, name: str = "one", *conditions: Any, **changes: Any) -> dict[str, Any]:
        sets, removes = changes.get("sets", {"n": 2}), frozenset(changes.get("removes", ()))
        return update_statement(self.table, Update(key=_key(name), conditions=conditions, sets=sets, removes=removes))

    def insert(self, name: str, **record: Any) -> dict[str, Any]:
        return insert_statement(self.table, {"PK": "things", "SK": name, **record})

    def query(self, *, where: Any = (), index: bool = False, **options: Any) -> tuple[list[str], bool]:
        """Sort keys of one page, and whether it has a cursor."""
        answer = self.page(where=where, index=index, **options)
        return [each["SK"]["S"] for each in answer["Items"]], "LastEvaluatedKey" in answer

    def page(self, first: str | None = None, last: str | None = None, **options: Any) -> Any:
        index, where = options.pop("index", False), options.pop("where", ())
        names = (DUE_INDEX.partition, DUE_INDEX.sort) if index else ("PK", "SK")
        asked = key_condition(names, "lane" if index else "things", first, last, where)
        on_index = {"IndexName": DUE_INDEX.name} if index else {"ConsistentRead": True}
        return self.client.query(TableName=self.table, **asked, **on_index, **options)

    def range(self, first: str | None, last: str | None, **options: Any) -> list[str]:
        return [each["SK"]["S"] for each in self.page(first, last, **options)["Items"]]


def _shown(record: Any) -> dict[str, Any]:
    return {name: value for name, value in sorted(record.items()) if name not in {"PK", "SK", "gone", "also"}}


_STORED = {"n": 1, "status": "waiting"}
_BATCH, _STATEMENT = "tier2/partiql/batchExecuteStatement", "tier2/partiql/executeStatement"
_TRANSACTION = "tier2/transactions/transactWrite"
_TRANSACTED = "tier2/partiql/executeTransaction"

CASES = (
    Case(
        "a statement inserts with a `?` for each value",
        (["made"], {"n": 7, "text": "it's"}),
        f"paritysuite {_STATEMENT}: parameterized INSERT with ? placeholders",
        lambda site: (site.statements(site.insert("new", n=7, text="it's")), site.read("new")),
    ),
    Case(
        "an insert where there is an item is refused as DuplicateItem and changes nothing",
        ([("DuplicateItem",)], _STORED),
        f"paritysuite {_BATCH}: carries TableName on a duplicate insert",
        lambda site: (site.statements(site.insert("one", n=9)), site.read("one")),
    ),
    Case(
        "SET and REMOVE stand before each path",
        (["made"], {"n": 2, "status": "taken"}, True),
        f"{_GUIDE}ql-reference.update.html, and paritysuite tier2/partiql/setFunctions: two SET clauses",
        lambda site: (
            site.statements(site.update(sets={"n": 2, "status": "taken"}, removes=("gone", "also"))),
            site.read("one"),
            "gone" not in site.client.get_item(TableName=site.table, Key=to_item(_key("one").attributes))["Item"],
        ),
    ),
    Case(
        "a statement's conditions beside its key hold, or it is refused and changes nothing",
        (["made"], [("ConditionalCheckFailed",)], {"n": 2, "status": "waiting"}),
        f"paritysuite {_STATEMENT}: UPDATE with a false non-key predicate fails",
        lambda site: (
            site.statements(site.update("one", Equals("n", 1), sets={"n": 2})),
            site.statements(site.update("one", Equals("n", 1), sets={"n": 3})),
            site.read("one"),
        ),
    ),
    Case(
        "a statement that updates what is not there is refused and creates nothing",
        ([("ConditionalCheckFailed",)], None),
        f"paritysuite {_STATEMENT}: UPDATE on a non-existent key fails",
        lambda site: (site.statements(site.update("absent")), site.read("absent")),
    ),
    Case(
        "IS MISSING and IS NOT MISSING ask for an attribute",
        (["made", ("ConditionalCheckFailed",)], {"n": 2, "status": "waiting"}),
        f"paritysuite {_STATEMENT}: evaluates negated predicates (NOT begins_with, IS NOT MISSING)",
        lambda site: (
            [
                *site.statements(site.update("one", Missing("claimed"), Exists("status"))),
                *site.statements(site.update("one", Missing("status"))),
            ],
            site.read("one"),
        ),
    ),
    Case(
        "IN takes a list in brackets",
        (["made"], [("ConditionalCheckFailed",)]),
        f"{_GUIDE}ql-reference.select.html",
        lambda site: (
            site.statements(site.update("one", OneOf("status", ("ready", "waiting")))),
            site.statements(site.update("one", OneOf("status", ("ready", "done")))),
        ),
    ),
    Case(
        "numbers and texts are compared with > and <=",
        (["made"], [("ConditionalCheckFailed",)]),
        f"paritysuite {_STATEMENT}: SELECTs with WHERE clause using comparison",
        lambda site: (
            site.statements(site.update("one", Above("n", 0), NotAfter("status", "waiting"))),
            site.statements(site.update("one", NotAfter("status", "waitin"))),
        ),
    ),
    Case(
        "a refused statement of a batch carries no item, though it asks for it",
        [("ConditionalCheckFailed",)],
        f"paritysuite {_BATCH}: returns no Item with the option set to ALL_OLD",
        lambda site: site.statements(
            {**site.update("one", Equals("n", 5)), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        ),
    ),
    Case(
        "a statement that cannot be read refuses itself as ValidationError and no other",
        [("ValidationError",), "made"],
        f"paritysuite {_BATCH}: surfaces a malformed member statement as a per-statement ValidationError",
        lambda site: site.statements({"Statement": f'UPDATE "{site.table}" SETT n=1'}, site.insert("new")),
    ),
    Case(
        "a statement on a table that is not there refuses itself as ResourceNotFound and no other",
        [("ResourceNotFound",), "made"],
        f"nubo-db {_BATCH}: partial failure, one valid and one invalid statement",
        lambda site: site.statements(insert_statement("no-such-table", {"PK": "a", "SK": "b"}), site.insert("new")),
    ),
    Case(
        f"a batch has at most {STATEMENTS_PER_BATCH} statements",
        ("made", "ValidationException"),
        f"{_API}API_BatchExecuteStatement.html",
        lambda site: tuple(
            site.code(
                lambda count=count: site.client.batch_execute_statement(  # type: ignore[misc]
                    Statements=[site.insert(f"{count}-{number}") for number in range(count)]
                )
            )
            for count in (STATEMENTS_PER_BATCH, STATEMENTS_PER_BATCH + 1)
        ),
    ),
    Case(
        "a put under a condition that fails is told the item that is there",
        (("ConditionalCheckFailedException", _STORED), _STORED),
        "nubo-db tier3/error-messages/conditionalCheck: ALL_OLD returns item in error",
        lambda site: (site.write(Put(key=_key("one"), record={"n": 5})), site.read("one")),
    ),
    Case(
        "an update whose condition fails on what is not there is told nothing and creates nothing",
        (("ConditionalCheckFailedException", None), None),
        "nubo-db tier1/updateItem/conditions: comparison condition rejects update on non-existent key; no ghost item",
        lambda site: (
            site.write(Update(key=_key("absent"), conditions=(Equals("n", 1),), sets={"n": 2})),
            site.read("absent"),
        ),
    ),
    Case(
        "an update answers with the item after it, and ADD counts from nothing",
        {"n": 2, "runs": 1, "status": "waiting"},
        f"{_GUIDE}Expressions.UpdateExpressions.html",
        lambda site: site.write(
            Update(key=_key("one"), conditions=(Exists("PK"), Missing("runs")), sets={"n": 2}, adds={"runs": 1})
        ),
    ),
    Case(
        "a comparison with an attribute that is not there is false",
        [("ConditionalCheckFailedException", _STORED)] * 2,
        "nubo-db tier1/putItem/conditions: equals on a missing attribute evaluates to false",
        lambda site: [
            site.write(Update(key=_key("one"), conditions=(condition,), sets={"n": 2}))
            for condition in (Equals("nothing", 1), Above("nothing", 0))
        ],
    ),
    Case(
        "a delete of what is not there is no error",
        "made",
        "nubo-db tier1/deleteItem/basic: succeeds silently when deleting a non-existent item",
        lambda site: site.write(Delete(key=_key("absent"), conditions=())),
    ),
    Case(
        "a transaction that is repeated with its token takes effect once",
        ("made", "made", {"n": 1, "runs": 1, "status": "waiting"}),
        f"nubo-db {_TRANSACTION}: supports idempotency via ClientRequestToken",
        lambda site: (
            *(site.transact(Update(key=_key("one"), conditions=(), adds={"runs": 1})) for _ in range(2)),
            site.read("one"),
        ),
    ),
    Case(
        "a token that comes back with other changes is refused",
        ("made", "IdempotentParameterMismatchException", None),
        f"nubo-db {_TRANSACTION}: rejects same ClientRequestToken with different payload",
        lambda site: (
            site.transact(Put(key=_key("two"), record={})),
            site.transact(Put(key=_key("three"), record={})),
            site.read("three"),
        ),
    ),
    Case(
        "a token whose transaction was cancelled is free",
        (("TransactionCanceledException", ["ConditionalCheckFailed"]), "made"),
        f"{_API}API_TransactWriteItems.html",
        lambda site: (
            site.transact(wanted := Update(key=_key("two"), conditions=(Exists("PK"),), sets={"n": 2})),
            site.put("two").transact(wanted),
        ),
    ),
    Case(
        f"a token has at most {MAX_TOKEN_LENGTH} characters",
        "ValidationException",
        f"{_API}API_TransactWriteItems.html",
        lambda site: site.transact(Put(key=_key("two"), record={}), token="x" * (MAX_TOKEN_LENGTH + 1)),
    ),
    Case(
        "a cancelled transaction has a reason for each change, with the item where asked, and changes nothing",
        (("TransactionCanceledException", ["None", "ConditionalCheckFailed+item"]), None),
        "nubo-db tier3/error-messages/transactWriteItems: one passing, one failing: positional reason codes",
        lambda site: (
            site.transact(Put(key=_key("two"), record={}), Put(key=_key("one"), record={})),
            site.read("two"),
        ),
    ),
    Case(
        "a transaction changes an item once",
        "ValidationException",
        f"nubo-db {_TRANSACTION}: rejects duplicate target items in same transaction",
        lambda site: site.transact(
            Put(key=_key("two"), record={}), Update(key=_key("two"), conditions=(), sets={"n": 1})
        ),
    ),
    Case(
        "a transaction has at most 100 changes",
        ("made", "ValidationException"),
        "nubo-db tier3/limits/transactionLimits: TransactWriteItems with 101 actions fails with ValidationException",
        lambda site: tuple(
            site.transact(*(Put(key=_key(f"{count}-{n}"), record={}) for n in range(count)), token=f"{count}")
            for count in (100, 101)
        ),
    ),
    Case(
        "a transaction of statements inserts and updates",
        ("made", {"n": 7}, {"n": 2, "status": "waiting"}),
        f"nubo-db {_TRANSACTED}: transactional INSERT and UPDATE both succeed atomically",
        lambda site: (
            site.transact_statements(site.insert("two", n=7), site.update("one", Equals("n", 1))),
            site.read("two"),
            site.read("one"),
        ),
    ),
    Case(
        "an insert where there is an item cancels its transaction of statements",
        (("TransactionCanceledException", "refused"), None, _STORED),
        f"nubo-db {_TRANSACTED}: transaction rolls back on duplicate key INSERT",
        lambda site: (
            site.transact_statements(site.insert("two"), site.insert("one", n=9)),
            site.read("two"),
            site.read("one"),
        ),
    ),
    Case(
        "an update whose condition fails, or whose item is not there, cancels its transaction of statements",
        (*[("TransactionCanceledException", "refused")] * 2, None, _STORED),
        f"{_API}API_ExecuteTransaction.html, and {_GUIDE}ql-reference.update.html",
        lambda site: (
            site.transact_statements(site.insert("two"), site.update("one", Equals("n", 9)), token="other"),
            site.transact_statements(site.insert("two"), site.update("three", Exists("PK")), token="absent"),
            site.read("two"),
            site.read("one"),
        ),
    ),
    Case(
        "a transaction of statements with the token of one that was made is made once",
        ("made", "made", "IdempotentParameterMismatchException"),
        f"{_API}API_ExecuteTransaction.html",
        lambda site: (
            site.transact_statements(site.insert("two")),
            site.transact_statements(site.insert("two")),
            site.transact_statements(site.insert("three")),
        ),
    ),
    Case(
        "a transaction has at most 100 statements",
        ("made", "ValidationException"),
        f"{_API}API_ExecuteTransaction.html",
        lambda site: tuple(
            site.transact_statements(*(site.insert(f"{count}-{n}") for n in range(count)), token=f"{count}")
            for count in (100, 101)
        ),
    ),
    Case(
        f"a batch of reads has at most {KEYS_PER_BATCH} keys",
        ("made", "ValidationException"),
        "nubo-db tier3/limits/batchLimits: BatchGetItem with 101 keys fails with ValidationException",
        lambda site: tuple(
            site.code(
                lambda count=count: site.client.batch_get_item(  # type: ignore[misc]
                    RequestItems={site.table: {"Keys": [to_item(_key(f"{n}").attributes) for n in range(count)]}}
                )
            )
            for count in (KEYS_PER_BATCH, KEYS_PER_BATCH + 1)
        ),
    ),
    Case(
        "a batch of reads leaves out what is not there",
        ["one"],
        f"{_API}API_BatchGetItem.html",
        lambda site: [each["SK"]["S"] for each in site.read_batch("one", "absent")["Responses"][site.table]],
    ),
    Case(
        "a call on a table that is not there is refused as ResourceNotFoundException",
        "ResourceNotFoundException",
        f"{_API}API_GetItem.html",
        lambda site: site.code(lambda: site.client.get_item(TableName="absent", Key=to_item(_key("one").attributes))),
    ),
    Case(
        "a page is cut before it is filtered, and may be empty and have a cursor",
        ([], True),
        "nubo-db tier1/query/basic: Limit applies to scanned items, not filtered items",
        lambda site: site.put("two", n=2).query(where=(Equals("n", 2),), Limit=1),
    ),
    Case(
        "a full page has a cursor though nothing follows",
        (["one"], True),
        f"{_GUIDE}Query.Pagination.html",
        lambda site: site.query(Limit=1),
    ),
    Case(
        "an index shows the items that have both of its attributes, by its sort key",
        (["c", "b"], False),
        "nubo-db tier1/query/gsi: sparse GSI: items without GSI key attributes are excluded",
        lambda site: (
            site.put("b", due_lane="lane", due_key="2")
            .put("c", due_lane="lane", due_key="1")
            .put("d", due_lane="lane")
            .query(index=True)
        ),
    ),
    Case(
        "an index shows the attributes that it is defined with, and the keys",
        ["PK", "SK", "due_key", "due_lane", "status"],
        f"{_GUIDE}GSI.html",
        lambda site: sorted(
            site.put("b", due_lane="lane", due_key="2", status="waiting", data="large").page(index=True)["Items"][0]
        ),
    ),
    Case(
        "a range of sort keys has both its ends, and is read from either",
        (["b", "c"], ["c", "one"], ["a", "b"], ["c", "b"]),
        "nubo-db tier1/query/basic: supports BETWEEN on sort key",
        lambda site: (
            site.put("a").put("b").put("c").range("b", "c"),
            site.range("c", None),
            site.range(None, "b"),
            site.range("b", "c", ScanIndexForward=False),
        ),
    ),
    Case(
        "a count has no items and is a page's",
        (1, [], True),
        f"{_API}API_Query.html",
        lambda site: (
            (page := site.put("two").page(Select="COUNT", Limit=1))["Count"],
            page.get("Items", []),
            "LastEvaluatedKey" in page,
        ),
    ),
    Case(
        "a number is no truth value, and a text no number",
        [("ConditionalCheckFailedException", {"flag": True, "n": "1"})] * 2,
        f"{_GUIDE}Expressions.OperatorsAndFunctions.html",
        lambda site: [
            site.put("two", flag=True, n="1").write(Update(key=_key("two"), conditions=(condition,), sets={"x": 1}))
            for condition in (Equals("flag", 1), Equals("n", 1))
        ],
    ),
    Case(
        "an attribute of an index is no empty text",
        "ValidationException",
        "paritysuite tier1/batchWriteItem/indexKeyValidation: rejects an empty-string index key value",
        lambda site: site.code(lambda: site.put("two", due_lane="lane", due_key="")),
    ),
    Case(
        "an item has at most 400 KB, by a put, an update and a statement",
        ["ValidationException", "ValidationException", ("ValidationError",)],
        "nubo-db tier3/limits/itemSize: item over 400KB fails with ValidationException",
        lambda site: [
            site.code(lambda: site.put("two", data="x" * 410_000)),
            _first(site.write(Update(key=_key("one"), conditions=(), sets={"data": "x" * 410_000}))),
            *site.statements(site.insert("two", data="x" * 410_000)),
        ],
    ),
)


def _first(answer: object) -> object:
    return answer[0] if isinstance(answer, tuple) else answer
