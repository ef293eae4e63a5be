"""A small OTLP collector on a loopback port: it takes spans over HTTP and keeps them."""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {3: "client", 4: "producer", 5: "consumer"}


@dataclass(frozen=True, slots=True)
class Received:
    name: str
    kind: str | None
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...]
    attributes: dict[str, object]
    is_error: bool
    text: str


@dataclass(frozen=True, slots=True)
class Collector:
    endpoint: str
    spans: list[Received]

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def collector() -> Iterator[Collector]:
    spans: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            spans.extend(_spans_in(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield Collector(f"http://127.0.0.1:{server.server_port}/v1/traces", spans)
    finally:
        server.shutdown()
        server.server_close()


def _spans_in(body: bytes) -> Iterator[Received]:
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    name=span.name,
                    kind=_KINDS.get(span.kind),
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    links=tuple(link.span_id.hex() for link in span.links),
                    attributes={
                        each.key: each.value.int_value if each.value.HasField("int_value") else each.value.string_value
                        for each in span.attributes
                    },
                    is_error=span.status.code == 2,
                    text=str(span),
                )
