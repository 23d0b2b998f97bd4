"""`open_captures`: what the user may name, what is wrong with it, and what is known of it afterwards."""

import io
import os
import random
import stat
from pathlib import Path

import pytest

from kdissect.capture.compression import Compression
from kdissect.capture.files import CaptureSet, open_captures
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import Packet, packet_ref, ref_file, ref_number
from tests.capture.capture_samples import (
    SECOND,
    pcap_header,
    pcap_packet,
    sample_pcap,
    sample_pcapng,
    section,
)


def read(*paths: str | Path, recursive: bool = False) -> tuple[CaptureSet, list[Packet]]:
    captures = open_captures(paths, recursive=recursive)
    return captures, list(captures.packets())


def names(captures: CaptureSet) -> list[str]:
    return [Path(file.path).name for file in captures.files]


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_facts_of_a_file(tmp_path: Path) -> None:
    content = sample_pcap([5, 3, 9], size=100)
    captures, _ = read(write(tmp_path / "trace.pcap", content))
    (file,) = captures.files
    assert (file.format, file.compression, file.size, file.link_types) == (
        "pcap",
        Compression.NONE,
        len(content),
        [1],
    )
    assert (file.packets, file.captured_bytes, file.drops, file.secrets) == (3, 300, 0, [])
    assert (file.first_time_ns, file.last_time_ns) == (3 * SECOND, 9 * SECOND)
    assert (file.error, file.capture_set) == (None, "trace")
    assert [anomaly.kind for anomaly in file.anomalies] == [AnomalyKind.TIME_STEP_BACK]
    assert captures.bytes_read == captures.total_bytes == len(content)
    assert captures.errors == []


def test_nothing_is_known_before_reading_and_reading_again_gives_the_same(tmp_path: Path) -> None:
    captures = open_captures(
        [write(tmp_path / "a.pcap", sample_pcap()), write(tmp_path / "b.pcap", sample_pcap())]
    )
    assert [(file.format, file.packets, file.first_time_ns) for file in captures.files] == [
        (None, 0, None)
    ] * 2
    assert captures.bytes_read == 0
    first, second = list(captures.packets()), list(captures.packets())
    assert first == second
    assert [file.packets for file in captures.files] == [5, 5]


