"""Packets that have comments in their capture file, which say more than the packet does: whose it is.

A reader of pcapng hands on such a packet in the form of its block: captured length, wire length, data,
padding, options (draft-ietf-opsawg-pcapng section 4.3), with a link type that says so. Code that moves
packets moves their comments, too, and packets without comments cost no more.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

OPT_END, OPT_COMMENT = 0, 1  # section 3.5.1 opt_endofopt, opt_comment


def has_comment(block: bytes, position: int, order: str) -> bool:
    """Return whether there is a comment among the options from `position` on."""
    return any(code == OPT_COMMENT for code, _ in options(block, position, order))


def options(body: bytes, position: int, order: str) -> Iterator[tuple[int, bytes]]:
    """(code, value) of each option from `position`, as far as the list makes sense (section 3.5)."""
    head = Struct(order + "HH")
    while position + 4 <= len(body):
        code, length = head.unpack_from(body, position)
        end = position + 4 + length
        if code == OPT_END or end > len(body):
            return
        yield code, body[position + 4 : end]
        position = end + (-length & 3)  # padded to 32 bits


# Added to the link type, which has 16 bits: the byte order of the block.
LITTLE, BIG = 1 << 16, 1 << 17
_LINK_TYPE = 0xFFFF
_ORDERS = {LITTLE: "<", BIG: ">"}

_EPB_FLAGS = 2  # section 4.3 epb_flags
_DATA_AT = 8


class Commented(NamedTuple):
    """Parts of such a packet. `options` are its block's, `mark` is `LITTLE` or `BIG`."""

    link_type: int
    data: bytes
    options: bytes
    mark: int

    def comments(self) -> list[str]:
        """Return the comments, in their order."""
        order = _ORDERS[self.mark]
        return [
            value.decode("utf-8", "replace")
            for code, value in options(self.options, 0, order)
            if code == OPT_COMMENT
        ]

    def direction(self) -> int:
        """Return the direction bits of `epb_flags`: 1 inbound, 2 outbound, 0 for unknown."""
        order = _ORDERS[self.mark]
        for code, value in options(self.options, 0, order):
            if code == _EPB_FLAGS and len(value) == 4:
                flags: int = Struct(order + "I").unpack(value)[0]
                return flags & 3
        return 0

    def kept(self, order: str) -> list[tuple[int, bytes]]:
        """Return comments and direction as options of a block in another byte order."""
        found = [
            (code, value)
            for code, value in options(self.options, 0, _ORDERS[self.mark])
            if code == OPT_COMMENT
        ]
        direction = self.direction()
        return found + ([(_EPB_FLAGS, Struct(order + "I").pack(direction))] if direction else [])

    def around(self, link_type: int, data: bytes) -> tuple[int, bytes]:
        """Link type and data of another packet, with these comments."""
        lengths = Struct(_ORDERS[self.mark] + "II").pack(len(data), len(data))
        return link_type | self.mark, lengths + data + bytes(-len(data) & 3) + self.options


def is_commented(link_type: int) -> bool:
    """Return whether a packet of this link type is one with comments."""
    return link_type > _LINK_TYPE


def taken_apart(link_type: int, data: bytes) -> Commented:
    """Return the parts of a packet with comments (`is_commented`)."""
    mark = link_type & ~_LINK_TYPE
    length = Struct(_ORDERS[mark] + "I").unpack_from(data)[0]
    end = _DATA_AT + length
    return Commented(link_type & _LINK_TYPE, data[_DATA_AT:end], data[end + (-length & 3) :], mark)


def plain_link(link_type: int) -> int:
    """Return the link type of any packet."""
    return link_type & _LINK_TYPE


def without_comments(link_type: int, data: bytes) -> tuple[int, bytes]:
    """Link type and data of any packet, as they were captured."""
    return taken_apart(link_type, data)[:2] if is_commented(link_type) else (link_type, data)
