"""The parts that benchmarks are made of do what they say: figures come from what really happened."""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.payload import encode_payload
from leasehold.kernel.payload_forms import compact
from tests.benchmarks import celery
from tests.benchmarks.counting_proxy import CountingProxy, operation_of
from tests.benchmarks.engines import ROOT, client_of
from tests.benchmarks.lateness import percentile
from tests.benchmarks.lived import Kind, Life
from tests.benchmarks.payloads import INCOMPRESSIBLE, SHAPES, SIZES, TYPICAL, packed_as, payload
from tests.benchmarks.replay import Floor, Recorder, Recording
from tests.benchmarks.storage import stored_bytes
from tests.benchmarks.workload import PHASES, Workload, telemetry_to_nowhere

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def aws() -> Iterator[str]:
    """Something that answers every request with what it was asked."""

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def asked(proxy: CountingProxy, body: str, headers: dict[str, str]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=5)
    connection.request("POST", "/", body=body, headers=headers)
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


def test_the_proxy_passes_requests_on_and_counts_them_by_operation(aws: str) -> None:
    with CountingProxy(aws) as proxy:
        answer = asked(proxy, json.dumps({"a": 1}), {"X-Amz-Target": "DynamoDB_20120810.PutItem"})
        asked(proxy, "Action=SendMessage&QueueUrl=x", {})
        asked(proxy, "Action=SendMessage&QueueUrl=x", {})

        assert answer == '{"a": 1}'
        assert proxy.take() == Counter({"SendMessage": 2, "PutItem": 1})
        assert proxy.take() == Counter()


@pytest.mark.parametrize(
    ("target", "body", "operation"),
    [
        ("AmazonSQS.ReceiveMessage", b"{}", "ReceiveMessage"),
        (None, b"Action=DeleteMessage", "DeleteMessage"),
        (None, b"", "?"),
    ],
)
def test_an_operation_is_named_by_its_header_or_in_the_form(target: str | None, body: bytes, operation: str) -> None:
    assert operation_of(target, body) == operation


@pytest.mark.parametrize(("count", "percent", "rank"), [(200, 99, 198), (200, 50, 100), (20, 99, 20), (1, 50, 1)])
def test_a_percentile_is_a_figure_that_was_measured(count: int, percent: float, rank: int) -> None:
    assert percentile(list(range(1, count + 1)), percent) == rank


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_payload_has_the_size_that_it_is_named_by_and_is_the_same_every_time(size: str, shape: str) -> None:
    made = payload(size, shape)

    assert made == payload(size, shape)
    assert len(json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode()) == pytest.approx(
        SIZES[size], rel=0.02
    )


@pytest.mark.parametrize("size", ["1 KB", "4 KB", "16 KB"])
def test_what_is_incompressible_is_kept_as_the_text_that_it_is(size: str) -> None:
    text = encode_payload(payload(size, INCOMPRESSIBLE))
    with packed_as(INCOMPRESSIBLE):
        assert compact(text) == text
    with packed_as(TYPICAL):
        assert len(compact(text)) < len(text)


@pytest.mark.dynoxide
def test_the_floor_makes_exactly_the_calls_that_the_workload_made(dynoxide_endpoint: str) -> None:
    recording = Recording(client_of(dynoxide_endpoint), "floor-a", jobs=3)
    client = client_of(dynoxide_endpoint)
    elsewhere = _renamed(recording, "floor-a", "floor-b")
    recorder = Recorder(client)
    floor = Floor(client, elsewhere)
    recorder.take()

    for phase in PHASES:
        floor.run(phase)
        assert recorder.take() == [call for calls in elsewhere.phases[phase] for call in calls]


@pytest.mark.dynoxide
def test_what_the_floor_leaves_behind_is_what_the_workload_left(dynoxide_endpoint: str) -> None:
    client = client_of(dynoxide_endpoint)
    recording = Recording(client, "left-a", jobs=3)
    floor = Floor(client, _renamed(recording, "left-a", "left-b"))
    for phase in PHASES:
        floor.run(phase, threads=2)

    ours, theirs = (
        {item["SK"]["S"]: item for item in client.scan(TableName=f"left-{side}-jobs")["Items"]} for side in "ab"
    )
    assert len(ours) > 3
    assert ours == theirs


