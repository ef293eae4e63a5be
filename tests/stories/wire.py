"""Stories of the wire: which requests the DynamoDB adapter makes of a change, and what it makes of each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError, ConnectionClosedError

from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.table import (
    BY_DATE_INDEX,
    DEAD_LETTERS,
    DUE_INDEX,
    JOBS,
    Above,
    After,
    AnyOf,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    NotAfter,
    OneOf,
    Put,
    TransactionCancelled,
    Update,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.table import Record

ITEM = {"PK": {"S": "a"}, "SK": {"S": "b"}, "n": {"N": "7"}}
GONE: dict[str, Any] = {"Items": [], "Count": 0}
REFUSED = "ConditionalCheckFailedException"
CONFLICT = "TransactionConflictException"


def key(name: str) -> Key:
    return Key(JOBS, (name, "-"))


def put(name: str, **record: Any) -> Put:
    return Put(key=key(name), record=record or {"n": 1})


def update(name: str, *conditions: Any, **sets: Any) -> Update:
    return Update(key=key(name), conditions=conditions or (Exists("PK"),), sets=sets or {"n": 1})


def error(code: str, operation: str = "Call", *, status: int = 400, retries: int = 0, **more: Any) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": f"{code} it is"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": retries},
        **more,
    }
    return ClientError(cast("Any", answer), operation)


def cancelled(*reasons: str | dict[str, Any]) -> ClientError:
    given = [{"Code": each, "Message": "so"} if isinstance(each, str) else each for each in reasons]
    return error("TransactionCanceledException", CancellationReasons=given)


def responses(*codes: str | None) -> dict[str, Any]:
    return {"Responses": [{} if code is None else {"Error": {"Code": code, "Message": "so"}} for code in codes]}


class Wire:
    """A client that answers as it is told, and writes down what it was asked."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.answers: list[Any] = []
        self.table = DynamoTable(
            cast("Any", self),
            TableNames(jobs="jobs", dead_letters="letters"),
            sleep=lambda seconds: self.lines.append(f"  pauses {seconds:.4f} s"),
            random_source=lambda: 0.5,
        )

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.lines.append(f"  {operation} {_plain(request)}")
            answer = self.answers.pop(0) if self.answers else {}
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    def tries(self, title: str, act: Callable[[], Any], *answers: Any) -> None:
        self.lines += ["", f"» {title}"]
        self.answers = list(answers)
        try:
            self.lines.append(f"  = {_told(act())}")
        except Exception as raised:
            self.lines.append(f"  raised {_told(raised)}")
        if self.answers:
            self.lines.append(f"  did not ask for {len(self.answers)} more answers")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_plain(each)}" for name, each in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return str(value)


def _told(answer: Any) -> str:
    match answer:
        case ConditionFailed():
            again = ", repeated" if answer.was_repeated else ""
            return f"ConditionFailed({_plain(answer.current)}{again})"
        case TransactionCancelled():
            return f"TransactionCancelled({_plain(answer.failed)})"
        case Exception():
            return f"{type(answer).__name__}: {answer}"
        case list():
            return "[" + ", ".join(map(_told, answer)) + "]"
        case _:
            return _plain(answer) if isinstance(answer, dict) else str(answer)


def reads(wire: Wire) -> None:
    """Reads"""
    table, item, more = wire.table, ITEM, {"LastEvaluatedKey": ITEM}
    wire.tries("one", lambda: table.get(key("a")), {"Item": item})
    wire.tries("one that is not there", lambda: table.get(Key(DEAD_LETTERS, ("x",))))
    wire.tries("none", lambda: table.get_many([]))
    many = [key("a"), key("b"), key("a"), Key(DEAD_LETTERS, ("x",))]
    unread = {"Responses": {"jobs": [item]}, "UnprocessedKeys": {"jobs": {"Keys": ["rest"]}}}
    wire.tries("many", lambda: table.get_many(many), {"Responses": {"jobs": [item], "letters": []}})
    wire.tries("many, a part at a time", lambda: table.get_many(many), unread, {"Responses": {"jobs": [item]}})
    wire.tries("many that are never read", lambda: table.get_many(many), *[unread] * 9)
    hundred = [key(f"k{number}") for number in range(101)]
    full = {"Responses": {"jobs": [item]}}
    wire.tries("more than a hundred", lambda: len(table.get_many(hundred)), full, full)
    wire.tries("a hundred", lambda: len(table.get_many(hundred[:100])), full, full)
    page = {"Items": [item, item]}
    wire.tries("a partition", lambda: table.query(JOBS, "p", limit=3), page)
    wire.tries("from", lambda: table.query(JOBS, "p", first="a", limit=3), {**page, **more})
    wire.tries("to", lambda: table.query(JOBS, "p", last="z", limit=3), GONE)
    wire.tries("between", lambda: table.query(JOBS, "p", first="a", last="z", limit=3, newest_first=True), GONE)
    wire.tries("cheaply", lambda: table.query(JOBS, "p", limit=3, consistent=False), GONE)
    after: Record = {"PK": "a", "SK": "b", "due_lane": "l", "due_key": "k", "n": 7}
    wire.tries("after", lambda: table.query(JOBS, "p", limit=3, after=after), GONE)
    wire.tries("an index", lambda: table.query(JOBS, "l", index=DUE_INDEX, limit=3, after=after), GONE)
    where = (OneOf("status", ("a", "b")), Above("n", 3))
    wire.tries("where", lambda: table.query(JOBS, "p", first="a", limit=3, where=where), GONE)
    wire.tries("letters", lambda: table.query(DEAD_LETTERS, "open", index=BY_DATE_INDEX, limit=3), GONE)
    counted = {"Count": 4}

    def count(limit: int) -> Callable[[], int]:
        return lambda: table.count(JOBS, "l", index=DUE_INDEX, last="z", limit=limit)

    wire.tries("count", count(10), counted)
    wire.tries("count more", count(10), {**counted, **more}, {**counted, **more}, {**counted, **more})
    wire.tries("count up to", count(8), {**counted, **more}, {**counted, **more}, {**counted, **more})
    wire.tries("scan", lambda: list(table.scan(JOBS)), {**page, **more}, page)