def test_progress_grows_while_reading(tmp_path: Path) -> None:
    content = pcap_header() + pcap_packet(1, bytes(1000)) * 1000
    captures = open_captures([write(tmp_path / "a.pcap", content)])
    seen = [captures.bytes_read for _ in captures.packets()]
    assert 0 < seen[0] < seen[-1] == len(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"{}\n", "text"),
        (b"packets of yesterday\n", "text"),
        (b"\x7fELF\x02\x01\x01", "program"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x99\x88\x77\x66" * 10, "99 88 77 66"),
        (b"\xa1\xb2", "a1 b2"),
        (pcap_header(), "no packets"),
        (section(), "no packets"),
        (pcap_header(version=(9, 9)), "version 9.9"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, why: str) -> None:
    path = write(tmp_path / "bad.pcap", content)
    captures, packets = read(path)
    assert packets == []
    (error,) = captures.errors
    assert why in error.why
    assert str(error).startswith(str(path))


def test_missing_path_and_path_with_nul(tmp_path: Path) -> None:
    captures, _ = read(tmp_path / "missing.pcap", "a\0b")
    assert [error.why for error in captures.errors] == ["No such file or directory", "embedded null byte"]


def test_errors_of_one_file_do_not_stop_the_others(tmp_path: Path) -> None:
    corrupt = write(tmp_path / "corrupt.pcap", sample_pcap(range(10, 13)) + b"\xff" * 100)
    good = write(tmp_path / "good.pcap", sample_pcap(range(5)))
    text = write(tmp_path / "notes.txt", b"hello hello")
    captures, packets = read(tmp_path / "missing", corrupt, text, good)
    assert [packet.time_ns // SECOND for packet in packets] == [*range(5), *range(10, 13)]
    assert {Path(error.path).name for error in captures.errors} == {"missing", "corrupt.pcap", "notes.txt"}


def test_random_bytes_behind_a_valid_prefix(tmp_path: Path) -> None:
    for seed in range(20):
        noise = random.Random(seed).randbytes(2000)
        for prefix in (sample_pcap(), sample_pcapng()):
            captures, packets = read(write(tmp_path / "trace", prefix + noise))
            assert len(packets) == 5
            assert [anomaly.kind for anomaly in captures.files[0].anomalies] == [AnomalyKind.CORRUPT_CAPTURE]
            assert len(captures.errors) == 1


def test_cut_file_is_no_error(tmp_path: Path) -> None:
    captures, packets = read(write(tmp_path / "cut.pcap", sample_pcap()[:-1]))
    assert len(packets) == 4
    assert captures.errors == []
    assert captures.files[0].anomalies[0].kind is AnomalyKind.CUT_CAPTURE


def test_empty_packets_are_delivered_and_reported(tmp_path: Path) -> None:
    captures, packets = read(write(tmp_path / "zero.pcap", pcap_header() + pcap_packet(1, b"") * 3))
    assert [packet.data for packet in packets] == [b""] * 3
    assert "length 0" in captures.errors[0].why


def test_packet_less_part_of_a_rotated_set_is_no_error(tmp_path: Path) -> None:
    quiet = write(tmp_path / "trace.pcap1", pcap_header())
    captures, packets = read(quiet, write(tmp_path / "trace.pcap", sample_pcap()))
    assert len(packets) == 5
    assert captures.errors == []


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "secret.pcap", sample_pcap())
    write(tmp_path / "secret.txt", b"not named like a capture")

    def refuse(path: object, flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)  # chmod would not stop root
    for named in (path, tmp_path):
        captures, packets = read(named)
        assert packets == []
        assert [(Path(error.path).name, error.why) for error in captures.errors] == [
            ("secret.pcap", "Permission denied")
        ]


def test_read_errors_in_the_middle_keep_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = pcap_header() + pcap_packet(1, bytes(1000)) * 1000
    captures = open_captures([write(tmp_path / "a.pcap", content)])
    read_before = os.read

    def failing(handle: int, size: int) -> bytes:
        if os.lseek(handle, 0, os.SEEK_CUR) > 200_000:
            raise OSError(5, "Input/output error")
        return read_before(handle, size)

    monkeypatch.setattr(os, "read", failing)
    assert 200 < len(list(captures.packets())) < 1000
    assert captures.errors[0].why == "Input/output error"


def test_directory(tmp_path: Path) -> None:
    write(tmp_path / "b.pcap", sample_pcap([2]))
    write(tmp_path / "a", sample_pcapng([1]))
    write(tmp_path / "readme.txt", b"text is not read")
    write(tmp_path / "empty.pcap", b"")
    write(tmp_path / ".hidden.pcap", sample_pcap())
    write(tmp_path / "below" / "c.pcap", sample_pcap([3]))
    captures, packets = read(tmp_path)
    assert names(captures) == ["a", "b.pcap"]
    assert len(packets) == 2
    assert captures.errors == []
    assert names(read(tmp_path, recursive=True)[0]) == ["a", "b.pcap", "c.pcap"]


def test_directory_without_captures(tmp_path: Path) -> None:
    write(tmp_path / "readme.txt", b"text")
    write(tmp_path / "below" / "c.pcap", sample_pcap())
    captures, _ = read(tmp_path)
    assert "no captures" in captures.errors[0].why
    assert read(tmp_path, recursive=True)[0].errors == []


def test_pattern_that_the_shell_left_alone(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        write(tmp_path / f"t{number}.pcap", sample_pcap([7]))
    captures, packets = read(str(tmp_path / "t*.pcap"))
    assert names(captures) == ["t1.pcap", "t9.pcap", "t10.pcap"]
    assert len(packets) == 3
    assert read(str(tmp_path / "x*.pcap"))[0].errors[0].why == "no file matches"


def test_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "a[1].pcap", sample_pcap()))[1]) == 5


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", sample_pcap())
    (tmp_path / "link.pcap").symlink_to(path)
    captures, packets = read(path, tmp_path, tmp_path / "link.pcap", path)
    assert len(packets) == 5
    assert names(captures) == ["a.pcap"]


