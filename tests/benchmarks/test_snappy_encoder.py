"""The generator's snappy, against a library where one is installed and against the format's description."""

from pathlib import Path
from random import Random

import pytest

DATA = [
    b"a",
    b"abcabcabcabcabcabc" * 40,
    b'{"order":1,"status":"PAID"}' * 2000,
    Random(3).randbytes(70_000),
    bytes(40_000),
]


def expand(data: bytes) -> bytes:
    """Decode raw snappy: tags 0 (literal) and 2 (copy, two-byte offset), the two the encoder writes."""
    shift = size = position = 0
    while True:
        byte = data[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    out = bytearray()
    while position < len(data):
        tag, length = data[position] & 3, (data[position] >> 2) + 1
        position += 1
        if tag == 0:
            extra = max(0, length - 60)
            if extra:
                length = int.from_bytes(data[position : position + extra], "little") + 1
            position += extra
            out += data[position : position + length]
            position += length
        else:
            assert tag == 2
            offset = int.from_bytes(data[position : position + 2], "little")
            position += 2
            for _ in range(length):
                out.append(out[-offset])
    assert len(out) == size
    return bytes(out)


def blocks(stream: bytes) -> list[bytes]:
    assert stream[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    found = []
    position = 16
    while position < len(stream):
        length = int.from_bytes(stream[position : position + 4], "big")
        found.append(stream[position + 4 : position + 4 + length])
        position += 4 + length
    return found


@pytest.mark.parametrize("data", DATA, ids=len)
def test_blocks_expand_to_the_data(benchmarks_on_path: Path, data: bytes) -> None:
    from traffic.snappy import compress_xerial

    assert b"".join(map(expand, blocks(compress_xerial(data)))) == data


@pytest.mark.parametrize("data", DATA, ids=len)
def test_a_library_expands_it_too(benchmarks_on_path: Path, data: bytes) -> None:
    cramjam = pytest.importorskip("cramjam", reason="no snappy library to compare with")
    from traffic.snappy import compress_xerial

    assert b"".join(bytes(cramjam.snappy.decompress_raw(b)) for b in blocks(compress_xerial(data))) == data


def test_repetition_shrinks(benchmarks_on_path: Path) -> None:
    from traffic.snappy import compress_xerial

    assert len(compress_xerial(DATA[2])) < len(DATA[2]) / 8
