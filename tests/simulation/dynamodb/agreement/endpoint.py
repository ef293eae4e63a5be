"""A DynamoDB engine on a loopback port, behind the same `call` as the model: raw JSON, nothing checked on the way."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from tests import dynoxide_words
from tests.simulation.dynamodb.refusal import Refusal


class Endpoint:
    def __init__(self, address: str) -> None:
        self._netloc = urlsplit(address).netloc
        self._connection = http.client.HTTPConnection(self._netloc, timeout=20)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/dynamodb/aws4_request, "
            "SignedHeaders=host;x-amz-date, Signature=0",
        }
        body = json.dumps(request).encode()
        if operation == "BatchExecuteStatement" and dynoxide_words.is_dynoxide(self._netloc):
            body = dynoxide_words.in_its_words(body)
        self._connection.request("POST", "/", body, headers)
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read() or b"{}")
        if response.status == 200:
            return answer
        message = answer.pop("message", None) or answer.pop("Message", "")
        raise Refusal(str(answer.pop("__type", response.status)).rpartition("#")[2], message, **answer)

    def close(self) -> None:
        self._connection.close()
