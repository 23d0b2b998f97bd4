"""The recorded TLS traffic: the decrypted leg says what the plain leg behind the proxy says."""

import struct
from collections import Counter
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind
from tests.support.console import run

CAPTURES = Path(__file__).parent.parent.parent / "captures"
NAMES = ["kafka44_java_tls12", "kafka44_java_tls13"]


def legs(dissection: Dissection) -> tuple[list[Exchange], list[Exchange]]:
    """Return exchanges of connections over TLS, and of the others."""
    exchanges = list(dissection)
    return [e for e in exchanges if e.connection.tls], [e for e in exchanges if not e.connection.tls]


def content(exchange: Exchange) -> tuple[object, ...]:
    request, response = exchange.request, exchange.response
    return (
        exchange.api_key,
        exchange.api_version,
        exchange.correlation_id,
        exchange.state,
        request and bytes(request.data),
        response and bytes(response.data),
    )


def by_connection(exchanges: list[Exchange]) -> Counter[tuple[object, ...]]:
    found: dict[str, list[object]] = {}
    for exchange in exchanges:
        found.setdefault(exchange.connection.id, []).append(content(exchange))
    return Counter(tuple(contents) for contents in found.values())


@pytest.mark.parametrize("name", NAMES)
def test_legs_are_equal(name: str) -> None:
    capture = str(CAPTURES / f"{name}.pcapng")
    encrypted, plain = legs(Dissection(capture, key_logs=[str(CAPTURES / f"{name}.keys")]))
    assert len(plain) > 50
    assert by_connection(encrypted) == by_connection(plain)
    suites = {e.connection.tls.suite for e in encrypted if e.connection.tls}
    assert len(suites) >= 3
    assert {e.connection.tls.why for e in encrypted if e.connection.tls} == {None}


@pytest.mark.parametrize("name", NAMES)
def test_without_the_log_only_the_plain_leg(name: str) -> None:
    dissection = Dissection(str(CAPTURES / f"{name}.pcapng"))
    encrypted, plain = legs(dissection)
    assert not encrypted
    assert len(plain) > 50


def test_secrets_inside_the_capture(tmp_path: Path) -> None:
    """A Decryption Secrets Block (draft-ietf-opsawg-pcapng section 4.7) behind the section header."""
    name = NAMES[0]
    data = (CAPTURES / f"{name}.pcapng").read_bytes()
    keys = (CAPTURES / f"{name}.keys").read_bytes()
    padded = keys + bytes(-len(keys) % 4)
    total = 20 + len(padded)
    block = struct.pack("<IIII", 10, total, 0x544C534B, len(keys)) + padded + struct.pack("<I", total)
    (section,) = struct.unpack_from("<I", data, 4)
    path = tmp_path / "with_secrets.pcapng"
    path.write_bytes(data[:section] + block + data[section:])
    encrypted, plain = legs(Dissection(str(path)))
    assert len(encrypted) == len(plain) > 50


def test_a_log_of_some_connections_leaves_the_others_unharmed(tmp_path: Path) -> None:
    name = NAMES[0]
    lines = [x for x in (CAPTURES / f"{name}.keys").read_text().splitlines() if not x.startswith("#")]
    known = lines[: len(lines) // 2]
    partial = tmp_path / "partial.keys"
    partial.write_text("\n".join(known))  # the last line without an end
    dissection = Dissection(str(CAPTURES / f"{name}.pcapng"), key_logs=[str(partial)])
    infos: list[ConnectionInfo] = [
        event.connection for event in dissection.events() if type(event).__name__ == "ConnectionClosed"
    ]
    over_tls = [info for info in infos if info.tls is not None]
    read = [info for info in over_tls if info.kind is ConnectionKind.KAFKA]
    assert len(read) == len(known)
    assert {info.tls.why for info in over_tls if info.tls and info not in read} == {
        "the key log has no secrets for the connection's client random"
    }


def test_command_line(tmp_path: Path) -> None:
    name = NAMES[1]
    capture, keys = str(CAPTURES / f"{name}.pcapng"), str(CAPTURES / f"{name}.keys")
    opaque = run("info", capture)
    assert "opaque: no key log" in opaque.out
    read = run("info", capture, "--keylog", keys)
    assert "opaque" not in read.out
    rows = run("connections", capture, "--keylog", keys, "--format", "jsonl").out
    assert '"version":"TLS 1.3"' in rows
    missing = run("info", capture, "--keylog", str(tmp_path / "none"))
    assert missing.code == 2
    assert "No such file" in missing.err
