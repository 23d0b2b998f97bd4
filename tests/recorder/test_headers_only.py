"""`record --snap headers`: no content of packets on the disk, and an analysis that has it."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from captures.faults.recording import RECORDED
from kdissect.capture.files import open_captures
from kdissect.capture.live import headers_only
from kdissect.capture.live.blocks import BlockCutter
from kdissect.capture.live.headers_only import HeadersOnly, HeadersSink
from kdissect.capture.live.lag import Lag
from kdissect.capture.live.live_settings import Ring
from kdissect.capture.live.ring import FileRing, ring_files
from kdissect.capture.live.tapes import Spool
from kdissect.cli import main
from kdissect.model.packets.packet import Packet
from kdissect.net.parser import SegmentParser
from tests.recorder.test_record import incidents, recorded
from tests.support.console import CAPTURES
from tests.support.messages.planted import PLANTED, needles, planted

REFUSED = RECORDED / "login-refused-1.pcapng.gz"
TLS = CAPTURES / "kafka44_java_tls13.pcapng"
_LONG = 24  # bytes that are in no header by chance


def packets_of(*paths: Path | str) -> Iterator[Packet]:
    captures = open_captures(list(paths))
    for batch in captures.batches():
        yield from map(Packet._make, batch)
    assert captures.errors == []


def contents(path: Path) -> list[bytes]:
    """Return the content of all segments."""
    segments = map(SegmentParser().parse, packets_of(path))
    return [one.payload for one in segments if one is not None and len(one.payload) >= _LONG]


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("source", [REFUSED, TLS], ids=["plain", "TLS"])
def test_no_content_is_on_the_disk(tmp_path: Path, source: Path) -> None:
    keys = ["--keylog", TLS.with_suffix(".keys")] if source == TLS else []
    recorded(tmp_path, source, *keys, "--snap", "headers", "--when", "api == ApiVersions")
    assert incidents(tmp_path)
    for name, data in written(tmp_path).items():
        for content in contents(source):
            assert content[:_LONG] not in data, name
            assert content[-_LONG:] not in data, name
    for line in TLS.with_suffix(".keys").read_text().split():
        assert len(line) < _LONG or not any(line.encode() in data for data in written(tmp_path).values())


def test_no_secret_is_on_the_disk(tmp_path: Path) -> None:
    capture = planted(tmp_path / "secrets.pcap")
    recorded(tmp_path / "r", capture, "--snap", "headers", "--when", "api == SaslAuthenticate")
    assert incidents(tmp_path / "r")
    for name, data in written(tmp_path / "r").items():
        assert not any(needle in data for secret in PLANTED for needle in needles(secret)), name


def test_comments_of_sections_and_interfaces_are_not_on_the_disk() -> None:
    def block(kind: int, body: bytes, *options: tuple[int, bytes]) -> bytes:
        for code, value in options:
            body += struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    section, interface = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1), struct.pack("<HHI", 1, 0, 0)
    resolution, name, end = (9, b"\x09"), (2, b"eth0"), (0, b"")
    secrets = (1, b"hunter2"), (2988, b"\0\0\0\0hunter2"), (700, b"hunter2")
    given = block(0x0A0D0D0A, section, *secrets, end) + block(1, interface, secrets[0], name, resolution, end)
    cut = HeadersOnly().cut(given)
    assert cut == block(0x0A0D0D0A, section) + block(1, interface, name, resolution, end)
    assert HeadersOnly().cut(cut) == cut


def test_the_analysis_has_whole_packets_and_the_incident_says_that_it_has_none(tmp_path: Path) -> None:
    recorded(tmp_path, REFUSED, "--snap", "headers")
    ((path, row),) = incidents(tmp_path)
    assert row["problems"][0]["name"] == "login-refused"
    assert (row["has_headers_only"], row["causes"]) == (True, [])
    assert "snapshot length cut off" in (path / "why.md").read_text()
    whole, cut = list(packets_of(REFUSED)), list(packets_of(path / "capture.pcapng"))
    assert [(one.time_ns, one.wire_length) for one in cut] == [
        (one.time_ns, one.wire_length) for one in whole
    ]
    flags = SegmentParser()
    seen = [[(one.flow, one.seq, one.flags) for one in map(flags.parse, of) if one] for of in (cut, whole)]
    assert seen[0] == seen[1]


def test_it_does_not_go_with_redaction(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["record", str(REFUSED), "-d", str(tmp_path), "--snap", "headers", "--redact"]) == 2
    assert "leaves nothing to --redact" in capfd.readouterr().err


def test_an_analysis_that_lags_misses_packets_and_the_ring_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads the spools. Each has the section, and no more packets than the limit."""
    monkeypatch.setattr(headers_only, "MAX_SPOOL", 30_000)
    source = CAPTURES / "kafka44_java_groups.pcapng"
    spools: list[Spool] = []
    ring = FileRing(str(tmp_path / "r.pcapng"), Ring(20_000), lambda _file: None)
    lag = Lag()
    sink = HeadersSink(ring, "lo", lag, spools.append)
    ring.opened = sink.begin_file
    cutter = BlockCutter("")
    data = source.read_bytes()
    for at in range(0, len(data), 5_000):
        for blocks in cutter.feed(data[at : at + 5_000]):
            sink.write(blocks, cutter.preamble, cutter.drops)
    sink.close({})
    whole = list(packets_of(source))
    assert len(list(packets_of(*[path for _, path in ring_files(str(tmp_path / "r.pcapng"))]))) == len(whole)
    assert lag.written < 30_000 + 20_000
    captured = drops = 0
    for number, spool in enumerate(spools):
        path = tmp_path / f"{number}.pcapng"
        path.write_bytes(b"".join(spool.chunks()))
        captures = open_captures([path])
        captured += sum(map(len, captures.batches()))
        drops += captures.files[0].drops
    assert len(spools) > 1
    assert drops
    assert captured + drops == len(whole)