def writes(wire: Wire) -> None:
    """Writes of one record"""
    table = wire.table
    conditions = (
        Exists("a"),
        Missing("b"),
        Equals("c", True),
        OneOf("d", (1, "x")),
        After("e", "t"),
        NotAfter("f", "t"),
        Above("g", 2),
        AnyOf((Missing("h"), Equals("i", ["x", 1]))),
    )
    values: Record = {
        "text": "x",
        "number": 7,
        "flag": False,
        "bytes": b"z",
        "list": ["a", 1, True],
        "map": {"k": {"l": b"1"}},
    }
    everything = Update(
        key=key("a"), conditions=conditions, sets=values, adds={"count": 2}, removes=frozenset({"y", "x"})
    )
    changed = {"Attributes": {**ITEM, "f": {"BOOL": True}, "l": {"L": [{"S": "x"}, {"N": "1"}]}, "b": {"B": b"z"}}}
    wire.tries("insert", lambda: table.write(put("a", **values)))
    wire.tries("replace", lambda: table.write(Put(key=key("a"), record={"n": 1}, conditions=())))
    wire.tries("replace if", lambda: table.write(Put(key=key("a"), record={"n": 1}, conditions=(Equals("n", 0),))))
    wire.tries("update", lambda: table.write(everything), changed)
    wire.tries("update whatever is there", lambda: table.write(Update(key=key("a"), conditions=())), changed)
    wire.tries("delete", lambda: table.write(Delete(key=key("a"), conditions=(Exists("n"),))), {"Attributes": ITEM})
    wire.tries("delete what is not there", lambda: table.write(Delete(key=Key(DEAD_LETTERS, ("x",)), conditions=())))
    wire.tries("refused", lambda: table.write(put("a")), error(REFUSED, Item=ITEM))
    wire.tries("refused, nothing there", lambda: table.write(put("a")), error(REFUSED))
    wire.tries("refused when repeated", lambda: table.write(put("a")), error(REFUSED, retries=1, Item=ITEM))
    wire.tries("strange value", lambda: table.get(key("a")), {"Item": {"x": {"NS": ["1"]}}})
    wire.tries("bytes of a stream", lambda: table.get(key("a")), {"Item": {"x": {"B": "eg=="}}})
    for code in ("ThrottlingException", "ResourceNotFoundException", "ValidationException", "AccessDeniedException"):
        wire.tries(code, lambda: table.write(put("a")), error(code, "PutItem"))
    wire.tries("a fault of theirs", lambda: table.write(put("a")), error("Odd", "PutItem", status=500))
    wire.tries("a fault of ours", lambda: table.write(put("a")), error("Odd", "PutItem", status=499))
    lost = ConnectionClosedError(endpoint_url="https://x")
    wire.tries("no connection", lambda: table.write(put("a")), lost)
    wire.tries("a conflict", lambda: table.write(put("a")), error(CONFLICT), error(CONFLICT), {})
    wire.tries("conflicts without end", lambda: table.write(put("a")), *[error(CONFLICT)] * 9)


