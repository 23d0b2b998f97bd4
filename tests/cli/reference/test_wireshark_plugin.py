"""`wireshark-plugin`: tshark with the plugin shows what `inspect` prints, for every API and version."""

import base64
import math
import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from kdissect.cli import main
from kdissect.cli.reference.wireshark_plugin_command import plugin_text
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.schema import protocol_messages
from kdissect.schema.types import Api
from tests.conformance.random_values import ValueMaker
from tests.support.console import CAPTURES, CHECKOUT
from tests.support.messages.traffic import Conversation
from tests.support.packets.damaged import chosen, damaged
from tests.support.packets.pcaps import write_pcap
from tests.support.walk import walk

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
FAST = {"tansu_rdk216_txn.pcap", "kafka44_java_tls13.pcapng"}
BATCHES = {"kdissect.batch", "kdissect.error"}  # what stands below a field of records

Frames = dict[tuple[int, bool, int], dict[str, Any]]
"""By packet, whether it is a request, and correlation id."""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("wireshark") / "kdissect.lua"
    assert main(["wireshark-plugin", "-o", str(path)]) == 0
    assert path.read_text() == plugin_text()
    return str(path)


def tshark(plugin: str, path: Path | str, *options: str) -> str:
    assert TSHARK is not None
    line = [TSHARK, "-2", "-X", f"lua_script:{plugin}", "-r", str(path), *options]
    done = subprocess.run(line, capture_output=True, check=False, timeout=600)
    assert done.returncode in (0, 2)  # 2: the file ends inside a packet
    said = done.stderr.decode(errors="replace")
    assert "Lua" not in said and "rror" not in said, said
    return done.stdout.decode("utf-8", "replace")


# What tshark shows, as bodies.


def shown(plugin: str, path: Path | str, *options: str) -> Frames:
    frames: Frames = {}
    text = tshark(plugin, path, "-T", "pdml", "-J", "kdissect", *options)
    text = "".join(each for each in text if each >= " " or each in "\n\t")
    for packet in ET.fromstring(text):
        number = 0
        for layer in packet:
            if layer.get("name") == "geninfo":
                number = next(int(f.get("show", "0")) for f in layer if f.get("name") == "num")
            elif layer.get("name") == "kdissect":
                for frame in layer:
                    if frame.get("name") in ("kdissect.request", "kdissect.response"):
                        entry = frame_of(frame, layer)
                        key = number, entry["is_request"], int(entry["correlation_id"])
                        frames[key] = entry
    return frames


def frame_of(frame: ET.Element, layer: ET.Element) -> dict[str, Any]:
    is_request = frame.get("name") == "kdissect.request"
    entry: dict[str, Any] = {"is_request": is_request, "errors": [], "client_id": None, "error": None}
    prefix = f"kdissect.{'request' if is_request else 'response'}.body."
    body: list[ET.Element] = []
    for field in frame:
        name = name_of(field)
        if name == "kdissect.errors":
            entry["errors"].append(field.get("show"))
        elif name.startswith("kdissect.") and not name.startswith(prefix):
            entry[name.removeprefix("kdissect.")] = field.get("show", "")
        elif body or label(field) != "client_id: null":
            body.append(field)
    for field in layer:
        if field.get("name") in ("kdissect.latency", "kdissect.request_in", "kdissect.response_in"):
            entry[str(field.get("name")).removeprefix("kdissect.")] = field.get("show")
    entry["body"] = struct_of(body)
    return entry


def name_of(field: ET.Element) -> str:
    name = field.get("name", "")
    return name if name.startswith("kdissect.") else ""


def label(field: ET.Element) -> str:
    return field.get("showname") or field.get("show") or ""


