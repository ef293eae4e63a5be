"""The table port on the low-level DynamoDB client: calls, their retries, and the translation of their errors."""

from __future__ import annotations

import random
import time
from itertools import batched
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from leasehold.kernel.dynamodb.expressions import (
    CONFLICTS,
    REFUSED,
    THROTTLES,
    UNTAKEN,
    check_foreign,
    from_item,
    insert_statement,
    key_condition,
    statement_answer,
    stem,
    to_item,
    update_statement,
    write_request,
)
from leasehold.kernel.errors import StoreError, StoreUnavailableError, TransactionRefusedError
from leasehold.kernel.table import (
    JOBS,
    ConditionFailed,
    Delete,
    Page,
    Put,
    StatementRefused,
    TransactionCancelled,
    Update,
    check_plain,
    content_token,
    only_inserts,
)
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.dynamodb.expressions import Request
    from leasehold.kernel.table import Asked, Change, ForeignItem, Index, Key, Record, TableDefinition

STATEMENTS_PER_BATCH = 25
KEYS_PER_BATCH = 100

_CONFLICT_TRIES = 8
_FIRST_PAUSE = 0.025
_LONGEST_PAUSE = 1.0
# The call that makes a change by itself, and what it is asked to return.
_OPERATIONS: dict[type, tuple[str, Request]] = {
    Put: ("put_item", {}),
    Update: ("update_item", {"ReturnValues": "ALL_NEW"}),
    Delete: ("delete_item", {"ReturnValues": "ALL_OLD"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    jobs: str
    dead_letters: str

    def of(self, definition: TableDefinition) -> str:
        return self.jobs if definition is JOBS else self.dead_letters


class DynamoTable:
    def __init__(
        self,
        client: DynamoDBClient,
        names: TableNames,
        *,
        sleep: Callable[[float], None] = time.sleep,
        random_source: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._names = names
        self.name = names.jobs
        self._sleep = sleep
        self._random_source = random_source
        self._takes_inserts = True

    def get(self, key: Key) -> Record | None:
        request = {"TableName": self._names.of(key.table), "Key": to_item(key.attributes), "ConsistentRead": True}
        return _found(self._call("get_item", request), "Item")

    def get_many(self, keys: Sequence[Key]) -> list[Record]:
        batches = batched(dict.fromkeys(keys), KEYS_PER_BATCH)
        return [record for batch in batches for record in self._get_batch(batch)]

    def query(self, table: TableDefinition, partition: str, *, limit: int, **asked: Unpack[Asked]) -> Page:
        index, after = asked.get("index"), asked.get("after")
        names = (index.partition, index.sort) if index else table.key
        chosen = key_condition(names, partition, asked.get("first"), asked.get("last"), asked.get("where", ()))
        forward = not asked.get("newest_first")
        request = {**self._source(table, index), **chosen, "Limit": limit, "ScanIndexForward": forward}
        if index is None and asked.get("consistent", True):
            request["ConsistentRead"] = True
        if after is not None:
            request["ExclusiveStartKey"] = to_item({name: after[name] for name in {*table.key, *names}})
        answer = self._call("query", request)
        return Page([from_item(item) for item in answer["Items"]], _found(answer, "LastEvaluatedKey"))

    def count(
        self, table: TableDefinition, partition: str, *, index: Index, last: str | None = None, limit: int
    ) -> int:
        counted = 0
        chosen = key_condition((index.partition, index.sort), partition, None, last)
        for answer in self._pages("query", {**self._source(table, index), **chosen, "Select": "COUNT"}):
            counted += answer["Count"]
            if counted >= limit:
                break
        return min(counted, limit)

    def scan(self, table: TableDefinition) -> Iterator[Record]:
        for answer in self._pages("scan", {"TableName": self._names.of(table), "ConsistentRead": True}):
            yield from map(from_item, answer["Items"])

    def write(self, change: Change) -> Record:
        operation, returned = _OPERATIONS[type(change)]
        request = {"TableName": self._names.of(change.key.table), **write_request(change), **returned}
        answer = self._call(operation, request)
        return change.item if isinstance(change, Put) else from_item(answer.get("Attributes", {}))

    def insert_many(self, puts: Sequence[Put]) -> list[Exception | None]:
        answers: list[Exception | None] = [StatementRefused("refused before")] * len(puts)
        if self._takes_inserts and puts:
            answers = self._execute([self._statement(put) for put in puts])
            self._takes_inserts = not all(isinstance(each, StatementRefused) for each in answers)
        return [
            self._insert(put) if isinstance(answer, StatementRefused) else answer
            for put, answer in zip(puts, answers, strict=True)
        ]

    def update_many(self, updates: Sequence[Update]) -> list[Exception | None]:
        check_plain(updates)
        return self._execute([self._statement(each) for each in updates])

    def _statement(self, change: Change) -> Request:
        table = self._names.of(change.key.table)
        if isinstance(change, Put):
            return insert_statement(table, change.item)
        return update_statement(table, cast("Update", change))

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[ForeignItem] = ()) -> None:
        if foreign:
            check_foreign(self._client, foreign)
        elif only_inserts(changes) and self._execute_transaction(changes, token):
            return
        items = [*self.transact_items(changes), *foreign]
        request = {"TransactItems": items, "ClientRequestToken": content_token(token, items)}
        self._call("transact_write_items", request, own=len(changes))

    def transact_items(self, changes: Sequence[Change]) -> list[Request]:
        """Changes as items of TransactWriteItems, also for a caller's own transaction."""
        return [
            {type(change).__name__: {"TableName": self._names.of(change.key.table), **write_request(change)}}
            for change in changes
        ]

    def _execute_transaction(self, changes: Sequence[Change], token: str) -> bool:
        """The transaction as statements, whose INSERT can replace nothing; False where these are not taken."""
        statements = [self._statement(each) for each in changes]
        request = {"TransactStatements": statements, "ClientRequestToken": content_token(token, statements)}
        for _ in self._tries():
            try:
                self._call("execute_transaction", request, own=len(changes))
            except StatementRefused:
                return False
            except TransactionCancelled as cancelled:
                failed = self._stored_instead(changes, cancelled)
                if failed:
                    raise TransactionCancelled(failed) from None
                # What stood in the way is gone again.
            else:
                return True
        raise StoreUnavailableError(f"table {self.name!r} is contended; try again")

    def _stored_instead(self, changes: Sequence[Change], cancelled: TransactionCancelled) -> dict[int, Record | None]:
        """Which conditions do not hold, and the record there: of statements DynamoDB need not say either of all."""
        from leasehold.kernel.memory import holds

        failed: dict[int, Record | None] = {}
        for position, change in enumerate(changes):
            try:
                current = self.get(change.key)
            except StoreUnavailableError:
                raise
            except StoreError:
                # Who may only insert cannot look.
                if position in cancelled.failed:
                    failed[position] = None
                continue
            guards = change.guards if isinstance(change, Put) else change.conditions
            if not all(holds(each, current or {}) for each in guards):
                failed[position] = current
        return failed

    def _source(self, table: TableDefinition, index: Index | None) -> Request:
        return {"TableName": self._names.of(table), **({"IndexName": index.name} if index else {})}

    def _get_batch(self, keys: Sequence[Key]) -> list[Record]:
        wanted: dict[str, Any] = {}
        for key in keys:
            listed = wanted.setdefault(self._names.of(key.table), {"Keys": [], "ConsistentRead": True})
            listed["Keys"].append(to_item(key.attributes))
        records: list[Record] = []
        for _ in self._tries():
            answer = self._call("batch_get_item", {"RequestItems": wanted})
            records += [from_item(item) for items in answer["Responses"].values() for item in items]
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                return records
        raise StoreUnavailableError(f"table {self.name!r} did not answer a batch of reads; try again")

    def _insert(self, put: Put) -> Exception | None:
        """The insert by itself, with the answer that it would have had in a batch."""
        try:
            self.write(Put(key=put.key, record=put.record))
        except ConditionFailed as failed:
            return ConditionFailed(None, was_repeated=failed.was_repeated)
        except StoreError as error:
            return error
        return None

    def _execute(self, statements: Sequence[Request]) -> list[Exception | None]:
        batches = batched(statements, STATEMENTS_PER_BATCH)
        return [answer for batch in batches for answer in self._execute_batch(batch)]

    def _execute_batch(self, statements: Sequence[Request]) -> list[Exception | None]:
        answers: list[Exception | None] = [None] * len(statements)
        waiting = list(range(len(statements)))
        for attempt in self._tries():
            try:
                answered = self._call("batch_execute_statement", {"Statements": [statements[at] for at in waiting]})
            except StatementRefused as refused:
                return [refused if position in waiting else answer for position, answer in enumerate(answers)]
            except StoreUnavailableError:
                if attempt == 0:
                    raise
                break  # what was answered before stays known; the others have their error already
            was_repeated = attempt > 0 or _was_repeated(answered)
            for position, response in zip(waiting, answered["Responses"], strict=True):
                answers[position] = statement_answer(response.get("Error"), was_repeated=was_repeated)
            waiting = [position for position in waiting if isinstance(answers[position], StoreUnavailableError)]
            if not waiting:
                break
        return answers

    def _pages(self, operation: str, request: Request) -> Iterator[Any]:
        while request:
            answer = self._call(operation, request)
            yield answer
            after = answer.get("LastEvaluatedKey")
            request = {**request, "ExclusiveStartKey": after} if after else {}

    def _call(self, operation: str, request: Request, *, own: int = 0) -> Any:
        """One call. Conflicts between transactions are retried here; every other error is translated, once."""
        last: ClientError | None = None
        for _ in self._tries():
            try:
                return getattr(self._client, operation)(**request)
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code == "TransactionCanceledException":
                    _raise_if_refused(error, own)
                elif stem(code) not in CONFLICTS:
                    raise _translated(error, code, operation, self.name) from error
                last = error
            except (HTTPClientError, BotoCoreError) as error:
                raise StoreUnavailableError(f"table {self.name!r} cannot be reached: {error}") from error
        raise StoreUnavailableError(f"table {self.name!r} is contended: {last}") from last

    def _tries(self) -> Iterator[int]:
        """So often something is tried that others stood in the way of, with longer and longer pauses."""
        for attempt in range(_CONFLICT_TRIES):
            yield attempt
            self._sleep(min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE) * (0.5 + self._random_source() / 2))


def _found(answer: Any, name: str) -> Record | None:
    item = answer.get(name)
    return from_item(item) if item else None


def _was_repeated(response: Any) -> bool:
    """Whether botocore sent the call more than once: a try whose answer was lost may have had its effect."""
    return bool(response.get("ResponseMetadata", {}).get("RetryAttempts"))


def _raise_if_refused(error: ClientError, own: int) -> None:
    """Raise if a condition failed; return if the transaction only met another one and may be tried again."""
    reasons: list[Any] = error.response.get("CancellationReasons", [])
    said = {at: reason for at, reason in enumerate(reasons) if reason.get("Code", "None") != "None"}
    failed = {at: _found(each, "Item") for at, each in said.items() if at < own and stem(each["Code"]) in REFUSED}
    if failed:
        raise TransactionCancelled(failed) from None
    trouble = {at: reason for at, reason in said.items() if stem(reason["Code"]) not in CONFLICTS | THROTTLES}
    theirs = {at - own: f"{each['Code']}: {each.get('Message', '')}" for at, each in trouble.items() if at >= own}
    if theirs:
        raise TransactionRefusedError(theirs) from None
    if trouble:
        codes = {each["Code"] for each in said.values()}
        raise StoreError(f"the transaction was cancelled: {', '.join(sorted(codes))}") from error


def _translated(error: ClientError, code: str, operation: str, table: str) -> Exception:
    if stem(code) in REFUSED:
        return ConditionFailed(_found(error.response, "Item"), was_repeated=_was_repeated(error.response))
    message = error.response["Error"].get("Message", "")
    if stem(code) in UNTAKEN and operation in {"batch_execute_statement", "execute_transaction"}:
        return StatementRefused(f"{code}: {message}")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if stem(code) in THROTTLES or status >= 500:
        return StoreUnavailableError(f"table {table!r} is overloaded: {code}: {message}")
    if code == "ResourceNotFoundException":
        return StoreError(f"table {table!r} does not exist here. Deploy the stacks, or check region and endpoint.")
    return StoreError(f"{error.operation_name} on table {table!r} failed: {code}: {message}")
