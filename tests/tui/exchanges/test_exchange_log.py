"""The log against the exchanges themselves: the rows that `kdissect inspect` prints of both are equal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_log.log import ExchangeLog, find_in
from kdissect.engine.exchange_log.log_writer import LogWriter
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.model.packets.packet import NUMBER_MASK
from kdissect.query import Context, compile_filter
from kdissect.session.exchange import Exchange
from kdissect.tui.panes.exchange_columns import COLUMNS
from kdissect.tui.processes.frame_store import Frames
from tests.support.console import CAPTURES
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap
from tests.tui.inline import Loaded

FILES = (
    "kafka44_java_admin.pcapng",  # files are read again
    "kafka44_java_produce.pcapng",
    "kafka44_franz_raw.pcapng",  # bodies that do not fit
    "kafka44_java_sasl.pcapng",
    "kafka31_quorum.pcapng.gz",  # compressed: the spool
    "tansu_rdk216_txn.pcap",
)


def rows_of(exchanges: list[Exchange], names: list[str]) -> list[dict[str, Any]]:
    """Return rows with bodies."""
    rows = ExchangeRows(names, bodies=True)
    return [rows.row(exchange) for exchange in exchanges]


def assert_same(loaded: Loaded, path: Path, **options: Any) -> None:
    dissection = Dissection(str(path), **options)
    originals = list(dissection)
    log = loaded.log
    assert len(log) == len(originals) > 0
    expected = rows_of(originals, dissection.file_names)
    found = rows_of([log.exchange(row) for row in range(len(log))], list(loaded.names))
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one == other, row


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FILES)
def test_rows_are_those_of_the_exchanges(name: str) -> None:
    with Loaded(CAPTURES / name) as loaded:
        assert_same(loaded, CAPTURES / name)


def test_times_are_those_of_the_exchanges_and_filters_look_at_them() -> None:
    path = CAPTURES / "faults" / "recorded" / "lossy-network-1.pcapng.gz"
    with Loaded(path) as loaded:
        log, originals = loaded.log, list(Dissection(str(path)))
        rows = range(len(log))
        assert [log.rtt_ns(row) for row in rows] == [exchange.rtt_ns for exchange in originals]
        assert [log.delay_ns(row) for row in rows] == [exchange.delay_ns for exchange in originals]
        cells = {column.name: column.cell for column in COLUMNS}
        for expression, name in (("delay > 0ms", "delay"), ("rtt > 1ms", "rtt")):
            takes = compile_filter(expression).bind(Context())
            found = [row for row in rows if takes(log.exchange(row))]
            assert found == [row for row, exchange in enumerate(originals) if takes(exchange)] != []
            assert all(cells[name](log, row)[0] for row in found)


def test_tls_is_kept_in_the_spool() -> None:
    keys = str(CAPTURES / "kafka44_java_tls13.keys")
    with Loaded(CAPTURES / "kafka44_java_tls13.pcapng", key_logs=(keys,)) as loaded:
        assert_same(loaded, CAPTURES / "kafka44_java_tls13.pcapng", key_logs=(keys,))


def shuffled(source: Path, target: Path) -> None:
    """Copy a pcapng capture of one interface, with packets that later packets overtook."""
    from kdissect.capture.files import open_captures
    from kdissect.capture.formats.capture_writer import PcapngWriter

    packets = list(open_captures([str(source)]).packets())
    chance = random.Random(7)
    for index in range(1, len(packets)):
        if chance.random() < 0.1:
            packets[index - 1], packets[index] = packets[index], packets[index - 1]
    with target.open("wb") as file:
        writer = PcapngWriter(file)
        writer.section()
        writer.interface(packets[0].link_type)
        for packet in packets:
            writer.write_packet(packet)


def test_frames_are_found_among_packets_out_of_order(tmp_path: Path) -> None:
    path = tmp_path / "shuffled.pcapng"
    shuffled(CAPTURES / "kafka44_java_produce.pcapng", path)
    with Loaded(path) as loaded:
        assert_same(loaded, path)


def test_spans_tell_the_packets_of_each_byte() -> None:
    path = CAPTURES / "kafka44_java_admin.pcapng"
    payloads = payload_by_packet(path)
    with Loaded(path) as loaded:
        many = 0
        for row in range(len(loaded.log)):
            frame = loaded.log.frame(row, "response")
            if frame is None:
                continue
            found = frame.found
            whole = frame.size.to_bytes(4) + found.data
            assert [span.start for span in found.spans] == [0, *(span.end for span in found.spans[:-1])]
            assert found.spans[-1].end == len(whole)
            assert found.spans[0].ref == frame.first_ref
            assert found.spans[-1].ref == frame.last_ref
            many += len(found.spans) > 1
            for span in found.spans:
                assert whole[span.start : span.end] in payloads[span.ref & NUMBER_MASK]
        assert many, "no frame goes over several packets: the test shows nothing"


def payload_by_packet(path: Path) -> dict[int, bytes]:
    """Return TCP payloads by number of the packet, as dpkt takes them apart."""
    import dpkt

    found = {}
    with path.open("rb") as file:
        for number, (_, data) in enumerate(dpkt.pcapng.Reader(file), 1):
            ip = dpkt.ethernet.Ethernet(data).data
            found[number] = bytes(ip.data.data)
    return found


def test_a_file_that_changed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "copy.pcapng"
    path.write_bytes((CAPTURES / "kafka44_java_produce.pcapng").read_bytes())
    with Loaded(path) as loaded:
        path.write_bytes(path.read_bytes()[:4000] + bytes(3000))
        frame = loaded.log.frame(len(loaded.log) - 1, "request")
        assert frame is not None
        assert frame.data == b""
        assert frame.is_cut
        assert "changed" in frame.found.why
        path.unlink()
        gone = loaded.log.frame(0, "request")
        assert gone is not None
        assert "No such file" in gone.found.why


def test_nothing_is_put_together_over_a_hole(tmp_path: Path) -> None:
    """The file lost a packet since: better no bytes than wrong ones."""
    talk = Conversation().handshake()
    talk.client(request(18, 0, 1)).broker(response(1, bytes(2) + (50).to_bytes(4) + bytes(300)), mss=50)
    path = tmp_path / "whole.pcap"
    write_pcap(path, talk.packets)
    with Loaded(path) as loaded:
        frame = loaded.log.frame(0, "response")
        assert frame is not None
        assert len(frame.found.spans) == 7
        third = next(at for at, packet in enumerate(talk.packets) if packet.ref == frame.found.spans[2].ref)
        write_pcap(path, [*talk.packets[:third], talk.packets[third - 1], *talk.packets[third + 1 :]])
        loaded.log.store = Frames(loaded.log, lambda: loaded.names, None)
        again = loaded.log.frame(0, "response")
        assert again is not None
        assert (again.data, bool(again.found.why)) == (b"", True)


def test_rows_by_identity() -> None:
    with Loaded(CAPTURES / "kafka44_java_groups.pcapng") as loaded:
        log = loaded.log
        seen = 0
        for info in log.connections:
            rows = log.rows_of(info.id)
            ordinals = [log.columns["ordinal"][row] for row in rows]
            assert ordinals == sorted(ordinals)
            for row, ordinal in zip(rows, ordinals, strict=True):
                assert log.row_of(info.id, ordinal) == row
                assert log.connection(row).id == info.id
            seen += len(rows)
        assert seen == len(log)
        assert log.row_of(log.connections[0].id, 10**6) is None
        assert log.row_of("no such connection", 0) is None


def test_closed_connections_tell_how() -> None:
    """What is known only at the end of a connection arrives, too."""
    with Loaded(CAPTURES / "kafka44_java_groups.pcapng") as loaded:
        assert all(info.tcp is not None for info in loaded.log.connections)


def test_next_flag_among_shown_rows() -> None:
    flags = bytearray(b"\0\1\0\1\1\0")
    assert find_in(flags, -1, 1, None) == 1
    assert find_in(flags, 1, 1, None) == 3
    assert find_in(flags, 4, 1, None) is None
    assert find_in(flags, 4, -1, None) == 3
    assert find_in(flags, -1, 1, [0, 4, 5]) == 4
    assert find_in(flags, 5, -1, [0, 1, 5]) == 1
    assert find_in(flags, 0, -1, [0]) is None


def test_findings_are_remembered_by_row() -> None:
    with Loaded(CAPTURES / "kafka44_java_produce.pcapng") as loaded:
        log = loaded.log
        place = log.connection(3).id, log.columns["ordinal"][3]
        log.add_code(*place, "REC001")
        log.add_code(*place, "REC002")
        log.add_code(*place, "REC001")
        log.add_code("no such connection", 0, "REC001")
        assert log.codes(3) == ("REC001", "REC002")
        assert find_in(log.found, -1, 1, None) == 3


def test_a_finding_may_be_known_before_the_row_of_its_exchange() -> None:
    with Loaded(CAPTURES / "kafka44_java_produce.pcapng") as loaded:
        whole = loaded.log
    writer, log = LogWriter(), ExchangeLog()
    log.add_code(whole.connection(3).id, whole.columns["ordinal"][3], "REC001")
    for row in range(len(whole)):
        writer.add(whole.exchange(row))
        log.extend(writer.take())
    assert [row for row in range(len(log)) if log.codes(row)] == [3]
