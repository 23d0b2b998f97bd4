"""Recorder, ring and analysis behind them, with packets of recorded captures instead of a network."""

import errno
import os
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.live import capture_child
from kdissect.capture.live import ring as ring_module
from kdissect.capture.live.captures import LiveCaptures
from kdissect.capture.live.lag import Lag
from kdissect.capture.live.live_settings import LiveSettings, Ring
from kdissect.capture.live.programs import FILE, Program
from kdissect.capture.live.recorder import Recording
from kdissect.capture.live.tapes import FollowedFile, Spool
from kdissect.model.packets.packet import PlainPacket
from tests.capture.live.fake_source import FakeSource, names_in, pieces_of
from tests.support.console import CAPTURES

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
DATA = GROUPS.read_bytes()


def live(source: FakeSource, **settings: object) -> LiveCaptures:
    captures = LiveCaptures(LiveSettings(**settings), source)  # type: ignore[arg-type]
    captures.start()
    return captures


def packets_of(batches: Sequence[list[PlainPacket]]) -> list[tuple[int, int, bytes, int]]:
    return [packet[1:] for batch in batches for packet in batch]  # type: ignore[misc]


def read(paths: Sequence[str | Path]) -> list[tuple[int, int, bytes, int]]:
    return packets_of(list(open_captures([str(path) for path in paths]).batches()))


def test_without_a_file_the_packets_come_through_memory() -> None:
    captures = live(FakeSource(pieces_of(DATA)))
    assert packets_of(list(captures.batches())) == read([GROUPS])
    captures.close()
    assert captures.errors == []
    assert captures.captured == len(read([GROUPS]))
    assert captures.behind().bytes == 0


def test_the_file_is_what_was_analysed(tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    captures = live(FakeSource(pieces_of(DATA, 777)), path=str(path))
    found = list(captures.batches())
    captures.close()
    again = list(open_captures([path]).batches())
    assert [packet for batch in found for packet in batch] == [packet for batch in again for packet in batch]
    assert captures.files[0].capture_set == open_captures([path]).files[0].capture_set == "f"
    assert b"fake" in path.read_bytes()[:300]


def test_exchanges_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    captures = live(FakeSource(pieces_of(DATA)), path=str(path))
    dissection = Dissection(captures)
    found = [(e.connection.id, e.ordinal, e.request and e.request.first_ref) for e in dissection]
    later = Dissection(str(path))
    assert found == [(e.connection.id, e.ordinal, e.request and e.request.first_ref) for e in later]
    assert dissection.file_names == later.file_names
    captures.close()


def test_a_ring_goes_on_in_the_next_file(tmp_path: Path) -> None:
    source = FakeSource(pieces_of(DATA, 100_000))
    captures = live(source, path=str(tmp_path / "t.pcapng"), ring=Ring(bytes=20_000))
    found = list(captures.batches())
    captures.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == len(captures.files) > 4
    assert all(path.stat().st_size <= 20_000 + 200 for path in files)  # and the statistics
    assert packets_of(found) == read(files) == read([GROUPS])
    assert {file.capture_set for file in captures.files} == {"t"}
    for path in files:
        assert b"fake" in path.read_bytes()[:300]  # the comment is in each of them


def test_no_file_of_a_ring_is_without_a_packet(tmp_path: Path) -> None:
    captures = live(FakeSource([DATA]), path=str(tmp_path / "t.pcapng"), ring=Ring(bytes=1))
    found = list(captures.batches())
    captures.close()
    assert len(captures.files) == len(packets_of(found)) == len(read([GROUPS]))


def test_a_ring_keeps_the_last_files(tmp_path: Path) -> None:
    source = FakeSource(pieces_of(DATA))
    captures = live(source, path=str(tmp_path / "t.pcapng"), ring=Ring(bytes=20_000, keep=2))
    captures._backend.join()  # the analysis has not begun: what the ring removed is lost to it
    found = list(captures.batches())
    assert [os.path.basename(path) for path in captures.written] == names_in(tmp_path)  # noqa: PTH119
    assert len(names_in(tmp_path)) == 2
    assert packets_of(found) == read(sorted(tmp_path.iterdir())) == read([GROUPS])[-len(packets_of(found)) :]
    assert captures.unanalysed > len(DATA) - 2 * 20_200
    assert captures.behind().bytes == 0


def test_a_ring_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 100_000, 10))
    monkeypatch.setattr(ring_module.time, "monotonic", lambda: next(times))
    captures = live(
        FakeSource(pieces_of(DATA, 10_000)), path=str(tmp_path / "t.pcapng"), ring=Ring(seconds=15)
    )
    assert packets_of(list(captures.batches())) == read([GROUPS])
    captures.close()
    assert len(names_in(tmp_path)) > 3


