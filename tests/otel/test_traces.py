"""`kdissect traces`: parsed by opentelemetry-proto, spans have the values of `inspect`."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.captures import traces_command
from kdissect.model.extras import are_installed
from tests.causes.diagnosing import capture
from tests.rules.scripted_connection import ScriptedConnection
from tests.support.http_server import serving, without_proxies
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.packets.pcaps import write_pcap

OTEL = are_installed("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common")
NEEDS_OTEL = pytest.mark.skipif(not OTEL, reason="needs the extra otel")
NAMES = ("kafka44_java_errors", "kafka44_java_groups", "mock_rdk216_txn", "tansu_rdk216_acks")
CLIENT, SERVER, ERROR = 3, 2, 2  # opentelemetry.proto.trace.v1: SpanKind and StatusCode
Span = dict[str, Any]
FIRST, SECOND = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"), ("1" * 32, "2" * 16)


def message(data: bytes) -> Any:
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    return TracesData.FromString(data)


def spans_of(data: bytes) -> list[Span]:
    """Return the spans of a message of OTLP, with their attributes and resources by name."""
    found = []
    for of_resource in message(data).resource_spans:
        resource = values(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            assert of_scope.schema_url == "https://opentelemetry.io/schemas/1.36.0"
            for span in of_scope.spans:
                named = {
                    "name": span.name, "kind": span.kind, "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(), "parent": span.parent_span_id.hex(),
                    "start": span.start_time_unix_nano, "end": span.end_time_unix_nano,
                    "status": (span.status.code, span.status.message), "resource": resource,
                    "links": [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                }  # fmt: skip
                found.append(named | values(span.attributes))
    return found


def values(attributes: Any) -> dict[str, Any]:
    return {one.key: value(one.value) for one in attributes}


def value(one: Any) -> Any:
    kind = one.WhichOneof("value")
    return [value(item) for item in one.array_value.values] if kind == "array_value" else getattr(one, kind)


def written(tmp_path: Path, *arguments: str) -> bytes:
    path = tmp_path / "spans"
    assert main(["traces", *arguments, "-o", str(path)]) == 0
    return path.read_bytes()


@NEEDS_OTEL
@pytest.mark.parametrize("name", NAMES)
def test_spans_equal_the_rows_of_inspect(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = capture(name)
    spans = spans_of(written(tmp_path, path, "--format", "protobuf"))
    capfd.readouterr()
    assert main(["inspect", path, "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    rows = [row for row in rows if row["request"] is not None]
    assert len({(span["trace"], span["span"]) for span in spans}) == len(spans)
    by_kind = {
        kind: {
            (span["kdissect.connection"], span["kdissect.exchange"]): span
            for span in spans
            if span["kind"] == kind
        }
        for kind in (CLIENT, SERVER)
    }
    assert len(by_kind[CLIENT]) == len(rows) and len(by_kind[CLIENT]) + len(by_kind[SERVER]) == len(spans)
    for row in rows:
        span = by_kind[CLIENT][row["connection"], row["exchange"]]
        broker = by_kind[SERVER].get((row["connection"], row["exchange"]))
        response = row["response"]
        assert span["start"] == row["request"]["time_ns"]
        assert span["end"] == (response or row["request"])["end_time_ns"]
        assert f"{span['server.address']}:{span['server.port']}" == row["broker"]
        assert (broker is None) == (row["latency_ns"] is None)
        if broker is not None:
            assert broker["end"] - broker["start"] == row["latency_ns"]
            assert (broker["start"], broker["end"]) == (row["request"]["end_time_ns"], response["time_ns"])
            assert (broker["trace"], broker["parent"]) == (span["trace"], span["span"])
            assert f"{broker['client.address']}:{broker['client.port']}" == row["client"]
            assert broker["resource"]["service.name"] == "kafka"
            assert broker["resource"]["service.instance.id"] == row["broker"]
        assert span["resource"]["service.name"] == (row["client_id"] or "unknown_service")
        of_errors = row["errors"] or ([row["state"]] if row["state"] in ("unanswered", "incomplete") else [])
        assert span["status"] == ((ERROR, of_errors[0]) if of_errors else (0, ""))
        expected = {
            "messaging.client.id": row["client_id"],
            "user.name": row["principal"],
            "error.type": of_errors[0] if of_errors else None,
            "messaging.consumer.group.name": row["group"][0] if len(row["group"]) == 1 else None,
            "messaging.destination.name": row["topics"][0] if len(row["topics"]) == 1 else None,
            "kdissect.response.bytes": None if response is None else response["bytes"],
            "kdissect.request.bytes": row["request"]["bytes"],
            "kdissect.throttle_ms": row["throttle"],
            "kdissect.errors": row["errors"] or None,
            "kdissect.topics": row["topics"] or None,
            "kdissect.groups": row["group"] or None,
            **{f"kdissect.{key}": row[key] for key in ("api", "api_key", "api_version", "correlation_id")},
            **{f"kdissect.{key}": row[key] for key in ("software", "state")},
        }
        assert {key: span.get(key) for key in expected} == expected
        assert span["messaging.system"] == "kafka"


@NEEDS_OTEL
def test_json_lines_are_the_message_with_ids_in_hex(tmp_path: Path) -> None:
    from google.protobuf.json_format import MessageToDict

    path = capture("kafka44_java_groups")
    lines = [json.loads(line) for line in written(tmp_path, path).splitlines()]
    data = message(written(tmp_path, path, "--format", "protobuf"))
    expected = MessageToDict(data, use_integers_for_enums=True)["resourceSpans"]
    found = [of_resource for line in lines for of_resource in line["resourceSpans"]]
    texts = [json.dumps(one) for one in found]
    ids = {span.span_id.hex() for one in data.resource_spans for of in one.scope_spans for span in of.spans}
    assert {
        span["spanId"] for one in found for of in one["scopeSpans"] for span in of["spans"]
    } == ids and len(ids) > 300
    for one in (*found, *expected):
        for of in one["scopeSpans"]:
            for span in of["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    span.pop(key, None)
    assert found == expected
    assert all(text.isascii() for text in texts)


def traced(*contexts: tuple[str, str]) -> bytes:
    """Return a batch with a record for each context."""
    headers = [("traceparent", f"00-{trace}-{span}-01".encode()) for trace, span in contexts]
    records = b"".join(
        record_bytes(at, value=b"x", headers=[header] if header[1] else [])
        for at, header in enumerate(headers)
    )
    return batch_bytes(records, len(headers))


def conversation(tmp_path: Path, batch: bytes) -> str:
    """Return a capture in which a batch is produced and fetched."""
    talk = ScriptedConnection()
    part = {"index": 0, "records": batch}
    talk.exchange(
        "Produce", 9,
        {"acks": -1, "timeout_ms": 9, "topic_data": [{"name": "orders", "partition_data": [part]}]},
        {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "base_offset": 0}]}]},
    )  # fmt: skip
    asked = {"topic": "orders", "partitions": [{"partition": 0}]}
    got = {"topic": "orders", "partitions": [{"partition_index": 0, "high_watermark": 2, "records": batch}]}
    talk.exchange("Fetch", 11, {"topics": [asked]}, {"responses": [got]})
    return write_pcap(tmp_path / "traced.pcap", talk.close())


@NEEDS_OTEL
def test_one_context_joins_producer_and_consumer_in_its_trace(tmp_path: Path) -> None:
    path = conversation(tmp_path, traced(FIRST, FIRST))
    spans = spans_of(written(tmp_path, path, "--format", "protobuf"))
    clients = {span["name"]: span for span in spans if span["kind"] == CLIENT}
    assert set(clients) == {"ApiVersions", "Produce orders", "Fetch orders"}
    for name in ("Produce orders", "Fetch orders"):
        assert (clients[name]["trace"], clients[name]["parent"]) == FIRST
        assert clients[name]["messaging.batch.message_count"] == 2
        assert clients[name]["links"] == []
    assert clients["Produce orders"]["messaging.operation.type"] == "send"
    assert clients["Fetch orders"]["messaging.operation.type"] == "receive"
    assert clients["ApiVersions"]["trace"] != FIRST[0] and not clients["ApiVersions"]["parent"]


@NEEDS_OTEL
def test_several_contexts_are_links(tmp_path: Path) -> None:
    path = conversation(tmp_path, traced(FIRST, SECOND, FIRST))
    spans = spans_of(written(tmp_path, path, "--format", "protobuf"))
    linked = {span["name"]: span["links"] for span in spans if span["kind"] == CLIENT and span["links"]}
    assert linked == {"Produce orders": [FIRST, SECOND], "Fetch orders": [FIRST, SECOND]}
    assert not {span["trace"] for span in spans} & {FIRST[0], SECOND[0]}


@NEEDS_OTEL
@pytest.mark.parametrize(
    "context", [("0" * 32, "2" * 16), ("1" * 32, "0" * 16), ("x" * 32, "2" * 16), ("", "")]
)
def test_an_invalid_context_is_none(context: tuple[str, str], tmp_path: Path) -> None:
    path = conversation(tmp_path, traced(context))
    spans = spans_of(written(tmp_path, path, "--format", "protobuf"))
    assert not any(span["links"] for span in spans)
    assert [span["parent"] for span in spans if span["kind"] == CLIENT] == ["", "", ""]


class Collector(BaseHTTPRequestHandler):
    """Takes spans, or refuses them."""

    taken: list[tuple[str, str, bytes]]
    status: int
    body = b""

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.taken.append((self.path, self.headers["Content-Type"], data))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@NEEDS_OTEL
@pytest.mark.parametrize("path", ["", "/", "/otlp", "/v1/traces"])
def test_a_collector_receives_the_same(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)
    collector = type("Taking", (Collector,), {"taken": [], "status": 200})
    sources = capture("kafka44_java_groups"), capture("kafka44_java_errors")
    with serving(collector) as url:
        assert main(["traces", *sources, "--endpoint", url + path]) == 0
    assert len(collector.taken) > 1
    prefix = path.rstrip("/").removesuffix("/v1/traces")
    assert {(where, kind) for where, kind, _ in collector.taken} == {
        (f"{prefix}/v1/traces", "application/x-protobuf")
    }
    sent = b"".join(data for _, _, data in collector.taken)
    assert sent == written(tmp_path, *sources, "--format", "protobuf")


@NEEDS_OTEL
def test_a_refusing_collector_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    without_proxies(monkeypatch)
    collector = type("Refusing", (Collector,), {"taken": [], "status": 400})
    with serving(collector) as url:
        paths = capture("kafka44_java_groups"), capture("kafka44_java_errors")  # more than one request
        assert main(["traces", *paths, "--endpoint", url]) == 3
    said = capfd.readouterr()
    assert "--endpoint: " in said.err and "400" in said.err and said.out == ""
    assert len(collector.taken) == 1


@NEEDS_OTEL
@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"\x0a\x08\x08\x05\x12\x04full", 3, "the collector rejected 5 spans: full"),
        (b"\x0a\x00", 0, ""),
        (b"not protobuf", 0, ""),
    ],
)
def test_a_collector_that_rejects_spans_is_a_message(
    body: bytes, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    without_proxies(monkeypatch)
    collector = type("Rejecting", (Collector,), {"taken": [], "status": 200, "body": body})
    with serving(collector) as url:
        assert main(["traces", capture("kafka44_java_groups"), "--endpoint", url]) == code
    assert said in capfd.readouterr().err


def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kdissect.model.extras.find_spec", lambda _name: None)
    assert main(["traces", "a.pcap"]) == 2
    assert "traces needs the OpenTelemetry SDK: pip install " in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--endpoint", "localhost:4318"], "begins with http:// or https://"),
        (["--endpoint", "http://localhost:4318", "-o", "x"], "does not go with --format and -o"),
    ],
)
def test_impossible_wishes_are_usage_errors(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(traces_command, "missing_otel", lambda: None)
    assert main(["traces", "a.pcap", *arguments]) == 2
    assert said in capfd.readouterr().err


def test_parts_of_a_missing_package_are_missing() -> None:
    assert not are_installed("no_such_package_of_anybody.part")
    assert are_installed("json", "json.decoder")
