"""The compiled reading of capture files finds the packets and the damage that the parsers in Python find."""

import hashlib
import struct
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.capture.capture_file import STEP_NS
from kdissect.capture.formats.pcapng import PcapngParser
from kdissect.model.packets.packet import MAX_TIME_NS, MIN_TIME_NS
from tests.capture.capture_samples import SECOND, block, interface, option, pcap_header, pcap_packet, section
from tests.native.packets import packets_of
from tests.support.python_side import PythonSide

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CUTS = st.lists(st.integers(0, 400), max_size=6)
CHANGES = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=4)
TIMES = [5, 6, 6, 9, 4, 12, 1, 13]  # the clock goes backwards, once by little


def enhanced(order: str, number: int, at: int, data: bytes, wire: int | None = None) -> bytes:
    high, low = divmod(at, 1 << 32)
    lengths = len(data), len(data) if wire is None else wire
    return block(6, struct.pack(order + "5I", number, high, low, *lengths) + data, order)


def pcap(order: str, magic: int) -> bytes:
    packets = [
        pcap_packet(
            second, bytes(20 + 7 * at), order=order, fraction=999 * at, wire=(2000 if at == 3 else None)
        )
        for at, second in enumerate(TIMES)
    ]
    return pcap_header(order, magic) + b"".join(packets)


def pcapng(order: str) -> bytes:
    """Interfaces of microseconds, of nanoseconds and with an odd clock; blocks that are no packets."""
    nanoseconds, odd = option(9, b"\x09", order), option(9, b"\x8a", order)
    head = section(order) + interface(order) + interface(order, 113, options=nanoseconds)
    plain = [
        enhanced(order, at % 2, second * (SECOND if at % 2 else 10**6), bytes(10 + at), wire=900 + at)
        for at, second in enumerate(TIMES)
    ]
    others = [
        block(5, struct.pack(order + "III", 0, 0, 7), order),  # statistics
        block(3, struct.pack(order + "I", 30) + bytes(30), order),  # a packet without a time
        block(0x80001234, b"of nobody", order),
        interface(order, options=odd) + enhanced(order, 2, 5000, b"odd clock"),
        enhanced(order, 0, 0, b"no time"),
        enhanced(order, 9, 7, b"no interface"),
        enhanced(order, 1, 3 * SECOND, b"wire", wire=1),
        block(10, struct.pack(order + "II", 0x544C534B, 3) + b"abc", order),
        section(order) + interface(order, 101),
    ]
    return head + b"".join(chain(*zip(plain, others, strict=False))) + plain[0] + plain[2]


FILES = {
    "pcap": pcap("<", 0xA1B2C3D4),
    "pcap, nanoseconds, big-endian": pcap(">", 0xA1B23C4D),
    "pcapng": pcapng("<"),
    "pcapng, big-endian": pcapng(">"),
    "pcapng, many odd blocks": pcapng("<") * 4,
}


@pytest.mark.parametrize("name", FILES)
@SETTINGS
@given(cuts=CUTS, changes=CHANGES)
def test_damaged_files(
    python_side: PythonSide, name: str, cuts: list[int], changes: list[tuple[int, int]]
) -> None:
    data = bytearray(FILES[name])
    for at, value in changes:
        data[at % len(data)] = value
    assert packets_of(bytes(data), cuts) == python_side.call(packets_of, bytes(data), cuts)


@pytest.mark.parametrize("name", FILES)
def test_files_cut_anywhere(python_side: PythonSide, name: str) -> None:
    data = FILES[name]
    for size in range(0, len(data), 13):
        assert packets_of(data[:size], []) == python_side.call(packets_of, data[:size], [])


@pytest.mark.parametrize("name", FILES)
def test_byte_by_byte(python_side: PythonSide, name: str) -> None:
    data = FILES[name]
    assert packets_of(data, [1] * len(data)) == python_side.call(packets_of, data, [1] * len(data))


def test_packets_are_found_without_python(native: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what stands beside those that are plain."""
    found = packets_of(FILES["pcap"], [])[0]
    monkeypatch.setattr("kdissect.capture.formats.pcap.PcapParser._packets", None)
    assert packets_of(FILES["pcap"], [])[0] == found


def steps_of(times: list[int]) -> list[tuple[int, int, int]]:
    """Return the clock steps in a block of packets at these times."""
    parser = PcapngParser(0)
    second = MIN_TIME_NS // 1_000_000_000
    unit = option(9, b"\x09")
    earlier = unit + option(14, struct.pack("<q", second))
    blocks = [section(), interface(options=unit), interface(options=earlier)]
    for time_ns in times:
        offset = second * 1_000_000_000 if time_ns < 0 else 0
        blocks.append(enhanced("<", int(time_ns < 0), time_ns - offset, b"data"))
    block_of = parser.feed_block(b"".join(blocks))
    return block_of.steps_back(None, STEP_NS)[1]


def test_steps_of_more_than_64_bits_are_told_alike(native: object, python_side: PythonSide) -> None:
    times = [0, MAX_TIME_NS, MIN_TIME_NS, MAX_TIME_NS, -1, MIN_TIME_NS + 1, 5]
    found = steps_of(times)
    assert [step for _, _, step in found] == [2 * MAX_TIME_NS, MAX_TIME_NS + 1, MAX_TIME_NS - 2]
    assert python_side.call(steps_of, times) == found


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_a_file_has_the_hash_that_hashlib_tells(native: Any, pieces: list[bytes]) -> None:
    compiled, python = native.Sha256(), hashlib.sha256()
    for piece in pieces:
        compiled.update(piece)
        python.update(piece)
        assert compiled.hexdigest() == python.hexdigest()