def test_drops_of_the_source_are_in_the_file_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    captures = live(FakeSource(pieces_of(DATA), drops=17), path=str(path))
    list(captures.batches())
    captures.close()
    assert captures.drops == captures.files[0].drops == 17
    later = open_captures([path])
    list(later.batches())
    assert later.files[0].drops == 17


def test_drops_of_a_ring_are_counted_once(tmp_path: Path) -> None:
    captures = live(
        FakeSource(pieces_of(DATA), drops=17), path=str(tmp_path / "t.pcapng"), ring=Ring(bytes=20_000)
    )
    list(captures.batches())
    captures.close()
    assert captures.drops == 17


def test_drops_that_were_told_early_stand_in_one_file_only(tmp_path: Path) -> None:
    out = BytesIO()
    writer = PcapngWriter(out)
    writer.interface()
    writer.write(1, bytes(60))
    writer.statistics(0, 5)
    for time in range(2, 100):
        writer.write(time, bytes(60))
    source = FakeSource(pieces_of(out.getvalue(), 500))
    captures = live(source, path=str(tmp_path / "t.pcapng"), ring=Ring(bytes=2000))
    list(captures.batches())
    captures.close()
    assert [file.drops for file in captures.files][:3] == [5, 0, 0]
    assert captures.drops == 5


def test_stop_ends_it_and_everything_is_given() -> None:
    captures = live(FakeSource(pieces_of(DATA), wait=True))
    batches = captures.batches()
    found = [next(batches)]
    stopper = Thread(target=captures.stop)
    while len(packets_of(found)) < len(read([GROUPS])):
        found.append(next(batches))
    stopper.start()
    assert list(batches) == []
    stopper.join()
    captures.close()


def test_close_from_another_thread_ends_a_reader_that_waits() -> None:
    captures = live(FakeSource(pieces_of(DATA), wait=True))
    found: list[list[PlainPacket]] = []
    reader = Thread(target=lambda: found.extend(captures.batches()))
    reader.start()
    captures.close()
    reader.join(30)
    assert not reader.is_alive()


def test_a_source_that_fails_is_told(tmp_path: Path) -> None:
    captures = live(FakeSource(pieces_of(DATA), failure="eth7: gone"), path=str(tmp_path / "f.pcapng"))
    assert packets_of(list(captures.batches())) == read([GROUPS])
    captures.close()
    assert [str(error) for error in captures.errors] == ["live: eth7: gone"]


def test_what_is_no_capture_is_told() -> None:
    captures = live(FakeSource([b"ssh: connect to ", b"host: Connection refused\n"]))
    assert list(captures.batches()) == []
    captures.close()
    assert captures.trouble == "fake: not a capture, but text"


