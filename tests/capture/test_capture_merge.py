"""The order of packets of files that overlap in time, against a plain sort by its definition."""

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.capture import byte_source as source
from kdissect.capture import merge
from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import PacketBlock
from tests.capture.capture_samples import SECOND, pcap_header, pcap_packet, sample_pcap


def read(folder: Path, files: list[list[int]]) -> list[tuple[int, int]]:
    """(file order, index) of the packets that come out; files are given by the seconds of their packets."""
    paths = []
    for number, times in enumerate(files):
        path = folder / f"{number}.pcap"
        path.write_bytes(sample_pcap(times, size=20, first_byte=number))
        paths.append(path)
    captures = open_captures(paths)
    order = [int(Path(file.path).stem) for file in captures.files]
    packets = list(captures.packets())
    assert [packet.time_ns // SECOND for packet in packets] == [
        files[order[packet.ref >> 40]][(packet.ref & 0xFFFF) - 1] for packet in packets
    ]
    return [(packet.ref >> 40, (packet.ref & 0xFFFF) - 1) for packet in packets]


def expected(files: list[list[int]]) -> list[tuple[int, int]]:
    """DESIGN: sort by (running maximum of time within the file, file order, index)."""
    ordered = sorted((times for times in files if times), key=lambda times: times[0])
    keys = [
        (key, order, index)
        for order, times in enumerate(ordered)
        for index, key in enumerate(accumulate(times, max))
    ]
    return [(order, index) for _, order, index in sorted(keys)]


@pytest.mark.parametrize(
    "files",
    [
        [[1, 2, 3], [4, 5, 6]],
        [[4, 5, 6], [1, 2, 3]],
        [[1, 3, 5], [2, 4, 6]],
        [[1, 9], [2, 3], [4, 5]],
        [[1, 1, 1], [1, 1, 1], [1, 1]],
        [[5, 2, 7, 1], [3, 6, 6, 8]],  # time steps back: 2 and 1 stay behind 5 and 7
        [[3, 3], [1, 3, 2, 3], [3]],
        [[9, 1], [1, 9], []],
    ],
)
def test_order(tmp_path: Path, files: list[list[int]]) -> None:
    assert read(tmp_path, files) == expected(files)


FILES = st.lists(st.lists(st.integers(0, 12), max_size=12), min_size=2, max_size=4)


@given(FILES, st.sampled_from([40, 100, 1 << 17]), st.sampled_from([1, 7, 4096]))
@settings(max_examples=80, deadline=None)
def test_any_files_any_chunks(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], chunk: int, stretch: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kdissect.capture.files.CHUNK", chunk)
        patch.setattr("kdissect.capture.files.MIN_CHUNK", 1)
        patch.setattr(merge, "_STRETCH", stretch)
        assert read(tmp_path_factory.mktemp("merge"), files) == expected(files)


def test_files_that_do_not_overlap_are_open_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        times = range(number * 10, number * 10 + 10)
        content = pcap_header() + b"".join(pcap_packet(time, bytes(40_000)) for time in times)
        (tmp_path / f"t.pcap{number}").write_bytes(content)
    captures = open_captures([tmp_path])
    open_now: set[str] = set()
    most = 0
    chunks = source.FileSource.chunks

    def watched(self: source.FileSource):  # type: ignore[no-untyped-def]
        nonlocal most
        open_now.add(self.path)
        most = max(most, len(open_now))
        yield from chunks(self)
        open_now.discard(self.path)

    monkeypatch.setattr(source.FileSource, "chunks", watched)
    assert len(list(captures.packets())) == 300
    assert most <= 2


def test_files_one_behind_the_other_come_in_whole_blocks(tmp_path: Path) -> None:
    paths = []
    for number, times in enumerate([[1, 2, 3], [4, 5], [5, 6]]):
        paths.append(tmp_path / f"{number}.pcap")
        paths[-1].write_bytes(sample_pcap(times, size=20, first_byte=number))
    runs = list(open_captures(paths).batches())
    assert [len(run) for run in runs] == [3, 2, 2]
    assert all(isinstance(run, PacketBlock) for run in runs)


def test_files_that_alternate_come_joined(tmp_path: Path) -> None:
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for path, times in zip(paths, [[1, 3, 5], [2, 4, 6]], strict=True):
        path.write_bytes(sample_pcap(times, size=20))
    # The first up to where the second is opened, both up to the end of one, and the rest of the other.
    assert [len(run) for run in open_captures(paths).batches()] == [1, 4, 1]
