"""Hostile input: nothing raises, what was good stays good, and the cut of the input never matters."""

import gzip
import io
import struct
from itertools import pairwise

import lz4.frame
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import Packet
from tests.capture.capture_samples import feed, outcome, parser_of, sample_pcap, sample_pcapng

PREFIXES = st.sampled_from([sample_pcap(), sample_pcapng(), sample_pcapng(range(3), ">"), b""])
HEADS = st.sampled_from([b"", sample_pcap()[:24], sample_pcapng([]), sample_pcapng([], ">")])
# Bytes that reach deeper than random ones: small numbers and block types in both byte orders.
NUMBERS = st.integers(0, 64) | st.sampled_from([0x0A0D0D0A, 0x1A2B3C4D, 0xFFFFFFFF, 1 << 20, 1 << 24])
WORDS = st.lists(NUMBERS, max_size=30).flatmap(
    lambda words: st.sampled_from([struct.pack(f"{order}{len(words)}I", *words) for order in "<>"])
)
TAILS = st.binary(max_size=300) | WORDS
COMPRESSORS = st.sampled_from([bytes, gzip.compress, zstandard.compress, lz4.frame.compress])
few = settings(max_examples=150, deadline=None)


def check_sane(packets: list[Packet]) -> None:
    for number, packet in enumerate(packets, 1):
        assert type(packet) is Packet
        assert packet.ref == number
        assert -(1 << 63) <= packet.time_ns < 1 << 63
        assert type(packet.data) is bytes
        assert packet.wire_length >= len(packet.data)


@given(PREFIXES, TAILS)
@few
def test_random_bytes_behind_a_valid_prefix(prefix: bytes, tail: bytes) -> None:
    packets, parser = feed(prefix + tail)
    check_sane(packets)
    assert parser.packets == len(packets)
    assert parser.captured_bytes == sum(len(packet.data) for packet in packets)
    good = feed(prefix)[0]
    assert packets[: len(good)] == good
    assert bool(parser.error) <= bool(parser.anomalies)


@given(HEADS, TAILS, st.lists(st.integers(0, 400), max_size=6))
@few
@example(sample_pcapng([]), sample_pcapng([1], ">")[:20], [])
def test_any_cut_of_any_input_gives_the_same(head: bytes, tail: bytes, cuts: list[int]) -> None:
    capture = head + tail
    whole, one = feed(capture)
    parser = parser_of(capture)
    edges = sorted({0, len(capture), *(cut for cut in cuts if cut < len(capture))})
    packets = [p for a, b in pairwise(edges) for p in parser.feed(capture[a:b])]
    parser.close()
    assert packets == whole
    assert outcome(parser) == outcome(one)
    assert outcome(feed(capture, 1)[1]) == outcome(one)


@given(COMPRESSORS, PREFIXES, TAILS, st.integers(0, 600), st.integers(0, 255))
@few
def test_changed_byte_anywhere_never_raises(
    compress: "type[bytes]", prefix: bytes, tail: bytes, position: int, byte: int
) -> None:
    content = bytearray(compress(prefix + tail))
    if position < len(content):
        content[position] = byte
    captures = open_captures(["-"], stdin=io.BytesIO(bytes(content)))
    check_sane(list(captures.packets()))
    (file,) = captures.files
    assert file.packets or file.error or file.anomalies


@given(
    st.sampled_from([b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x51\x2a\x4d\x18", b""]),
    TAILS,
)
@few
def test_random_compressed_data_never_raise(magic: bytes, tail: bytes) -> None:
    captures = open_captures(["-"], stdin=io.BytesIO(magic + tail))
    list(captures.packets())
    assert captures.errors or captures.files[0].packets or captures.files[0].anomalies