def test_files_are_ordered_by_their_first_packet(tmp_path: Path) -> None:
    later = write(tmp_path / "a.pcap", sample_pcap([20, 21]))
    sooner = write(tmp_path / "b.pcap", sample_pcap([10, 11]))
    captures, packets = read(later, sooner)
    assert names(captures) == ["b.pcap", "a.pcap"]
    assert [packet.time_ns // SECOND for packet in packets] == [10, 11, 20, 21]
    assert [(ref_file(p.ref), ref_number(p.ref)) for p in packets] == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_anomalies_point_into_their_file(tmp_path: Path) -> None:
    write(tmp_path / "a.pcap", sample_pcap([1]))
    write(tmp_path / "b.pcap", sample_pcap([2, 3])[:-1])
    captures, _ = read(tmp_path)
    assert captures.files[1].anomalies[0].ref == packet_ref(1, 1)


def test_capture_sets(tmp_path: Path) -> None:
    write(tmp_path / "h1" / "trace.pcap", sample_pcap([1]))
    write(tmp_path / "h1" / "trace.pcap1", sample_pcap([2]))
    write(tmp_path / "h2" / "trace_00001_20240101120000.pcapng", sample_pcapng([3]))
    captures, _ = read(tmp_path, recursive=True)
    assert [file.capture_set for file in captures.files] == ["h1/trace", "h1/trace", "h2/trace"]
    joined = open_captures([tmp_path], recursive=True, one_set="tap")
    assert {file.capture_set for file in joined.files} == {"tap"}


@pytest.mark.exhaustive
def test_many_rotated_files_with_few_handles(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    for number in range(300):
        write(tmp_path / f"trace.pcap{number}", sample_pcap(range(number, number + 300), size=10))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = Path("/proc/self/fd")
    others = len(list(descriptors.iterdir())) if descriptors.is_dir() else 28  # of tests before this one
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(others + 100, limits[0]), limits[1]))
    try:
        captures, packets = read(tmp_path)  # all 300 overlap in time
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert captures.errors == []
    assert len(packets) == 300 * 300
    times = [packet.time_ns for packet in packets]
    assert times == sorted(times)


def test_closing_early_closes_the_files(tmp_path: Path) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("no /proc to count handles in")
    for number in range(3):
        write(tmp_path / f"t{number}.pcap", sample_pcap(range(100_000), size=10))
    before = len(list(descriptors.iterdir()))
    packets = open_captures([tmp_path]).packets()
    for _ in range(4):  # the first of each, and one more
        next(packets)
    assert len(list(descriptors.iterdir())) == before + 3
    del packets
    assert len(list(descriptors.iterdir())) == before


def test_standard_input_and_files_together(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", sample_pcap([100]))
    captures = open_captures(["-", path, "-"], stdin=io.BytesIO(sample_pcapng([1, 2])))
    packets = list(captures.packets())
    assert [packet.time_ns // SECOND for packet in packets] == [100, 1, 2]
    stdin = captures.files[1]
    assert (stdin.path, stdin.is_stream, stdin.size, stdin.capture_set, stdin.format) == (
        "-", True, None, "stdin", "pcapng",
    )  # fmt: skip
    assert captures.total_bytes is None
    assert len(captures.files) == 2


def test_named_pipe_is_read_once_and_never_probed(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    captures = open_captures(
        [fifo, write(tmp_path / "a.pcap", sample_pcap())]
    )  # would hang if it looked inside
    assert [file.is_stream for file in captures.files] == [False, True]
    handle = os.open(fifo, os.O_RDWR)  # a writer that is there before the reader opens
    os.write(handle, sample_pcap(range(3)))
    packets = captures.packets()
    assert [next(packets).time_ns // SECOND for _ in range(8)] == [1, 2, 3, 4, 5, 0, 1, 2]
    del packets
    os.close(handle)


def test_a_file_that_is_given_up_is_read_to_its_end_once(tmp_path: Path) -> None:
    """What comes together with packets of other files must not depend on who gave it up."""
    (file,) = open_captures([write(tmp_path / "t.pcap", sample_pcap(range(5000), size=100))]).files
    read = 0
    for batch in file.batches():
        file.give_up("for a reason")
        assert len(batch) < 5000
        read += len(batch)
    assert read == 5000
    assert str(file.error).endswith("for a reason")
    assert list(file.batches()) == []