def batches(wire: Wire) -> None:
    """Batches of statements"""
    table = wire.table
    puts = [put(f"p{number}") for number in range(3)]
    wire.tries("insert none", lambda: table.insert_many([]))
    wire.tries("insert", lambda: table.insert_many(puts), responses(None, "DuplicateItem", REFUSED))
    wire.tries(
        "insert, with trouble",
        lambda: table.insert_many(puts),
        responses("ThrottlingError", None, CONFLICT),
        responses(None, "DuplicateItem"),
    )
    wire.tries("insert, throttled", lambda: table.insert_many(puts[:1]), *[responses("ThrottlingError")] * 9)
    wire.tries("insert, odd", lambda: table.insert_many(puts[:1]), responses("Odd"))
    away = ConnectionClosedError(endpoint_url="https://x")
    wire.tries("insert, no connection", lambda: table.insert_many(puts), away)
    wire.tries("insert, lost half-way", lambda: table.insert_many(puts), responses(None, CONFLICT, None), away)
    repeated = {**responses("DuplicateItem"), "ResponseMetadata": {"RetryAttempts": 1}}
    answers: list[Any] = []

    def insert_one() -> list[Any]:
        answers[:] = table.insert_many(puts[:1])
        return answers

    wire.tries("insert, repeated", insert_one, repeated)
    wire.tries("one is not taken", lambda: table.insert_many(puts), responses(None, "ValidationError", None), {})
    wire.tries("none is taken", lambda: table.insert_many(puts[:2]), error("AccessDeniedException"), error(REFUSED), {})
    wire.tries("none is tried again", lambda: table.insert_many(puts[:2]), {}, error("Odd", "PutItem"))
    updates = [
        Update(key=key("a"), conditions=(Equals("n", 1), OneOf("s", ("x", "y"))), sets={"n": 2}),
        Update(key=Key(DEAD_LETTERS, ("x",)), conditions=(Exists("id"), Missing("r")), removes=frozenset({"b", "a"})),
        update("c", After("t", "1"), NotAfter("u", "2"), Above("v", 3), x=1, y="2"),
    ]
    wire.tries("update", lambda: table.update_many(updates), responses(None, REFUSED, "AccessDenied"))
    wire.tries("update, refused", lambda: table.update_many(updates), error("ValidationException"))
    wire.tries("a count", lambda: table.update_many([Update(key=key("a"), conditions=(), adds={"n": 1})]))
    wire.tries("a choice", lambda: table.update_many([update("a", AnyOf((Missing("x"),)))]))
    many = [update(f"u{number}") for number in range(26)]
    full = responses(*[None] * 25)
    wire.tries("more than a batch", lambda: len(table.update_many(many)), full, responses(None))
    wire.tries("a batch", lambda: len(table.update_many(many[:25])), full, responses(None))


def transactions(wire: Wire) -> None:
    """Transactions"""
    table = wire.table
    inserts = [put("a"), put("b")]
    mixed = [put("a"), update("c", Equals("n", 1)), Delete(key=key("d"), conditions=(Exists("PK"),))]

    def together(changes: Any, **how: Any) -> Callable[[], None]:
        return lambda: table.transact(changes, token="token", **how)

    wire.tries("of several kinds", together(mixed))
    wire.tries("refused", together(mixed), cancelled("None", {"Code": "ConditionalCheckFailed", "Item": ITEM}, "None"))
    wire.tries("refused, nothing there", together(mixed), cancelled("ConditionalCheckFailed", "None", "None"))
    wire.tries("a conflict", together(mixed), cancelled("None", "TransactionConflict"), {})
    wire.tries("throttled", together(mixed), cancelled("ThrottlingError", "TransactionConflict"), {})
    wire.tries("too large", together(mixed), cancelled("None", "ItemCollectionSizeLimitExceeded"))
    wire.tries("conflicts without end", together(mixed), *[cancelled("TransactionConflict")] * 9)
    wire.tries("in progress", together(mixed), error("TransactionInProgressException"), {})
    wire.tries("insertions", together(inserts))
    wire.tries("insertions and an update", together([put("a"), update("c", Equals("n", 1), n=2)]))
    wire.tries("an update that creates", together([put("a"), update("c", Missing("PK"), n=2)]))
    wire.tries("updates only", together([update("a"), update("b")]))
    wire.tries("a put that replaces", together([Put(key=key("a"), record={"n": 1}, conditions=())]))
    wire.tries("insertions are not taken", together(inserts), error("ValidationException"), {})
    wire.tries("insertions are refused", together(inserts), cancelled("DuplicateItem", "None"), {"Item": ITEM}, {})
    wire.tries(
        "insertions are refused, and one may not look",
        together(inserts),
        cancelled("DuplicateItem", "None"),
        error("AccessDeniedException"),
        error("AccessDeniedException"),
    )
    gone = [cancelled("DuplicateItem", "None"), {}, {}]
    wire.tries("what stood in the way is gone", together(inserts), *gone, {})
    wire.tries("and comes back each time", together(inserts), *gone * 9)
    wire.tries("refused, and no answer", together(inserts), cancelled("DuplicateItem"), error("ThrottlingException"))
    wire.tries(
        "an update among them is refused",
        together([put("a"), update("c", Equals("n", 1), n=2)]),
        cancelled("None", "ConditionalCheckFailed"),
        {},
        {"Item": {"PK": {"S": "c"}, "SK": {"S": "-"}, "n": {"N": "3"}}},
    )


SCENES = {"reads": reads, "writes": writes, "batches": batches, "transactions": transactions}


def wire_text(name: str) -> str:
    wire = Wire()
    SCENES[name](wire)
    return "\n".join([SCENES[name].__doc__ or name, *wire.lines]) + "\n"
