"""Our readers and writers against scapy's and Wireshark's, on every recorded capture and on our own files."""

import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.utils import RawPcapNgReader, RawPcapReader

from kdissect.capture.files import open_captures
from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.model.packets.commented import without_comments
from kdissect.model.packets.packet import Packet
from tests.support.packets.pcap_writer import PcapWriter

# Scapy delivers the packet that the end of the file cuts, Wireshark and we do not.
CUT = "dmg_tansu_rdk216_codecs_cutfile.pcap"

Plain = list[tuple[int, bytes, int]]


def by_scapy(path: Path) -> Plain:
    """(time in ns, data, wire length) of every packet."""
    ng = path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    with warnings.catch_warnings(), (RawPcapNgReader if ng else RawPcapReader)(str(path)) as reader:
        warnings.simplefilter("ignore")
        if ng:
            return [(_ng_time(meta), data, meta.wirelen) for data, meta in _each(reader)]
        unit = 1 if reader.nano else 1000
        return [
            (meta.sec * 1_000_000_000 + meta.usec * unit, data, meta.wirelen) for data, meta in _each(reader)
        ]


def _each(reader: RawPcapReader) -> Iterator[tuple[bytes, Any]]:
    """Yield every packet whole: iterating a reader would cut each to 65535 bytes."""
    while True:
        try:
            yield reader._read_packet(1 << 24)
        except EOFError:
            return


def _ng_time(meta: Any) -> int:
    stamp = meta.tshigh << 32 | meta.tslow
    return stamp * 1_000_000_000 // meta.tsresol


def plain(packets: list[Packet]) -> Plain:
    return [
        (packet.time_ns, without_comments(packet.link_type, packet.data)[1], packet.wire_length)
        for packet in packets
    ]


def test_every_recorded_capture_like_scapy(reference: Path) -> None:
    folders = [reference / "captures", reference / "third-party"]
    paths = [path for folder in folders for path in folder.rglob("*.pcap*")]
    assert len(paths) > 50
    for path in paths:
        captures = open_captures([path])
        ours = plain(list(captures.packets()))
        theirs = by_scapy(path)
        assert ours == (theirs[:-1] if path.name == CUT else theirs), path.name
        assert captures.errors == []
        assert bool(captures.files[0].anomalies) == (path.name == CUT)


def test_rotated_set_of_the_recorded_captures(reference: Path) -> None:
    parts = sorted((reference / "captures").glob("tansu_rdk216_rotated.pcap*"))
    captures = open_captures(parts[::-1])
    ours = plain(list(captures.packets()))
    assert ours == [packet for part in parts for packet in by_scapy(part)]
    assert [Path(file.path).name for file in captures.files] == [part.name for part in parts]
    assert {file.capture_set for file in captures.files} == {"tansu_rdk216_rotated"}


def test_directory_of_the_recorded_captures(reference: Path) -> None:
    captures = open_captures([reference / "captures"])
    assert sum(1 for _ in captures.packets()) == sum(file.packets for file in captures.files)
    assert len(captures.files) == len(list((reference / "captures").glob("*.pcap*")))
    assert captures.errors == []


PACKETS = [(1_700_000_000_000_000_000 + n * 1_000_001, bytes([n]) * (n + 1), 2 * n + 1) for n in range(50)]


def write_pcap(path: Path, nanoseconds: bool, order: str) -> Plain:
    with path.open("wb") as stream:
        writer = PcapWriter(stream, 113, nanoseconds=nanoseconds, byte_order=order)  # type: ignore[arg-type]
        for time_ns, data, wire in PACKETS:
            writer.write(time_ns, data, wire)
    unit = 1 if nanoseconds else 1000
    return [(time_ns // unit * unit, data, wire) for time_ns, data, wire in PACKETS]


@pytest.mark.parametrize("nanoseconds", [True, False])
@pytest.mark.parametrize("order", ["big", "little"])
def test_our_pcap_files(tmp_path: Path, nanoseconds: bool, order: str) -> None:
    path = tmp_path / "ours.pcap"
    written = write_pcap(path, nanoseconds, order)
    assert by_scapy(path) == written
    assert plain(list(open_captures([path]).packets())) == written


def write_pcapng(path: Path, order: str) -> None:
    with path.open("wb") as stream:
        writer = PcapngWriter(stream, byte_order=order, comment="a section")  # type: ignore[arg-type]
        for resolution in (9, 6, 128 + 20):
            writer.interface(
                1, resolution=resolution, name=f"if{resolution}", comment="an interface", snaplen=4096
            )
        for number, (time_ns, data, wire) in enumerate(PACKETS):
            writer.write(time_ns, data, wire, interface=number % 3, comment="a packet" if number % 2 else "")
        writer.statistics(0, 17)
        writer.secrets(0x544C534B, b"CLIENT_RANDOM 00 11")


@pytest.mark.parametrize("order", ["big", "little"])
def test_our_pcapng_files(tmp_path: Path, order: str) -> None:
    path = tmp_path / "ours.pcapng"
    write_pcapng(path, order)
    captures = open_captures([path])
    ours = plain(list(captures.packets()))
    assert ours == by_scapy(path)
    assert [packet[1:] for packet in ours] == [packet[1:] for packet in PACKETS]
    assert all(abs(mine[0] - packet[0]) <= 1000 for mine, packet in zip(ours, PACKETS, strict=True))
    assert captures.files[0].drops == 17
    assert captures.files[0].secrets == [(0x544C534B, b"CLIENT_RANDOM 00 11")]
    assert captures.errors == []


def test_snaplen_and_offset_of_our_writers(tmp_path: Path) -> None:
    with (tmp_path / "a.pcap").open("wb") as stream:
        PcapWriter(stream, snaplen=8).write(0, bytes(100))
    with (tmp_path / "b.pcapng").open("wb") as stream:
        writer = PcapngWriter(stream)
        writer.section("big")
        writer.interface(276, snaplen=2, offset=1_000, resolution=6)
        writer.write(1_001_000_000_000, b"x")
        writer.block(3, (7).to_bytes(4) + b"yy")  # a Simple Packet Block
    packets = list(open_captures([tmp_path]).packets())
    assert [(packet.time_ns, len(packet.data), packet.wire_length) for packet in packets] == [
        (0, 8, 100), (1_001_000_000_000, 1, 1), (1_001_000_000_000, 2, 7),
    ]  # fmt: skip


def test_writing_what_was_read(reference: Path, tmp_path: Path) -> None:
    source = list(open_captures([reference / "captures" / "tansu_rdk216_nano.pcap"]).packets())
    with (tmp_path / "copy.pcapng").open("wb") as stream:
        writer = PcapngWriter(stream)
        writer.interface()
        for packet in source:
            writer.write_packet(packet)
    assert list(open_captures([tmp_path / "copy.pcapng"]).packets()) == source


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("order", ["big", "little"])
def test_wireshark_reads_our_pcapng_files_as_we_do(tmp_path: Path, order: str) -> None:
    path = tmp_path / "ours.pcapng"
    write_pcapng(path, order)
    fields = ["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len"]
    command = [
        "tshark",
        "-r",
        str(path),
        "-T",
        "fields",
        *(word for field in fields for word in ("-e", field)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ours = [
        (number, time_ns, len(data), wire)
        for number, (time_ns, data, wire) in enumerate(plain(list(open_captures([path]).packets())), 1)
    ]
    assert [_wireshark_line(line) for line in done.stdout.splitlines()] == ours


def _wireshark_line(line: str) -> tuple[int, int, int, int]:
    number, time, captured, wire = line.split("\t")
    return int(number), int(time.replace(".", "")), int(captured), int(wire)