@pytest.mark.dynoxide
def test_a_workload_that_was_not_polled_has_nothing_to_handle_and_says_so(dynoxide_endpoint: str) -> None:
    workload = Workload(client_of(dynoxide_endpoint), "unpolled", jobs=2)
    workload.run("enqueue")

    with pytest.raises(AssertionError, match="0 of 2 jobs were handed over"):
        workload.run("handle")


@pytest.mark.dynoxide
def test_what_a_workload_logs_and_measures_goes_nowhere_time_and_again(
    dynoxide_endpoint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        with telemetry_to_nowhere() as telemetry:
            workload = Workload(client_of(dynoxide_endpoint), f"quiet-{number}", 2, telemetry)
            for phase in PHASES:
                workload.run(phase, threads=2)

    assert capfd.readouterr() == ("", "")


def test_of_the_rounds_beside_celery_the_median_one_counts() -> None:
    rounds = [
        {"seconds": seconds, "requests": {"SendMessage": requests}, "idle_requests": idle}
        for seconds, requests, idle in ((9.0, 30, 5), (2.0, 10, 0), (5.0, 20, 0))
    ]

    figures = celery._figures(rounds, tasks=10)

    assert (figures["seconds"], figures["tasks_per_second"], figures["requests_per_task"]) == (5, 2, 2)
    assert figures["seconds_of_rounds"] == [9, 2, 5]
    assert figures["idle_requests_per_second"] == 1


def test_beside_celery_the_ratio_is_the_median_of_the_rounds_own() -> None:
    figures = {"celery": {"seconds_of_rounds": [2.0, 8.0, 3.0]}, "leasehold": {"seconds_of_rounds": [1.0, 16.0, 2.0]}}

    assert celery.to_celery(figures, "leasehold") == {"median": 1.5, "lowest": 0.5, "highest": 2}


@pytest.mark.dynoxide
def test_what_a_failure_costs_does_not_depend_on_where_the_checkout_is(dynoxide_endpoint: str) -> None:
    client = client_of(dynoxide_endpoint)
    life = Life(client, Kind(fails_once=True), 1, payload("0.2 KB", "typical"), is_metered=False)
    life.live()

    errors = [each["last_error"]["S"] for each in client.scan(TableName=life.table)["Items"] if "last_error" in each]

    assert len(errors) == 1
    assert str(ROOT) not in errors[0]


@pytest.mark.dynoxide
@pytest.mark.parametrize("kind", [Kind(), Kind(fails_once=True), Kind(group="sequential"), Kind(group="parallel")])
def test_a_life_is_lived_to_its_end_and_metered_by_phase(kind: Kind, dynoxide_endpoint: str) -> None:
    client = client_of(dynoxide_endpoint)
    life = Life(client, kind, 2, payload("0.2 KB", "typical"), is_metered=True)

    life.live()

    items = [item for item in client.scan(TableName=life.table)["Items"] if "job_id" in item]
    assert [item["status"]["S"] for item in items] == ["completed"] * 2
    assert all(sum(each.write_units for each in life.readings[phase]) > 0 for phase in PHASES)
    assert stored_bytes(client, life.table) > 2 * 205


def _renamed(recording: Recording, name: str, other: str) -> Recording:
    """The same calls for tables of another name: one engine serves both sides here."""

    def renamed(value: Any) -> Any:
        match value:
            case str():
                return value.replace(name, other)
            case dict():
                return {renamed(key): renamed(each) for key, each in value.items()}
            case list():
                return [renamed(each) for each in value]
            case tuple():
                return tuple(renamed(each) for each in value)
            case _:
                return value

    copied = Recording.__new__(Recording)
    copied.jobs = recording.jobs
    copied.setup = renamed(recording.setup)
    copied.phases = renamed(recording.phases)
    return copied
