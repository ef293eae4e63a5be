"""How DynamoDB says no: an error code, a message and, for some codes, fields of its own."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):  # noqa: N818 -- an answer like any other
    """An error answer. `fields` stand next to the message in the body, such as Item and CancellationReasons."""

    def __init__(self, code: str, message: str = "", **fields: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.fields = fields

    @property
    def status(self) -> int:
        return 500 if self.code == "InternalServerError" else 400


def invalid(message: str) -> Refusal:
    return Refusal("ValidationException", message)


def invalid_parameters(message: str) -> Refusal:
    return invalid(f"One or more parameter values were invalid: {message}")


def condition_failed(item: dict[str, Any] | None = None) -> Refusal:
    fields = {"Item": item} if item else {}
    return Refusal("ConditionalCheckFailedException", "The conditional request failed", **fields)


def no_such_table() -> Refusal:
    return Refusal("ResourceNotFoundException", "Requested resource not found")
