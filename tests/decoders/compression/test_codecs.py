"""Codecs against what other libraries write, cut streams, and bombs."""

import gzip
import subprocess
import sys
import zlib

import cramjam
import lz4.frame
import pytest
import xxhash
import zstandard

from kdissect.decoders.compression.codec import decompress
from kdissect.decoders.compression.lz4 import xxh32
from kdissect.model.errors import BrokenFrameError, DecodeError, OutputLimitError
from kdissect.model.limits import DEFAULT_LIMITS
from tests.support.console import CHECKOUT
from tests.support.messages.kafka_python import lz4_encode_old_kafka

SAMPLE = b"".join(b"record %d of a batch; " % i for i in range(5000))


def xerial(data: bytes, block: int = 32 * 1024) -> bytes:
    """Return the stream of snappy-java."""
    out = b"\x82SNAPPY\x00" + bytes((0, 0, 0, 1, 0, 0, 0, 1))
    for at in range(0, len(data), block):
        part = bytes(cramjam.snappy.compress_raw(data[at : at + block]))
        out += len(part).to_bytes(4) + part
    return out


def zstd_stream(data: bytes) -> bytes:
    """Return a frame that does not say how much it holds."""
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(data) + stream.flush()


STREAMS = {
    "none": (0, SAMPLE),
    "gzip": (1, gzip.compress(SAMPLE)),
    "gzip members": (1, gzip.compress(SAMPLE[:100]) + gzip.compress(SAMPLE[100:])),
    "gzip and tail": (1, gzip.compress(SAMPLE) + b"tail"),
    "snappy raw": (2, bytes(cramjam.snappy.compress_raw(SAMPLE))),
    "snappy xerial": (2, xerial(SAMPLE)),
    "snappy streams": (2, xerial(SAMPLE[:50]) + xerial(SAMPLE[50:])),
    "lz4": (3, lz4.frame.compress(SAMPLE, block_linked=False)),
    "lz4 with size and checksums": (
        3,
        lz4.frame.compress(SAMPLE, store_size=True, content_checksum=True, block_checksum=True),
    ),
    "zstd": (4, zstandard.ZstdCompressor().compress(SAMPLE)),
    "zstd without size": (4, zstd_stream(SAMPLE)),
    "zstd frames": (4, zstandard.ZstdCompressor().compress(SAMPLE[:9]) + zstd_stream(SAMPLE[9:])),
}
EMPTY = {
    1: gzip.compress(b""),
    2: bytes(cramjam.snappy.compress_raw(b"")),
    3: lz4.frame.compress(b""),
    4: zstd_stream(b""),
}


@pytest.mark.parametrize(("codec", "data"), STREAMS.values(), ids=STREAMS)
def test_streams(codec: int, data: bytes) -> None:
    assert decompress(codec, data) == SAMPLE
    assert decompress(codec, memoryview(b"xx" + data)[2:]) == SAMPLE


@pytest.mark.parametrize("codec", EMPTY)
def test_streams_of_nothing(codec: int) -> None:
    assert decompress(codec, EMPTY[codec]) == b""