def struct_of(fields: Iterable[ET.Element]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields:
        name, text = name_of(field), label(field)
        if name.startswith("kdissect.batch") or name == "kdissect.error":
            continue
        if "left over" in text or "that brokers ignore" in text:
            continue
        if not name and text.startswith("tag "):
            number, _, _ = text.removeprefix("tag ").partition(":")
            found.setdefault("_tags", {})[number] = None
            continue
        word = name.rpartition(".")[2] if name else text.partition(":")[0]
        found[word] = value_of(field, text)
    return found


def value_of(field: ET.Element, text: str) -> Any:
    elements = text.endswith((" elements", " element"))
    if elements:
        parts = [each for each in field if not name_of(each) and label(each).startswith("[")]
        return [struct_of(each) for each in parts] if parts else [Leaf(each) for each in field]
    if not BATCHES.isdisjoint(name_of(each) for each in field):
        return Leaf(field)
    if len(field):
        return struct_of(field)
    return Leaf(field)


class Leaf:
    """A value as PDML has it."""

    def __init__(self, field: ET.Element) -> None:
        name = name_of(field)
        self.text = field.get("show", "")
        self.bytes = bytes.fromhex(field.get("value", "")) if name else None
        self.label = label(field).partition(": ")[2] if not name else None

    def __repr__(self) -> str:
        return f"Leaf({self.text!r} {self.bytes!r} {self.label!r})"


def differences(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    if isinstance(ours, dict) and "base64" not in ours and not ("bytes" in ours and isinstance(theirs, Leaf)):
        theirs = {} if isinstance(theirs, Leaf) and theirs.label is None else theirs
        if not isinstance(theirs, dict):
            yield f"{path}: {ours} / {theirs}"
            return
        names = {name for name in ours if not name.endswith("_decoded")}
        if names != set(theirs):
            yield f"{path}: {sorted(names ^ set(theirs))}"
            return
        for name in names - {"_tags"}:
            yield from differences(ours[name], theirs[name], f"{path}.{name}")
        yield from differences(
            sorted(ours.get("_tags", {})), sorted(theirs.get("_tags", {})), f"{path}._tags"
        )
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{path}: {len(ours)} / {len(theirs)}"
            return
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif not is_equal(ours, theirs):
        yield f"{path}: {ours!r} / {theirs!r}"


def is_equal(ours: Any, theirs: Any) -> bool:
    if not isinstance(theirs, Leaf):
        return bool(ours == theirs)
    if ours is None:
        return theirs.label == "null"
    if isinstance(ours, dict):
        return is_same_bytes(ours, theirs)
    if isinstance(ours, bool):
        return theirs.text in (("1", "True") if ours else ("0", "False"))
    if isinstance(ours, float) or ours in ("NaN", "Infinity", "-Infinity"):
        found = float(theirs.text)
        return math.isclose(found, float(ours), rel_tol=1e-12) or (math.isnan(found) and ours == "NaN")
    if isinstance(ours, int):
        return int(theirs.text) == ours
    if ours == "***":
        return theirs.text == "***" or theirs.label == "***"
    return theirs.text == ours or (theirs.bytes or b"") == ours.encode()


def is_same_bytes(ours: dict[str, Any], theirs: Leaf) -> bool:
    if "bytes" in ours:
        return len(theirs.bytes or b"") == ours["bytes"] or theirs.label == f"{ours['bytes']} bytes"
    wanted = base64.b64decode(ours["base64"])
    return theirs.label == "0 bytes" if not wanted else theirs.bytes == wanted


# What `inspect` prints.


def printed(path: Path | str, folder: Path, *options: str) -> list[dict[str, Any]]:
    out = folder / "rows.jsonl"
    assert main(["inspect", str(path), "--bodies", "--format", "jsonl", "-o", str(out), *options]) == 0
    return [orjson.loads(line) for line in out.read_bytes().splitlines()]


def compare(rows: list[dict[str, Any]], frames: Frames) -> tuple[int, list[str]]:
    """Return how many frames are equal, and what is not."""
    equal, wrong = 0, []
    for row in rows:
        if row["kind"] != "kafka" or row["state"] == "orphan_response":
            continue
        for side in ("request", "response"):
            frame = row[side]
            if frame is None or "captured" in frame:
                continue
            key = frame["packets"]["last"], side == "request", row["correlation_id"]
            found = [*frame_differences(row, side, frames.get(key))]
            wrong += [f"{row['number']} {row['api']} v{row['api_version']} {side}: {each}" for each in found]
            equal += not found
    return equal, wrong


def frame_differences(row: dict[str, Any], side: str, shown: dict[str, Any] | None) -> Iterator[str]:
    if shown is None:
        yield "is not shown"
        return
    told = {"api_key": str(row["api_key"]), "api": row["api"], "api_version": str(row["api_version"])}
    told |= request_facts(row) if side == "request" else response_facts(row)
    for name, value in told.items():
        if shown.get(name) != value:
            yield f"{name}: {value} / {shown.get(name)}"
    if (row[side]["error"] is None) != (shown["error"] is None):
        yield f"error: {row[side]['error']} / {shown['error']}"
    elif row[side]["error"] is None and not is_masked_for_payloads(row):
        yield from differences(row[side]["body"] or {}, shown["body"], "body")


def request_facts(row: dict[str, Any]) -> dict[str, Any]:
    response = row["response"]
    is_whole = response is not None and "captured" not in response
    links = {"response_in": str(response["packets"]["last"])} if is_whole else {}
    return {"client_id": row["client_id"], **links}


def response_facts(row: dict[str, Any]) -> dict[str, Any]:
    seconds, nanoseconds = divmod(row["latency_ns"], 10**9)
    return {
        "errors": row["errors"],
        "request_in": str(row["request"]["packets"]["last"]),
        "latency": f"{seconds}.{nanoseconds:09}",
    }


def is_masked_for_payloads(row: dict[str, Any]) -> bool:
    """Return whether all of a body is masked because of what its bytes hold, which the plugin does not look
    into.
    """
    return row["api"] == "Envelope" and any(each["kind"] == "malformed_payload" for each in row["anomalies"])


# Every API at every version.


@cache
def all_versions() -> tuple[Conversation, ...]:
    """Return a conversation for each API, with each version twice; for SaslHandshake one for each version."""
    talks = []
    for number, api in enumerate(protocol_messages.all_apis()):
        talk = Conversation(ports=(40000 + number, 9092)).handshake()
        for version in versions_of(api):
            for seed in (1, 2):
                say(talk, api, version, seed)
        talks.append(talk)
    return tuple(talks)


def versions_of(api: Api) -> range:
    return range(api.versions.first, api.versions.last + 1)


def say(talk: Conversation, api: Api, version: int, seed: int) -> None:
    asked = ValueMaker(api.request, version, seed).body()
    answer = ValueMaker(api.response, version, seed).body()
    number = version * 10 + seed
    if "acks" in asked:
        asked["acks"] = -1
    talk.client(encode_request(api.key, version, number, f"client-{number}", asked))
    if api.name == "ApiVersions":
        answer["error_code"] = 0
    talk.broker(encode_response(api.key, version, number, answer))


@pytest.mark.exhaustive
@needs_tshark
def test_every_api_and_version_has_the_fields_that_inspect_prints(plugin: str, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "all.pcap", (packet for talk in all_versions() for packet in talk.packets))
    rows = printed(path, tmp_path, "--show-secrets")
    versions = {(row["api_key"], row["api_version"]) for row in rows}
    assert len(versions) == sum(map(len, map(versions_of, protocol_messages.all_apis())))
    equal, wrong = compare(rows, shown(plugin, path, "-o", "kdissect.show_secrets:TRUE"))
    assert not wrong, "\n".join(wrong[:20])
    assert equal >= 4 * len(versions)


@pytest.mark.exhaustive
@needs_tshark
def test_what_wireshark_itself_cannot_read_is_readable(plugin: str, tmp_path: Path) -> None:
    """Produce 9 and later, Fetch 12 and later: its own dissector says so of itself."""
    talks = [
        talk for talk, api in zip(all_versions(), protocol_messages.all_apis(), strict=True) if api.key < 2
    ]
    path = write_pcap(tmp_path / "late.pcap", (packet for talk in talks for packet in talk.packets))
    line = [str(TSHARK), "-r", str(path), "-d", "tcp.port==9092,kafka", "-T", "fields"]
    for name in ("kafka.api_key", "kafka.api_version", "_ws.expert.message"):
        line += ["-e", name]
    said = subprocess.run(line, capture_output=True, check=True, timeout=600).stdout.decode(errors="replace")
    rows = [text.split("\t") for text in said.splitlines() if "Unsupported" in text]
    unread = {(int(key), int(version)) for key, version, _ in rows if key and version}  # of requests
    if not unread:
        pytest.skip("this Wireshark reads every version of Produce and Fetch")
    assert min(version for key, version in unread if key == 0) >= 9
    assert min(version for key, version in unread if key == 1) >= 12
    wanted = [
        row
        for row in printed(path, tmp_path, "--show-secrets")
        if (row["api_key"], row["api_version"]) in unread
    ]
    equal, wrong = compare(wanted, shown(plugin, path, "-o", "kdissect.show_secrets:TRUE"))
    assert not wrong, "\n".join(wrong[:20])
    assert equal == 4 * len(unread)


CORPUS = sorted(path.name for path in CAPTURES.glob("*.pcap*"))


@needs_tshark
@pytest.mark.rotated(5)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in FAST else pytest.mark.exhaustive) for each in CORPUS]
)
def test_captures_have_the_fields_that_inspect_prints(name: str, plugin: str, tmp_path: Path) -> None:
    path = CAPTURES / name
    keys = [CAPTURES / f"{path.stem}.keys"] if (CAPTURES / f"{path.stem}.keys").exists() else []
    rows = printed(path, tmp_path, *(word for each in keys for word in ("--keylog", str(each))))
    options = [word for each in keys for word in ("-o", f"tls.keylog_file:{each}")]
    if keys:  # requests of several TLS records are put together where the port is known
        ports = sorted({row["broker"].rpartition(":")[2] for row in rows})
        options += ["-o", f"kdissect.tls_ports:{','.join(ports)}"]
    equal, wrong = compare(rows, shown(plugin, path, *options))
    assert not wrong, "\n".join(wrong[:20])
    assert equal >= len(rows)


