"""The protocol log of Kroxylicious, written from a broker's request log as the proxy's public source does it.

The proxy was not run: its releases are not in Maven Central.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.capture.files import open_captures
from kdissect.capture.formats.proxy_log import ProxyLogParser
from kdissect.cli import main
from kdissect.history import api_keys as apis
from tests.capture.log_rows import Row, rows
from tests.capture.test_request_log import lines

WITHHELD = frozenset({36, 38, 39, 40, 41, 51})  # APIs whose bodies the proxy does not log
Entry = dict[str, Any]


def logged() -> Iterator[Entry]:
    for line in lines():
        row = json.JSONDecoder().raw_decode(line.partition("Completed request:")[2])[0]
        if not row["isForwarded"] and row["request"]:
            yield row


def entries(row: Entry) -> Iterator[Entry]:
    """Yield the entries of both messages."""
    header = row["requestHeader"]
    common = {
        "apiKey": header["requestApiKeyName"],
        "apiVersion": header["requestApiVersion"],
        "correlationId": header["correlationId"],
    }
    for kind, more in (("REQUEST", {"clientId": header["clientId"]}), ("RESPONSE", {})):
        entry = {"header": {"type": kind} | common | more, "payload": without_records(row[kind.lower()])}
        if header["requestApiKey"] in WITHHELD:
            entry |= {"payload": None, "payloadWithheld": "credential-bearing API"}
        yield entry


def without_records(item: Any) -> Any:
    if isinstance(item, list):
        return [without_records(one) for one in item]
    if not isinstance(item, dict):
        return item
    found = {name: without_records(value) for name, value in item.items() if name != "recordsSizeInBytes"}
    return found | ({"records": ""} if "recordsSizeInBytes" in item else {})


def pretty(entry: Entry) -> str:
    """As Jackson's default pretty printer."""
    return json.dumps(entry, indent=2, separators=(",", " : ")).replace("[]", "[ ]")


def log(pattern: str = "{time} <thread> DEBUG logger - {json} sessionId={session}\n") -> str:
    text = "2026-11-30 08:00:00 <main> INFO io.kroxylicious - Kroxylicious is starting {\n"
    for number, row in enumerate(logged()):
        session = row["connection"].replace(":", "-")
        for entry in entries(row):
            time = f"2026-11-30 08:{number // 60:02}:{number % 60:02},{110 - len(entry['header'])}"
            text += pattern.format(time=time, session=session, json=pretty(entry))
    return text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "proxy.log"
    found.write_text(log())
    return found


def by_id(found: list[Row]) -> list[tuple[Any, ...]]:
    """Return the rows without their addresses and times, in the order of their lines."""
    names = "api_key", "api_version", "correlation_id", "client_id"
    return [tuple(row[name] for name in names) for row in sorted(found, key=first_line)]


def first_line(row: Row) -> int:
    return int(row["request"]["packets"]["first"])


def test_entries_become_exchanges(path: Path) -> None:
    headers = [row["requestHeader"] for row in logged()]
    expected = [
        (one["requestApiKey"], one["requestApiVersion"], one["correlationId"], one["clientId"])
        for one in headers
    ]
    found = rows(path)
    assert by_id(found) == expected
    assert {row["state"] for row in found} == {"complete"}
    assert {row["broker"] for row in found} == {"0.0.0.0:0"}
    assert len({row["client"] for row in found}) == len({row["connection"] for row in logged()})
    assert {row["latency_ns"] for row in found} == {1_000_000}  # a request has one field more in its header


def test_bodies_are_those_of_the_request_log(path: Path, tmp_path: Path) -> None:
    kept = [line for line in lines() if '"isForwarded":false' in line]
    (tmp_path / "a.log").write_text("".join(kept))
    of_broker = {first_line(row): row for row in rows(tmp_path / "a.log")}
    expected = [row for _, row in sorted(of_broker.items()) if row["request"]["body"] is not None]
    for mine, theirs in zip(sorted(rows(path), key=first_line), expected, strict=True):
        for side in ("request", "response"):
            body = mine[side]["body"]
            if mine["api_key"] in WITHHELD:
                assert body is None
            elif mine["api_key"] not in (apis.PRODUCE, apis.FETCH):
                assert body == theirs[side]["body"]
    sizes = [row["request"]["body"]["topic_data"] for row in rows(path) if row["api_key"] == apis.PRODUCE]
    assert '{"bytes": null}' in json.dumps(sizes)


@pytest.mark.parametrize(
    "pattern",
    [
        "{time} sessionId={session} - {json}\n",
        '{time} - {json} direction="request", sessionId="{session}"\n',
        "{time} - {json} {{direction=request, sessionId={session}}}\n",
    ],
)
def test_pairs_stand_where_the_layout_has_them(pattern: str, tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text(log(pattern))
    assert [row["client"] for row in rows(other)] == [row["client"] for row in rows(path)]


@pytest.mark.parametrize(
    ("change", "anomaly"),
    [
        (lambda text: text.replace(" sessionId=", " x=", 1), "1 message of a proxy without the session"),
        (lambda text: text.replace("2026-11-30 08:00:00,1", "", 1), "1 request without a date and time"),
        (lambda text: text.replace('"correlationId" : ', '"correlationId" : -', 1), "1 message of the proxy"),
        (lambda text: text.replace('"header" : {', '"header" : [],\n  "x" : {', 1), "1 request without the"),
        (lambda text: text.replace('"apiKey" : "', '"apiKey" : "MY_', 1), "1 request without the fields"),
        (lambda text: text.replace("\n  }", "\nINTERRUPTED", 1), "1 request whose JSON is cut"),
        (lambda text: text[: text.rindex("\n}")], "1 request whose JSON is cut"),
    ],
)  # fmt: skip
def test_damage_costs_its_entry(change: Any, anomaly: str, path: Path) -> None:
    whole = len(rows(path))
    path.write_text(change(log()))
    captures = open_captures([path])
    assert sum(map(len, captures.batches())) >= 2 * whole - 2
    assert anomaly in str([found.detail for found in captures.files[0].anomalies])
    assert captures.files[0].error is None


def test_any_cut_of_the_input_gives_the_same_packets() -> None:
    data = log()[:60_000].encode()
    whole = ProxyLogParser().feed(data)
    assert whole
    for size in (7, 4096):
        parser = ProxyLogParser()
        assert [one for at in range(0, len(data), size) for one in parser.feed(data[at : at + size])] == whole


@pytest.mark.parametrize("command", ["stats", "check", "why", "topics", "groups", "info", "connections"])
def test_commands_read_it(command: str, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(path)]) == 0
    out, err = capfd.readouterr()
    assert out
    assert "fault of kdissect" not in err