def test_a_full_disk_leaves_whole_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = [30_001]
    write = os.write

    def limited(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = min(len(data), room[0])
        room[0] -= size
        return write(handle, data[:size])

    monkeypatch.setattr(ring_module.os, "write", limited)
    path = tmp_path / "f.pcapng"
    captures = live(FakeSource(pieces_of(DATA)), path=str(path))
    found = packets_of(list(captures.batches()))
    captures.close()
    assert captures.trouble == "No space left on device"
    later = open_captures([path])
    assert found == packets_of(list(later.batches())) == read([GROUPS])[: len(found)]
    assert later.files[0].anomalies == []
    assert len(found) > 50


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    captures = live(FakeSource(pieces_of(DATA)), path=str(tmp_path / "no" / "f.pcapng"))
    assert list(captures.batches()) == []
    captures.close()
    assert captures.trouble == f"{tmp_path}/no/f.pcapng: No such file or directory"


def test_a_spool_is_bounded_and_loses_nothing() -> None:
    spool = Spool("x", Lag(), limit=10)
    pieces = [bytes([number]) * 4 for number in range(50)]
    writer = Thread(target=lambda: ([spool.put(piece) for piece in pieces], spool.close()))
    writer.start()
    assert b"".join(spool.chunks()) == b"".join(pieces)
    writer.join()


def test_a_full_spool_makes_the_writer_wait() -> None:
    spool, waited = Spool("x", Lag(), limit=4), []

    def read_instead(_seconds: float) -> None:
        waited.append(spool._take())

    spool._changed.wait = read_instead  # type: ignore[assignment, method-assign]
    spool.put(b"full")
    spool.put(b"next")
    assert waited == [b"full"]


def test_close_does_not_wait_for_a_reader_that_is_gone() -> None:
    captures = LiveCaptures(LiveSettings(), FakeSource(pieces_of(DATA)))
    assert captures._spool is not None
    captures._spool._limit = 1
    captures.start()
    closer = Thread(target=captures.close, daemon=True)
    closer.start()
    closer.join(20)
    assert not closer.is_alive()


def test_a_closed_spool_holds_nobody_up() -> None:
    spool = Spool("x", Lag(), limit=1)
    spool.put(b"full")
    writer = Thread(target=lambda: spool.put(b"waits"))
    writer.start()
    spool.close()
    writer.join(30)
    assert not writer.is_alive()


def test_a_followed_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with path.open("wb", buffering=0) as out:
        file = FollowedFile(str(path), Lag())
        chunks = file.chunks()
        out.write(b"one")
        assert next(chunks) == b"one"
        out.write(b"two")
    file.close()
    assert list(chunks) == [b"two"]


def test_a_followed_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    file = FollowedFile(str(path), Lag())

    def write_instead(_seconds: float) -> None:
        path.write_bytes(b"late")
        file.close()

    file._closed.wait = write_instead  # type: ignore[assignment, method-assign]
    assert list(file.chunks()) == [b"late"]


def test_a_followed_file_survives_its_deletion(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"still there")
    file = FollowedFile(str(path), Lag())
    path.unlink()
    file.close()
    assert list(file.chunks()) == [b"still there"]


def test_lag_is_what_is_written_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("kdissect.capture.live.lag.time.monotonic", lambda: now[0])
    lag = Lag()
    assert lag.behind() == (0, 0.0)
    lag.wrote(10)
    now[0] += 3
    lag.wrote(5)
    assert lag.behind() == (15, 3.0)
    lag.read(10)
    now[0] += 1
    assert lag.behind() == (5, 1.0)
    lag.read(5)
    assert lag.behind() == (0, 0.0)
    assert lag.most == (15, 3.0)


def test_a_file_that_a_full_disk_took_at_once_ends_nothing(tmp_path: Path) -> None:
    """The program names a file, and has removed it when this is read."""
    there = tmp_path / "second.pcap"
    there.touch()
    said = f"{FILE}{tmp_path}/first.pcap\n{FILE}{there}\nready\n"
    script = f"import sys; sys.stderr.write({said!r}); sys.stderr.flush(); sys.stdin.read()"
    program = Program("fake", lambda _: [sys.executable, "-c", script], "ready", ends_with_stdin=True)
    opened: list[FollowedFile] = []
    settings = LiveSettings(ring=Ring(bytes=1, total_bytes=9))
    recording = Recording(program, settings, Lag(), opened.append, list, list)
    recording.start()
    recording.stop()
    recording.join()
    assert [(Path(file.path).name, file.is_removed) for file in opened] == [
        ("first.pcap", True), ("second.pcap", False),
    ]  # fmt: skip
    assert (recording.paths, recording.trouble) == ([str(there)], "")


def test_the_capturing_process_goes_first_if_it_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[int] = []
    session = tmp_path / "autogroup"
    monkeypatch.setattr(capture_child, "_SESSION", str(session))

    def refuse(by: int) -> None:
        asked.append(by)
        raise PermissionError

    monkeypatch.setattr(os, "nice", refuse, raising=False)
    capture_child._go_first()
    monkeypatch.setattr(os, "nice", asked.append, raising=False)
    capture_child._go_first()
    assert (asked, session.exists()) == ([-10, -10], False)  # this session is not its own
    monkeypatch.setattr(os, "getsid", lambda _: os.getpid(), raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    capture_child._go_first()
    assert session.read_text() == "-10"
    monkeypatch.setattr(capture_child, "_SESSION", str(tmp_path / "none" / "autogroup"))
    capture_child._go_first()