@needs_tshark
@pytest.mark.parametrize("number", [9, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(9))])
def test_damaged_captures_are_shown_without_errors_of_lua(number: int, plugin: str, tmp_path: Path) -> None:
    """Frames are flipped, cut, doubled, lost and snapped."""
    path = tmp_path / "damaged.pcap"
    for part in range(4):
        _, messages, dice, _ = chosen(number * 4 + part)
        path.write_bytes(damaged(messages, dice))
        text = tshark(plugin, path, "-V", "-d", "tcp.port==9092,kdissect")
        assert "Lua Error" not in text, text[text.index("Lua Error") :][:500]
        assert "wireshark.lua:" not in text and "kdissect.lua:" not in text


@pytest.mark.sampled(6)
@needs_tshark
@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ('kdissect.request.body.topic_data.partition_data.index == 0 && kdissect.api == "Produce"', {"0"}),
        ('kdissect.errors == "UNKNOWN_TOPIC_OR_PARTITION"', {"3"}),
        ('kdissect.batch.codec == "zstd" && kdissect.batch.count > 1', {"0", "1"}),
        ('kdissect.record.key == "key-0"', {"0", "1"}),
        ("kdissect.response && !kdissect.response.body.throttle_time_ms && !kdissect.latency", set()),
    ],
)
def test_names_are_filters(words: str, keys: set[str], plugin: str) -> None:
    path = CAPTURES / "kafka44_java_produce.pcapng"
    rows = tshark(plugin, path, "-Y", words, "-T", "fields", "-e", "kdissect.api_key").split()
    assert {key for row in rows for key in row.split(",")} == keys


def without_root(text: str) -> str:
    """Return tshark's messages without its warning about root."""
    return text.replace('Running as user "root" and group "root". This could be dangerous.\n', "")


@pytest.mark.exhaustive
@needs_tshark
def test_the_page_is_what_tshark_prints(plugin: str, tmp_path: Path) -> None:
    shutil.copy(plugin, tmp_path / "kdissect.lua")
    walk(CHECKOUT / "docs" / "wireshark.md", tmp_path, UPDATE, without_root)
