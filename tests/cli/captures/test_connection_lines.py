"""Lines of connections of one SYN, which come from a pattern: they are those that rows make."""

import struct
from collections.abc import Sequence

import pytest

from benchmarks.hostile_load import ACK, START_NS, SYN, Wire
from kdissect.cli.captures import connections_command as connection_lines
from kdissect.cli.captures.connections_command import DEFAULT_COLUMNS, ConnectionLines
from kdissect.cli.formats import Format, delimited
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.connection_rows import connection_row
from kdissect.model.endpoint import ANY_PORTS, Endpoint
from kdissect.model.packets.segment import flow_endpoints, flow_key, flow_texts
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import ConnectionInfo

FORMATS = ("tsv", "csv", "jsonl")


def syn6(number: int) -> bytes:
    """Return a SYN over IPv6."""
    tcp = struct.pack(">HHIIHHI", 40000 + number, 9092, 7, 0, 5 << 12 | SYN, 65535, 0)
    ends = bytes(14) + number.to_bytes(2) + bytes.fromhex("fe80000000000000000000000000beef")
    return b"\x02" * 12 + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + ends + tcp


def closed(capture_set: str = "", names: dict[str, str] | None = None) -> list[ConnectionInfo]:
    """Return connections of a SYN, of the answer to one, of both, over IPv4 and IPv6; some are given up."""
    analyzer = Analyzer(ANY_PORTS, lambda _file: capture_set, names=names)
    wires = [Wire(number) for number in range(20)]
    said = [wire.say(0, b"", SYN) for wire in wires[:10]] + [syn6(number) for number in range(1, 6)]
    said += [wire.say(1, b"", SYN | ACK) for wire in wires[5:15]]
    packets = [(n, START_NS + n * 10**9, 1, data, len(data)) for n, data in enumerate(said, 1)]
    events = analyzer.feed_batch(packets) + analyzer.close({capture_set: START_NS + 25 * 60 * 10**9})
    return [event.connection for event in events if isinstance(event, ConnectionClosed)]


def form_of(name: str) -> Format:
    return delimited(name, () if name == "jsonl" else DEFAULT_COLUMNS, True, False)


def expected(name: str, infos: Sequence[ConnectionInfo]) -> list[bytes]:
    form = form_of(name)
    return [form.line(connection_row(number, info)) for number, info in enumerate(infos, 1)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "capture_set",
    ["", "a%s.pcap", "100%", "7310582946173058262", 'quo"ted,\t\\', "caf\u00e9", "broken-\udcff"],
)
def test_a_line_is_that_of_its_row(name: str, capture_set: str) -> None:
    lines = ConnectionLines(form_of(name), True)
    found = [lines.line(number, info) for number, info in enumerate(closed(capture_set), 1)]
    assert len(found) == 20
    assert found == expected(name, closed(capture_set))


@pytest.mark.parametrize("name", FORMATS)
def test_names_of_hosts_stand_in_lines(name: str) -> None:
    names = {"10.0.0.1": "a\tb", "192.168.0.1": "broker"}
    lines = ConnectionLines(form_of(name), True)
    found = [lines.line(number, info) for number, info in enumerate(closed("", names), 1)]
    assert found == expected(name, closed("", names))
    assert any(b"broker:9092" in line for line in found)


def test_rows_are_made_for_patterns_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(number: int, info: ConnectionInfo) -> dict[str, object]:
        made.append(number)
        return connection_row(number, info)

    monkeypatch.setattr(connection_lines, "connection_row", counted)
    infos = closed()
    lines = ConnectionLines(form_of("tsv"), True)
    for number, info in enumerate(infos, 1):
        lines.line(number, info)
    ends = {info.close.how for info in infos if info.close is not None}
    whole = [info for info in infos if info.tcp is not None and info.tcp.packets > 1]
    assert len(whole) == 5
    assert len(made) == len(ends) + len(whole)


def test_a_table_which_holds_rows_back_has_each() -> None:
    held: list[int] = []

    class Holding:
        def head(self) -> bytes:
            return b""

        def line(self, row: dict[str, object]) -> bytes:
            held.append(len(held))
            return b""

        def tail(self) -> bytes:
            return b""

    lines = ConnectionLines(Holding(), False)
    for number, info in enumerate(closed(), 1):
        assert lines.line(number, info) == b""
    assert len(held) == 20


@pytest.mark.parametrize("one", [Endpoint("10.0.0.1", 1), Endpoint("fe80::1", 65535)])
def test_texts_of_a_flow_are_those_of_its_ends(one: Endpoint) -> None:
    other = Endpoint("255.0.9.10" if "." in one.host else "::", 9092)
    flow = flow_key(one, other)
    assert flow_texts(flow) == (str(one), str(other)) == tuple(map(str, flow_endpoints(flow)))
