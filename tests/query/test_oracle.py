"""Filters against plain Python over the rows that `inspect --format jsonl --bodies` prints."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.query import compile_filter
from kdissect.query.binding import Context
from kdissect.schema.error_codes import error_name
from tests.support.console import CAPTURES
from tests.support.rows import all_named, values_at

Row = dict[str, Any]
NAMES = (
    "tansu_rdk216_txn.pcap", "kafka28zk_franz_raw.pcapng", "kafka44_java_errors.pcapng",
    "kafka44_rdkafka_groups.pcapng", "mock_rdk216_txn.pcap", "tansu_kp202_admin.pcap",
    "kafka37_snapshot.pcapng.gz",
)  # fmt: skip


def body(side: str, path: str) -> Callable[[Row], list[Any]]:
    return lambda row: values_at((row[side] or {}).get("body"), path)


def deep(side: str, name: str) -> Callable[[Row], list[Any]]:
    return lambda row: all_named((row[side] or {}).get("body"), name)


def kinds(row: Row) -> set[str]:
    return {anomaly["kind"] for anomaly in row["anomalies"]}


def host(text: str) -> str:
    return text.rpartition(":")[0].strip("[]")


def at(row: Row) -> int:
    frame = row["request"] or row["response"]
    return int(frame["time_ns"])


codes = deep("response", "error_code")
names = body("request", "topics.name")
partition_codes = body("response", "responses.partition_responses.error_code")
assigned = body("request", "assignments.assignment_decoded.value.assigned_partitions.partitions")
timeout = body("request", "timeout_ms")

ORACLE: list[tuple[str, Callable[[Row], Any]]] = [
    ("api == Produce", lambda r: r["api_key"] == 0),
    ("api == produce", lambda r: r["api_key"] == 0),
    ("api == 18", lambda r: r["api"] == "ApiVersions"),
    ("api != Metadata", lambda r: r["api_key"] not in (3, None)),
    ("not api == Metadata", lambda r: r["api_key"] != 3),
    ("api in (Produce, Fetch, 10)", lambda r: r["api_key"] in (0, 1, 10)),
    ("api not in (Produce, Fetch)", lambda r: r["api_key"] not in (0, 1, None)),
    ("api ~ 'Group$'", lambda r: (r["api"] or "").endswith("Group")),
    ("api !~ Group", lambda r: r["api"] is not None and "Group" not in r["api"]),
    ("api contains Offset", lambda r: "Offset" in (r["api"] or "")),
    ("api_version >= 3 and version < 9", lambda r: 3 <= (r["api_version"] or 0) < 9),
    ("version in (0, 3..5)", lambda r: r["api_version"] in (0, 3, 4, 5)),
    ("number in (2..5, 9)", lambda r: r["number"] in (2, 3, 4, 5, 9)),
    ("api == Fetch and number <= 60", lambda r: r["number"] <= 60 and r["api_key"] == 1),
    ("number > 10 and api == Fetch", lambda r: r["number"] > 10 and r["api_key"] == 1),
    ("api == Heartbeat and request.hex ~ '^000000..000c'", lambda r: r["api_key"] == 12),
    ("response.hex", lambda r: r["response"] and r["response"]["bytes"] > 4),
    ("state == complete", lambda r: r["state"] == "complete"),
    ("state in (unanswered, orphan_response)", lambda r: r["state"] in ("unanswered", "orphan_response")),
    ("state != complete or error", lambda r: r["state"] != "complete" or r["errors"]),
    ("latency > 1ms", lambda r: r["latency_ns"] is not None and r["latency_ns"] > 10**6),
    ("latency <= 0.5ms", lambda r: r["latency_ns"] is not None and r["latency_ns"] <= 5 * 10**5),
    ("latency_ns < 300000", lambda r: r["latency_ns"] is not None and r["latency_ns"] < 300_000),
    ("latency == null", lambda r: r["latency_ns"] is None),
    ("latency", lambda r: r["latency_ns"] is not None),
    ("request.bytes > 100", lambda r: r["request"] and r["request"]["bytes"] > 100),
    ("response.bytes in (0..1KiB)", lambda r: r["response"] and r["response"]["bytes"] <= 1024),
    ("not response", lambda r: r["response"] is None),
    ("client_id", lambda r: r["client_id"] is not None),
    ("client_id == null", lambda r: r["client_id"] is None),
    ("client_id ~ '^[a-z]+-[0-9.]+$'", lambda r: re.search("^[a-z]+-[0-9.]+$", r["client_id"] or "")),
    ("client in 127.0.0.0/8", lambda r: ip_address(host(r["client"])) in ip_network("127.0.0.0/8")),
    ("client.port > 50000", lambda r: int(r["client"].rpartition(":")[2]) > 50000),
    ("broker == 127.0.0.1:9092", lambda r: r["broker"] == "127.0.0.1:9092"),
    ("broker.ip == 127.0.0.1", lambda r: host(r["broker"]) == "127.0.0.1"),
    ("client ~ ':5'", lambda r: ":5" in r["client"]),
    ("error", lambda r: r["errors"]),
    ("error == NONE", lambda r: r["response"] and not r["errors"]),
    ("error != NONE", lambda r: r["errors"]),
    ("error == TOPIC_ALREADY_EXISTS", lambda r: "TOPIC_ALREADY_EXISTS" in r["errors"]),
    ("error != TOPIC_ALREADY_EXISTS", lambda r: r["response"] and "TOPIC_ALREADY_EXISTS" not in r["errors"]),
    (
        "error ~ '^(INVALID|UNKNOWN)'",
        lambda r: any(e.startswith(("INVALID", "UNKNOWN")) for e in r["errors"]),
    ),
    ("count(errors) == 0", lambda r: not r["errors"]),
    ("count(error) == 1", lambda r: len(r["errors"]) == 1),
    ("topic", lambda r: r["topics"]),
    ("topic contains o", lambda r: any("o" in t for t in r["topics"])),
    ("topic !~ '^t'", lambda r: r["topics"] and not any(t.startswith("t") for t in r["topics"])),
    ("count(topics) > 1", lambda r: len(r["topics"]) > 1),
    ("topic_id", lambda r: r["topic_ids"]),
    ("time < +100ms", lambda r: at(r) - r["start"] < 10**8),
    ("time >= +00:00:01", lambda r: at(r) - r["start"] >= 10**9),
    ("closed.how == fin", lambda r: r["closed"] and r["closed"]["how"] == "fin"),
    ("closed", lambda r: r["closed"] is not None),
    ("anomalies", lambda r: r["shallow"]),
    ("anomaly == trailing_bytes", lambda r: any(a["kind"] == "trailing_bytes" for a in r["anomalies"])),
    (
        "request.error or response.error",
        lambda r: any((r[s] or {}).get("error") for s in ("request", "response")),
    ),
    ("request.body", lambda r: (r["request"] or {}).get("body") is not None),
    ("request.topics.name ~ o", lambda r: any("o" in n for n in names(r) if n is not None)),
    ("request.topics.name == null", lambda r: any(n is None for n in names(r))),
    ("any(response.**.error_code) == NONE", lambda r: 0 in codes(r)),
    ("response.**.error_code == NONE", lambda r: codes(r) and not any(codes(r))),
    ("response.**.error_code != NONE", lambda r: any(codes(r))),
    ("all(response.**.error_code) != 0", lambda r: codes(r) and all(codes(r))),
    ("response.responses.partition_responses.error_code != NONE", lambda r: any(partition_codes(r))),
    (
        "response.responses.partition_responses.error_code ~ '^[^N]'",
        lambda r: any(error_name(c)[0] != "N" for c in partition_codes(r)),
    ),
    ("request.timeout_ms >= 30s", lambda r: any(t >= 30_000 for t in timeout(r))),
    ("request.timeout_ms < 29.9995s", lambda r: any(t < 29999.5 for t in timeout(r))),
    ("request.timeout_ms", timeout),
    ("count(request.topics) == 1", lambda r: sum(t is not None for t in body("request", "topics")(r)) == 1),
    ("request.topics == null", lambda r: None in body("request", "topics")(r)),
    (
        "request.topics != null",
        lambda r: body("request", "topics")(r) and None not in body("request", "topics")(r),
    ),
    ("count(response.**.error_code) > 2", lambda r: len(codes(r)) > 2),
    ("request.acks == ALL_ISR", lambda r: -1 in body("request", "acks")(r)),
    ("request.acks < 1", lambda r: any(a < 1 for a in body("request", "acks")(r))),
    (
        "request.topic_data.partition_data.records > 1kB",
        lambda r: any(
            x["bytes"] > 1000 for x in body("request", "topic_data.partition_data.records")(r) if x
        ),
    ),
    ("request.allow_auto_topic_creation", lambda r: True in body("request", "allow_auto_topic_creation")(r)),
    (
        "request.allow_auto_topic_creation == false",
        lambda r: False in body("request", "allow_auto_topic_creation")(r),
    ),
    ("response.brokers.port == 9092", lambda r: 9092 in body("response", "brokers.port")(r)),
    (
        "api == Metadata and (error or count(response.topics) == 0)",
        lambda r: r["api_key"] == 3 and (r["errors"] or not body("response", "topics")(r)),
    ),
    ("transactional_id", lambda r: any(v is not None for v in _any_of(r, "transactional_id"))),
    (
        "request.protocols.metadata_decoded.value.topics ~ o",
        lambda r: any("o" in t for t in body("request", "protocols.metadata_decoded.value.topics")(r)),
    ),
    (
        "request.body.assignments.assignment_decoded.value.assigned_partitions.partitions == 1",
        lambda r: 1 in assigned(r),
    ),
    ("response.assignment_decoded", body("response", "assignment_decoded")),
    (
        "throttle == 0 and not anomaly == trailing_bytes",
        lambda r: "trailing_bytes" not in kinds(r) and 0 in body("response", "throttle_time_ms")(r),
    ),
]


def _any_of(row: Row, name: str) -> list[Any]:
    found = []
    for key in (name, f"v3_and_below_{name}", f"{name}s"):
        found += deep("request", key)(row) + deep("response", key)(row)
    return found


@pytest.fixture(scope="module")
def captures() -> list[tuple[Dissection, list[Any], list[Row], int]]:
    """Return exchanges and rows of the captures, and the time of their first packets."""
    found = []
    for name in NAMES:
        dissection = Dissection(str(CAPTURES / name))
        exchanges = list(dissection)
        start = min(file.first_time_ns or 0 for file in dissection.captures.files)
        topics_of = dissection.topics.topics_of
        plain = ExchangeRows(dissection.file_names, topics_of=topics_of)
        full = ExchangeRows(dissection.file_names, bodies=True, topics_of=topics_of)
        rows = []
        for exchange in exchanges:
            row = json.loads(json.dumps(full.row(exchange)))
            rows.append(row | {"start": start, "shallow": plain.row(exchange)["anomalies"]})
        found.append((dissection, exchanges, rows, start))
    return found


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("text", "expected"), ORACLE, ids=[text for text, _ in ORACLE])
def test_like_plain_python(text: str, expected: Callable[[Row], Any], captures: Any) -> None:
    predicate = compile_filter(text)
    taken = total = 0
    for dissection, exchanges, rows, start in captures:
        context = Context(
            start_ns=lambda start=start: start,
            topics_of=dissection.topics.topics_of,
            file_names=dissection.file_names,
        )
        test = predicate.bind(context)
        got = [row["number"] for exchange, row in zip(exchanges, rows, strict=True) if test(exchange)]
        assert got == [row["number"] for row in rows if expected(row)]
        taken, total = taken + len(got), total + len(rows)
    assert 0 < taken < total or text in ONE_SIDED, (taken, total)


# Filters for which these captures have nothing, or everything.
ONE_SIDED = {"client in 127.0.0.0/8", "broker.ip == 127.0.0.1"}


def test_times_of_day_and_dates(captures: Any) -> None:
    _, exchanges, rows, start = captures[0]
    first = datetime.fromisoformat(rows[0]["request"]["time"][:19] + "+00:00")
    context = Context(start_ns=lambda: start)
    wanted = [r["number"] for r in rows if at(r) >= (int(first.timestamp()) + 1) * 10**9]
    clock = first.replace(second=first.second + 1)
    for text in (f"{clock:%H:%M:%S}", f"{clock:%Y-%m-%dT%H:%M:%SZ}", f"{clock:%Y-%m-%dT%H:%M:%S}+00:00"):
        test = compile_filter(f"time >= {text}").bind(context)
        assert [r["number"] for e, r in zip(exchanges, rows, strict=True) if test(e)] == wanted
    assert 0 < len(wanted) < len(rows)


def test_batches_like_the_records_printed(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("kafka44_franz_produce.pcapng", "kafka28zk_franz_early.pcapng"):
        path = str(CAPTURES / name)
        assert main(["records", path, "--format", "jsonl"]) == 0
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        exchanges = list(Dissection(str(path)))
        for text, expected in (
            ("batch.codec == gzip", lambda r: r["codec"] == "gzip"),
            ("batch.codec in (snappy, lz4, zstd)", lambda r: r["codec"] in ("snappy", "lz4", "zstd")),
            ("batch.magic < 2", lambda r: r["magic"] < 2),
            ("batch.producer_id", lambda r: r["producer_id"] is not None),
            ("batch.producer_id == null", lambda r: r["producer_id"] is None),
            ("batch.transactional", lambda r: r["transactional"]),
            ("batch.crc_ok and count(batch) > 0", lambda r: r["crc_ok"]),
            ("batch.base_sequence == 0", lambda r: r["sequence"] == 0 and r["record"] == 0),
        ):
            test = compile_filter(text).bind()
            found = {(e.connection.id, e.ordinal) for e in exchanges if test(e)}
            assert found == {(r["connection"], r["exchange"]) for r in rows if expected(r)}, text
