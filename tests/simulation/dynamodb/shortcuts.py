"""What a call of botocore spends its time on and nobody here reads: half of it is spared, none of its decisions.

Serializing, retries, their quota, errors and every event stay botocore's own. Left out are headers but the two that are
looked at, the address, the signature, and the walk through an answer that JSON has parsed already.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.parsers import create_parser

# Their answers have times, which JSON does not know. So has binary data: see `_QuickParser`.
_WITH_TIMES = frozenset({"CreateTableOutput", "DescribeTableOutput", "UpdateTimeToLiveOutput"})


def take_shortcuts(client: Any) -> None:
    client._user_agent_creator = SimpleNamespace(to_string=lambda: "simulation")
    client._ruleset_resolver = None
    client._endpoint.create_request = _light_request
    client._endpoint._response_parser_factory = _QuickParser(client.meta.service_model.resolved_protocol)


def _light_request(params: dict[str, Any], _operation_model: Any = None) -> AWSPreparedRequest:
    body = params["body"]
    headers: Any = {"X-Amz-Target": params["headers"]["X-Amz-Target"].encode(), "Content-Length": str(len(body))}
    return AWSPreparedRequest("POST", params["url"], headers, body, stream_output=False)


class _QuickParser:
    """Makes, and is, the one parser. Where an answer is more than plain JSON, botocore's own takes over."""

    def __init__(self, protocol: str) -> None:
        self._own: Any = create_parser(protocol)

    def create_parser(self, _protocol: str) -> _QuickParser:
        return self

    def parse(self, response: dict[str, Any], shape: Any) -> Any:
        body = response["body"]
        if response["status_code"] != 200 or b'"B":' in body or b'"BS":' in body or shape.name in _WITH_TIMES:
            return self._own.parse(response, shape)
        parsed = json.loads(body)
        parsed["ResponseMetadata"] = {"HTTPStatusCode": 200, "HTTPHeaders": {}}
        return parsed
