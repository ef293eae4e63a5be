"""What the table accepted, seen on the wire: a job that was completed twice shows here even if its item looks right."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any


class Ledger:
    def __init__(self) -> None:
        self.completions: Counter[str] = Counter()
        self._tokens: set[str] = set()

    def note(self, request: Any, response: Any) -> None:
        if response.status_code != 200:
            return
        operation = request.headers["X-Amz-Target"].rpartition(b".")[2]
        if operation not in {b"UpdateItem", b"TransactWriteItems", b"BatchExecuteStatement"}:
            return
        body = json.loads(request.body)
        match operation:
            case b"UpdateItem":
                self._note_update(body)
            case b"BatchExecuteStatement":
                answers = json.loads(response.content)["Responses"]
                for statement, answer in zip(body["Statements"], answers, strict=True):
                    if not answer.get("Error"):
                        self._note_statement(statement)
            case _ if body.get("ClientRequestToken") not in self._tokens:
                if "ClientRequestToken" in body:
                    # A repeat with the same token is answered like the first, but changes nothing.
                    self._tokens.add(body["ClientRequestToken"])
                for item in body["TransactItems"]:
                    self._note_update(item.get("Update", {}))

    def _note_update(self, update: dict[str, Any]) -> None:
        names = update.get("ExpressionAttributeNames", {})
        status = next((placeholder for placeholder, name in names.items() if name == "status"), None)
        written = re.search(rf"SET .*{status} = (:\d+)", update.get("UpdateExpression", "")) if status else None
        if written and update["ExpressionAttributeValues"][written[1]] == {"S": "completed"}:
            self.completions[update["Key"]["SK"]["S"]] += 1

    def _note_statement(self, statement: dict[str, Any]) -> None:
        """Its parameters are the values that it sets, in order, then the key; see `update_statement`."""
        sets = re.findall(r'"(\w+)"=\?', statement["Statement"].partition(" WHERE ")[0])
        if "status" in sets and statement["Parameters"][sets.index("status")] == {"S": "completed"}:
            self.completions[statement["Parameters"][len(sets) + 1]["S"]] += 1