@pytest.mark.parametrize("name", ["gzip", "snappy raw", "snappy xerial", "lz4", "zstd", "zstd without size"])
def test_streams_that_end_early(name: str) -> None:
    codec, data = STREAMS[name]
    for cut in (*range(40), len(data) // 2, len(data) - 1):
        if data.startswith(b"\x82SNAPPY\0") and cut == 16:
            continue  # a stream of no blocks
        with pytest.raises(DecodeError):
            decompress(codec, data[:cut])


@pytest.mark.parametrize(("codec", "data"), STREAMS.values(), ids=STREAMS)
def test_the_limit(codec: int, data: bytes) -> None:
    if codec == 0:
        return
    assert decompress(codec, data, len(SAMPLE)) == SAMPLE
    with pytest.raises(OutputLimitError):
        decompress(codec, data, len(SAMPLE) - 1)


def test_codecs_that_do_not_exist() -> None:
    for codec in (5, 6, 7):
        with pytest.raises(DecodeError, match=f"there is no codec {codec}"):
            decompress(codec, b"")


@pytest.mark.parametrize("block", [100, 1 << 20])
def test_xerial_headers_with_little_endian_numbers_have_their_content(block: int) -> None:
    stream = xerial(SAMPLE, block)
    magic, numbers = stream[:8], b"\x01\0\0\0\x01\0\0\0"
    with pytest.raises(BrokenFrameError, match="little-endian") as caught:
        decompress(2, magic + numbers + stream[16:])
    assert caught.value.content == SAMPLE
    with pytest.raises(OutputLimitError):
        decompress(2, magic + numbers + stream[16:], len(SAMPLE) - 1)
    with pytest.raises(DecodeError) as cut:
        decompress(2, magic + numbers + stream[16:-1])
    assert not isinstance(cut.value, BrokenFrameError)


CHECKED = lz4.frame.compress(SAMPLE, content_checksum=True, block_checksum=True, store_size=False)


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (CHECKED[:-1] + bytes((CHECKED[-1] ^ 1,)), "the content's checksum is wrong"),
        (lz4_encode_old_kafka(SAMPLE), "the header's checksum covers the frame's magic number"),
    ],
)
@pytest.mark.parametrize("limit", [None, len(SAMPLE)])
def test_lz4_frames_with_a_wrong_checksum_have_their_content(
    frame: bytes, why: str, limit: int | None
) -> None:
    with pytest.raises(BrokenFrameError, match=why) as caught:
        decompress(3, frame, limit)
    assert caught.value.content == SAMPLE
    with pytest.raises(OutputLimitError):
        decompress(3, frame, len(SAMPLE) - 1)
    for at in (20, len(frame) // 2):  # other damage besides
        broken = frame[:at] + bytes((frame[at] ^ 0x55,)) + frame[at + 1 :]
        with pytest.raises(DecodeError) as damaged:
            decompress(3, broken)
        if "content" in why:  # blocks have checksums of their own
            assert not isinstance(damaged.value, BrokenFrameError)
    for length in range(0, len(frame), 97):
        with pytest.raises(DecodeError) as cut:
            decompress(3, frame[:length])
        assert not isinstance(cut.value, BrokenFrameError)


def test_lz4_frames_of_magic_0_with_the_checksum_of_kafka_3160() -> None:
    """Clients before KIP-57 took the checksum over the magic number too; kafka-python still can."""
    old, new = lz4_encode_old_kafka(SAMPLE), lz4.frame.compress(SAMPLE)
    with pytest.raises(DecodeError):
        decompress(3, old)
    assert decompress(3, old, magic=0) == SAMPLE
    assert decompress(3, new, magic=0) == SAMPLE


def test_xxh32_equals_the_library() -> None:
    for length in range(16):
        data = bytes(range(250 - length, 250))
        assert xxh32(data) == xxhash.xxh32(data).intdigest()


def test_gzip_is_the_same_with_and_without_isal(monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.decoders.compression import gzip as module

    monkeypatch.setattr(module, "_fast", None)
    assert decompress(1, gzip.compress(SAMPLE)) == SAMPLE
    with pytest.raises(DecodeError):
        decompress(1, gzip.compress(SAMPLE)[:-9])


BOMB = """
import resource, sys
from kdissect.decoders.compression.codec import decompress
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.model.errors import OutputLimitError
MAX_OUTPUT = DEFAULT_LIMITS.batch_bytes
decompress({codec}, {small!r})  # the library is loaded
data = open({path!r}, "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decompress({codec}, data)
except OutputLimitError as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, error)
"""
GIGABYTE = 1 << 30


def bomb(codec: int) -> bytes:
    """Return a GB of zeros, compressed."""
    chunk = bytes(1 << 20)
    if codec == 1:
        stream = zlib.compressobj(9, zlib.DEFLATED, 31)
        head = stream.compress(chunk) + stream.flush(zlib.Z_FULL_FLUSH)
        return head + (stream.compress(chunk) + stream.flush(zlib.Z_FULL_FLUSH)) * 1023
    if codec == 2:
        block = bytes(cramjam.snappy.compress_raw(chunk))
        return b"\x82SNAPPY\0" + bytes((0, 0, 0, 1, 0, 0, 0, 1)) + (len(block).to_bytes(4) + block) * 1024
    if codec == 3:
        frame = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB)
        return frame.begin() + b"".join(frame.compress(chunk) for _ in range(1024)) + frame.flush()
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(stream.compress(chunk) for _ in range(1024)) + stream.flush()


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_of_a_gigabyte_costs_at_most_the_bound(codec: int, tmp_path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb(codec))
    program = BOMB.format(
        codec=codec, path=str(path), small=STREAMS[("", "gzip", "snappy raw", "lz4", "zstd")[codec]][1]
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    used, _, message = ran.stdout.partition(" ")
    assert "bytes grow beyond" in message
    assert int(used) < 1.3 * DEFAULT_LIMITS.batch_bytes
