"""Compressed captures, made by the libraries and by hand, whole, cut, damaged and hostile."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from kdissect.capture.compression import (
    OUTPUT_CHUNK,
    Compression,
    CorruptStreamError,
    CutStreamError,
    decompress,
    detect_compression,
)
from kdissect.capture.files import CaptureSet, open_captures
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import Packet
from tests.capture.capture_samples import feed, pieces, sample_pcap, sample_pcapng

# 40,000 packets that compress to several blocks of every format.
CAPTURE = b"".join(
    [sample_pcap(range(2)), *(sample_pcap(range(n, n + 40), 120, n)[24:] for n in range(1000))]
)

# The samples begin anew with each packet of their pattern.
CLOCK = {AnomalyKind.TIME_STEP_BACK}


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


COMPRESSORS: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.GZIP: gzip.compress,
    Compression.ZSTD: zstd,
    Compression.LZ4: lz4.frame.compress,
}
each_format = pytest.mark.parametrize("compression", COMPRESSORS)


def unpack(data: bytes, size: int = 1 << 16) -> bytes:
    return b"".join(decompress(pieces(data, size), detect_compression(data)))


def read(path: Path, data: bytes) -> tuple[CaptureSet, list[Packet]]:
    path.write_bytes(data)
    captures = open_captures([path])
    return captures, list(captures.packets())


@each_format
@pytest.mark.parametrize("capture", [CAPTURE, sample_pcapng()])
def test_compressed_capture_reads_like_the_plain_one(
    tmp_path: Path, compression: Compression, capture: bytes
) -> None:
    packed = COMPRESSORS[compression](capture)
    captures, packets = read(tmp_path / "trace", packed)
    assert packets == feed(capture)[0]
    (file,) = captures.files
    assert (file.compression, file.error) == (compression, None)
    assert {anomaly.kind for anomaly in file.anomalies} <= CLOCK
    assert captures.bytes_read == captures.total_bytes == len(packed)


@each_format
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_any_cut_of_the_input_gives_the_same(compression: Compression, size: int) -> None:
    data = CAPTURE[:300_000]
    assert unpack(COMPRESSORS[compression](data), size) == data


@each_format
def test_several_frames_and_zero_padding(compression: Compression) -> None:
    pack = COMPRESSORS[compression]
    packed = pack(CAPTURE[:1000]) + pack(b"") + pack(CAPTURE[1000:5000])
    for size in (1, 1 << 16):
        assert unpack(packed, size) == CAPTURE[:5000]
        assert unpack(packed + bytes(1000), size) == CAPTURE[:5000]


@each_format
def test_cut_anywhere_is_an_anomaly_only(tmp_path: Path, compression: Compression) -> None:
    packed = COMPRESSORS[compression](CAPTURE)
    whole = feed(CAPTURE)[0]
    for missing in (1, 5, len(packed) // 3):
        captures, packets = read(tmp_path / "trace", packed[:-missing])
        (file,) = captures.files
        assert packets == whole[: len(packets)]
        assert file.error is None
        kinds = [anomaly.kind for anomaly in file.anomalies if anomaly.kind not in CLOCK]
        assert kinds == [AnomalyKind.CUT_CAPTURE]
        assert len(packets) > len(whole) // 2 or missing > 5


@each_format
def test_cut_between_any_two_bytes(compression: Compression) -> None:
    packed = COMPRESSORS[compression](CAPTURE[:2000])
    for end in range(4, len(packed)):
        with pytest.raises(CutStreamError):
            unpack(packed[:end], 7)


@each_format
def test_damage_keeps_what_came_before(tmp_path: Path, compression: Compression) -> None:
    packed = bytearray(COMPRESSORS[compression](CAPTURE))
    middle = len(packed) // 2
    packed[middle : middle + 64] = b"\xff" * 64
    captures, packets = read(tmp_path / "trace", bytes(packed))
    assert captures.errors
    whole = feed(CAPTURE)[0]
    sure = len(packets) - 2 * OUTPUT_CHUNK // 136  # a decompressor notices late, at the end of a block
    assert packets[:sure] == whole[:sure]


@each_format
def test_garbage_behind_the_end_is_corrupt(compression: Compression) -> None:
    with pytest.raises(CorruptStreamError):
        unpack(COMPRESSORS[compression](CAPTURE) + b"garbage that is no frame")


@each_format
def test_output_is_bounded_where_a_bomb_explodes(compression: Compression) -> None:
    bomb = COMPRESSORS[compression](bytes(30 << 20))
    sizes = [len(chunk) for chunk in decompress(iter([bomb]), compression)]
    assert sum(sizes) == 30 << 20
    assert max(sizes) <= 2 * OUTPUT_CHUNK


def test_input_is_taken_only_as_needed() -> None:
    taken = []

    def chunks() -> Iterator[bytes]:
        for piece in pieces(gzip.compress(CAPTURE), 100):
            taken.append(piece)
            yield piece

    next(decompress(chunks(), Compression.GZIP))
    assert len(taken) < 5


@pytest.mark.parametrize(
    "options",
    [
        {"write_content_size": False},
        {"write_checksum": False, "write_content_size": True},
        {"level": 19},
        {"level": -5},
    ],
)
@pytest.mark.parametrize("size", [0, 1, 200, 300, 70_000, 1_000_000])
def test_zstd_frame_headers(options: dict[str, int], size: int) -> None:
    data = CAPTURE[:size]
    assert unpack(zstandard.ZstdCompressor(**options).compress(data), 5) == data  # type: ignore[arg-type]


def test_zstd_streams_without_known_size() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    packed = stream.compress(CAPTURE) + stream.flush()
    assert unpack(packed) == CAPTURE


@pytest.mark.parametrize("length", [0, 1, 20_000])
def test_zstd_skippable_frames(length: int) -> None:
    skippable = struct.pack("<II", 0x184D2A53, length) + b"s" * length
    packed = skippable + zstd(CAPTURE[:500]) + skippable + zstd(CAPTURE[500:1000]) + skippable
    for size in (1, 1 << 16):
        assert unpack(packed, size) == CAPTURE[:1000]


def test_zstd_rle_block_by_hand() -> None:
    # RFC 8878: magic, descriptor (single segment, 4-byte size), size, block (last, RLE, 70,000), the byte
    frame = (
        b"\x28\xb5\x2f\xfd"
        + b"\xa0"
        + struct.pack("<I", 70_000)
        + struct.pack("<I", 70_000 << 3 | 3)[:3]
        + b"z"
    )
    assert unpack(frame, 1) == b"z" * 70_000


def test_zstd_block_too_large_is_corrupt() -> None:
    frame = b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", 9) + struct.pack("<I", 200_000 << 3 | 5)[:3]
    with pytest.raises(CorruptStreamError, match="block"):
        unpack(frame + bytes(300_000))


def test_zstd_window_is_bounded() -> None:
    # Window_Descriptor 0xF8: exponent 31, 2 TiB
    with pytest.raises(CorruptStreamError):
        unpack(b"\x28\xb5\x2f\xfd" + b"\x00\xf8" + b"\x01\x00\x00")


def test_gzip_that_names_its_file() -> None:
    body = zlib.compressobj(wbits=-15)
    data = body.compress(CAPTURE) + body.flush()
    tail = struct.pack("<II", zlib.crc32(CAPTURE), len(CAPTURE))
    assert unpack(b"\x1f\x8b\x08\x08" + bytes(6) + b"trace.pcap\0" + data + tail) == CAPTURE


def test_gzip_with_wrong_checksum(tmp_path: Path) -> None:
    packed = gzip.compress(CAPTURE)
    captures, packets = read(tmp_path / "trace", packed[:-8] + b"\0\0\0\0" + packed[-4:])
    assert len(packets) > 30_000
    assert captures.errors


@each_format
def test_text_inside_is_no_capture(tmp_path: Path, compression: Compression) -> None:
    captures, packets = read(tmp_path / "log", COMPRESSORS[compression](b"just a log line\n" * 100))
    assert packets == []
    assert "text" in captures.errors[0].why


def test_compressed_twice_is_refused(tmp_path: Path) -> None:
    captures, _ = read(tmp_path / "trace", gzip.compress(gzip.compress(CAPTURE)))
    assert "inside compressed" in captures.errors[0].why
