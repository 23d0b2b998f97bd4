"""Where a GRE header and what stands behind it end: each optional field moves the inner packet."""

import struct

import pytest

from kdissect.net.headers.datagram import Datagram
from kdissect.net.headers.tunnel import inner_network_layer

GRE = 47
CHECKSUM, KEY, SEQUENCE = 0x8000, 0x2000, 0x1000
ETHERNET = bytes(12) + b"\x08\0"
BEFORE = b"outer header"


def inner(flags: int, protocol: int, behind: bytes) -> tuple[int, int] | None:
    """EtherType and offset, counted from the end of the GRE header without options."""
    data = BEFORE + struct.pack(">HH", flags, protocol) + behind
    found = inner_network_layer(Datagram(bytes(8), GRE, data, len(BEFORE), len(data), 0))
    return None if found is None else (found[0], found[1] - len(BEFORE) - 4)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (0, 0), (CHECKSUM, 1), (KEY, 1), (SEQUENCE, 1), (CHECKSUM | KEY, 2), (KEY | SEQUENCE, 2),
        (CHECKSUM | KEY | SEQUENCE, 3), (0x4FFF, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", [0x0800, 0x86DD])
def test_optional_fields_have_four_bytes_each(flags: int, words: int, protocol: int) -> None:
    """RFC 2890 section 2."""
    assert inner(flags, protocol, bytes(40)) == (protocol, 4 * words)
    assert inner(flags, 0x6558, bytes(4 * words) + ETHERNET) == (0x0800, 4 * words + 14)


@pytest.mark.parametrize(("flags", "header"), [(0, 0), (SEQUENCE, 12), (KEY | SEQUENCE, 16), (KEY, 4)])
def test_erspan_has_a_header_where_it_has_a_sequence_number(flags: int, header: int) -> None:
    """draft-foschiano-erspan sections 4.1 and 4.2: type I has none, type II has 8 bytes."""
    assert inner(flags, 0x88BE, bytes(header) + ETHERNET) == (0x0800, header + 14)


def test_what_gre_may_carry_besides_is_not_read() -> None:
    assert inner(0, 0x880B, bytes(40)) is None
