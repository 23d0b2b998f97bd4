"""Streams of capture bytes become whole pcapng blocks."""

from io import BytesIO
from pathlib import Path

import pytest

from kdissect.capture.files import open_captures
from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.capture.live.blocks import BlockCutter, Converter, Cutter, cutter_for, statistics_block
from tests.support.console import CAPTURES
from tests.support.packets.pcap_writer import PcapWriter

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
TXN = CAPTURES / "tansu_rdk216_txn.pcap"


def joined(cutter: Cutter, data: bytes, size: int) -> tuple[bytes, int]:
    found = [piece for at in range(0, len(data), size) for piece in cutter.feed(data[at : at + size])]
    return b"".join(piece.data for piece in found), sum(piece.packets for piece in found)


def cutter_of(data: bytes, comment: str = "") -> Cutter:
    cutter = cutter_for(data[:12], comment)
    assert not isinstance(cutter, str)
    return cutter


def packets_of(path: Path, data: bytes) -> list[tuple[int, int, bytes, int]]:
    path.write_bytes(data)
    return [packet[1:] for packet in open_captures([path]).packets()]  # type: ignore[misc]


@pytest.mark.parametrize("size", [1, 7, 100, 4096, 1 << 20])
@pytest.mark.parametrize("capture", [GROUPS, TXN], ids=lambda path: path.suffix)
def test_any_cut_of_the_stream_gives_the_packets(capture: Path, size: int, tmp_path: Path) -> None:
    data = capture.read_bytes()[: 20_000 if size < 100 else None]
    blocks, count = joined(cutter_of(data), data, size)
    found = packets_of(tmp_path / "out.pcapng", blocks)
    (tmp_path / "in").write_bytes(data)
    assert found == [packet[1:] for packet in open_captures([tmp_path / "in"]).packets()]
    assert count == len(found) > 10


def test_kinds_of_streams() -> None:
    assert isinstance(cutter_for(GROUPS.read_bytes()[:12], ""), BlockCutter)
    assert isinstance(cutter_for(TXN.read_bytes()[:12], ""), Converter)
    big = BytesIO()
    PcapngWriter(big, byte_order="big")
    assert isinstance(cutter_for(big.getvalue()[:12], ""), Converter)
    assert cutter_for(b"Connection refused", "") == "not a capture, but text"


def test_the_comment_stands_in_the_section(tmp_path: Path) -> None:
    for capture in (GROUPS, TXN):
        data = capture.read_bytes()
        cutter = cutter_of(data, "kdissect live; filter: tcp port 9092 — ü")
        out, _ = joined(cutter, data, 5000)
        assert "filter: tcp port 9092 — ü".encode() in out[:400]
        assert packets_of(tmp_path / "x.pcapng", out)


def test_every_piece_with_packets_can_follow_the_preamble(tmp_path: Path) -> None:
    data = GROUPS.read_bytes()
    cutter = cutter_of(data)
    for piece in cutter.feed(data):
        if piece.packets:
            assert len(packets_of(tmp_path / "x.pcapng", cutter.preamble + piece.data)) == piece.packets


def test_statistics_are_read_and_left_out() -> None:
    out = BytesIO()
    writer = PcapngWriter(out)
    writer.interface()
    writer.interface()
    writer.statistics(0, 3)
    writer.write(1, b"x")
    writer.statistics(1, 4)
    writer.statistics(0, 5)
    cutter = cutter_of(out.getvalue())
    blocks, _ = joined(cutter, out.getvalue(), 13)
    assert cutter.drops == {0: 5, 1: 4}
    parser = PcapngParser()
    parser.feed(blocks)
    assert parser.drops == 0
    assert parser.packets == 1


def test_drops_of_an_earlier_section_still_count() -> None:
    out = BytesIO()
    writer = PcapngWriter(out)
    writer.interface()
    writer.statistics(0, 3)
    writer.section()
    writer.interface()
    writer.statistics(0, 2)
    cutter = cutter_of(out.getvalue())
    cutter.feed(out.getvalue())
    assert (cutter.drops_before, cutter.drops) == (3, {0: 2})


def test_damage_is_said_and_ends_it() -> None:
    data = GROUPS.read_bytes()[:5000] + bytes(64)
    cutter = cutter_of(data)
    assert sum(piece.packets for piece in cutter.feed(data[:4000])) > 0
    cutter.feed(b"\xff" * 3000)
    assert cutter.error is not None
    assert cutter.feed(b"x" * 100) == []
    old = BytesIO()
    PcapWriter(old).write(0, b"x")
    converter = cutter_of(old.getvalue())
    converter.feed(old.getvalue() + b"\xff" * 64)
    assert converter.error is not None


def test_statistics_say_what_a_parser_reads() -> None:
    out = BytesIO()
    writer = PcapngWriter(out)
    for _ in range(3):
        writer.interface()
    parser = PcapngParser()
    parser.feed(out.getvalue() + statistics_block(2, 9, 1_700_000_000_000_000_000))
    assert parser.drops == 9
