"""Files that change while they are read, clocks that go back, numbers beyond 2^32, folders nobody may
read."""

import io
import os
from pathlib import Path

import pytest

import kdissect
from kdissect.capture.files import open_captures
from kdissect.capture.formats.pcap import PcapParser
from kdissect.cli import main
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.model.packets.packet import Packet, packet_ref, ref_file, ref_number
from kdissect.session.exchange import Exchange
from tests.capture.capture_samples import pcap_header, pcap_packet, sample_pcap
from tests.hostile.files import FILES
from tests.support.console import TXN
from tests.support.messages.traffic import Conversation, request, response

WHOLE = Path(TXN).read_bytes()


def test_a_file_that_grows_is_read_to_where_it_ended_last(tmp_path: Path) -> None:
    path = tmp_path / "grows.pcap"
    path.write_bytes(pcap_header() + pcap_packet(1, bytes(1000)) * 300)
    captures = open_captures([str(path)])
    batches = captures.batches()
    seen = len(next(batches))
    with path.open("ab") as file:
        file.write(pcap_packet(2, bytes(1000)) * 500)
    seen += sum(map(len, batches))
    assert seen == 800
    assert not captures.errors


def test_a_file_that_is_cut_while_it_is_read_is_a_cut_capture(tmp_path: Path) -> None:
    path = tmp_path / "shrinks.pcap"
    path.write_bytes(pcap_header() + pcap_packet(1, bytes(1000)) * 800)
    captures = open_captures([str(path)])
    batches = captures.batches()
    seen = len(next(batches))
    os.truncate(path, 200_000)
    seen += sum(map(len, batches))
    assert seen < 300
    assert not captures.errors


def test_a_file_replaced_by_another_while_it_is_read_stays_itself(tmp_path: Path) -> None:
    """As rotation and editors do: a new file takes the name; the one that was opened is read to its end."""
    path, other = tmp_path / "a.pcap", tmp_path / "b.pcap"
    path.write_bytes(pcap_header() + pcap_packet(1, bytes(1000)) * 800)
    other.write_bytes(b"no capture at all")
    captures = open_captures([str(path)])
    batches = captures.batches()
    seen = len(next(batches))
    other.replace(path)
    assert seen + sum(map(len, batches)) == 800
    assert not captures.errors


def test_a_file_replaced_between_two_readings_raises_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(WHOLE)
    dissection = kdissect.open(str(path))
    first = next(iter(dissection))
    path.write_bytes(b"something else")
    dissection.topic_names.name(first.connection, b"\7" * 16)  # makes it be read again
    path.write_bytes(WHOLE[: len(WHOLE) // 2])
    assert main(["extract", str(path), "-o", str(tmp_path / "out.pcapng")]) in (0, 3)
    assert "Traceback" not in capfd.readouterr().err


def test_a_clock_that_goes_back_is_told_and_changes_no_pair(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "back.pcap"
    path.write_bytes(FILES["clock-backwards"].make())
    dissection = kdissect.open(str(path))
    found = list(dissection)
    assert [str(exchange.state) for exchange in found] == ["complete"] * 6
    (file,) = dissection.captures.files
    assert [str(anomaly.kind) for anomaly in file.anomalies] == ["time_step_back"] * 5
    assert "3600" in file.anomalies[0].detail or "3599" in file.anomalies[0].detail
    assert main(["stats", str(path)]) == 0
    assert main(["check", str(path), "--exit-zero"]) == 0


def test_a_second_of_disorder_is_no_step_back() -> None:
    packets = [(10, 0), (9, 500_000), (11, 0), (10, 200_000)]
    data = pcap_header() + b"".join(pcap_packet(s, b"x" * 60, fraction=f) for s, f in packets)
    captures = open_captures(["-"], stdin=io.BytesIO(data))
    assert len(list(captures.packets())) == 4
    assert not captures.files[0].anomalies


@pytest.mark.parametrize("number", [(1 << 32) - 3, 1 << 32, (1 << 39) - 60])
def test_packet_numbers_beyond_32_bits(number: int) -> None:
    """What a capture of four billion packets would number, without writing one."""
    parser = PcapParser(7)
    parser.feed(sample_pcap([]))
    parser.packets = number
    refs = [packet[0] for packet in parser.feed(pcap_packet(1, bytes(60)) * 5)]
    assert [(ref_file(ref), ref_number(ref)) for ref in refs] == [(7, number + n) for n in range(1, 6)]
    talk = (
        Conversation()
        .handshake()
        .client(request(3, 1, 1, b"\xff\xff\xff\xff"))
        .broker(response(1, bytes(12)))
    )
    analyzer = Analyzer()
    packets = [Packet(packet_ref(0, number + n), *p[1:]) for n, p in enumerate(talk.packets)]
    (exchange,) = [event for event in analyzer.feed_batch(packets) if isinstance(event, Exchange)]
    row = ExchangeRows(["big.pcap"]).row(exchange)
    assert row["request"]["packets"] == {"file": "big.pcap", "first": number + 3, "last": number + 3}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_nobody_may_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "a.pcap").write_bytes(WHOLE)
    folder.chmod(0)
    try:
        assert main(["inspect", str(folder)]) == 3
    finally:
        folder.chmod(0o700)
    assert str(folder) in capfd.readouterr().err


def test_a_folder_that_cannot_be_listed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for root, whom permissions do not stop: the call itself fails."""
    (tmp_path / "a.pcap").write_bytes(WHOLE)
    real_scandir, real_listdir = os.scandir, os.listdir

    def refuse(path: object = ".") -> object:
        if str(path).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied", str(path))
        return real_scandir(path)  # type: ignore[call-overload]

    def refuse_list(path: object = ".") -> object:
        if str(path).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied", str(path))
        return real_listdir(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse_list)
    assert main(["inspect", str(tmp_path)]) == 3
    error = capfd.readouterr().err
    assert str(tmp_path) in error
    assert "Traceback" not in error


def test_a_clock_that_goes_back_is_told_once_however_the_file_is_cut() -> None:
    times = [4_000_000, 1, 2, 3, 9_000_000, 9_000_001, 5]
    data = pcap_header() + b"".join(pcap_packet(seconds, b"x" * 60) for seconds in times)
    told = []
    for cut in (len(data), 1, 100):
        parts = io.BytesIO(data)

        class Pieces:
            def read(self, size: int, parts: io.BytesIO = parts, cut: int = cut) -> bytes:
                return parts.read(min(size, cut))

            read1 = read

        captures = open_captures(["-"], stdin=Pieces())  # type: ignore[arg-type]
        assert len(list(captures.packets())) == len(times)
        told.append(captures.files[0].anomalies)
    assert [anomaly.ref for anomaly in told[0]] == [2, 7]
    assert told[0] == told[1] == told[2]
