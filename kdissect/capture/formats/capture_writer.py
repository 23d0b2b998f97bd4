"""Writes pcapng files: recorded live captures, and extracted packets.

Source: draft-ietf-opsawg-pcapng section 4.
"""

from struct import Struct
from typing import BinaryIO, Literal

from kdissect.model.packets.commented import (
    OPT_COMMENT,
    Commented,
    is_commented,
    taken_apart,
)
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import MIN_TIME_NS, SECOND_NS, Packet

ByteOrder = Literal["big", "little"]

_ORDERS = {"big": ">", "little": "<"}

_SECTION, _INTERFACE, _STATISTICS, _ENHANCED, _SECRETS = 0x0A0D0D0A, 1, 5, 6, 10
# Option codes, pcapng sections 4.1, 4.2, 4.6.
_APPLICATION, _IF_NAME, _IF_TSRESOL, _IF_FILTER, _IF_TSOFFSET, _IF_DROPS = 4, 2, 9, 11, 14, 5
_BPF_TEXT = b"\x00"  # if_filter's first byte: the filter follows as libpcap's text, section 4.2
# The length of an option is 16 bits (pcapng section 3.5). A longer comment is cut.
_MAX_OPTION = 0xFFFF
_MICROSECONDS = 6
# An if_tsoffset from which nanoseconds in 64 bits reach every packet time there is before 1970.
BEFORE_1970 = MIN_TIME_NS // SECOND_NS


class PcapngWriter:
    """Writer of a pcapng file to a binary stream. It begins a section at once, and writes each block
    immediately.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        byte_order: ByteOrder = "little",
        comment: str = "",
        application: str = "",
    ) -> None:
        self._write = stream.write
        self._resolutions: list[tuple[int, int]] = []
        self.section(byte_order, comment=comment, application=application)

    def section(self, byte_order: ByteOrder = "little", *, comment: str = "", application: str = "") -> None:
        """Begin a section: interfaces must be added again. `application` is the program that writes."""
        self._order = _ORDERS[byte_order]
        self._resolutions = []
        head = self._pack("IHHq", 0x1A2B3C4D, 1, 0, -1)  # section 4.1: version 1.0, unknown length
        options = [(OPT_COMMENT, _text(comment)), (_APPLICATION, _text(application))]
        self.block(_SECTION, head + self._options(options))

    def interface(
        self,
        link_type: int = LinkType.ETHERNET,
        *,
        snaplen: int = 0,
        resolution: int = 9,
        offset: int = 0,
        name: str = "",
        comment: str = "",
        capture_filter: str = "",
    ) -> int:
        """Add an interface and return its number.

        `resolution` as if_tsresol: n for units of 10**-n seconds, 128 + n for 2**-n; `offset` is if_tsoffset
        in seconds; `capture_filter` in libpcap's language.
        """
        options = [(OPT_COMMENT, _text(comment)), (_IF_NAME, _text(name))]
        if capture_filter:
            options.append((_IF_FILTER, _BPF_TEXT + _text(capture_filter)))
        if resolution != _MICROSECONDS:
            options.append((_IF_TSRESOL, bytes([resolution])))
        if offset:
            options.append((_IF_TSOFFSET, self._pack("q", offset)))
        self.block(_INTERFACE, self._pack("HHI", link_type, 0, snaplen) + self._options(options))
        self._resolutions.append((2 ** (resolution & 127) if resolution & 128 else 10**resolution, offset))
        return len(self._resolutions) - 1

    def write(
        self,
        time_ns: int,
        data: bytes,
        wire_length: int | None = None,
        *,
        interface: int = 0,
        comment: str = "",
        commented: Commented | None = None,
    ) -> None:
        """Write an Enhanced Packet Block, with a comment, and the comments of `commented`. The time is cut to
        the resolution of the interface.

        Raises ValueError for a time that its 64 bits do not reach: before 1970 plus its `offset`.
        """
        units, offset = self._resolutions[interface]
        stamp = (time_ns - offset * SECOND_NS) * units // SECOND_NS
        if not 0 <= stamp < 1 << 64:
            raise ValueError(f"{time_ns} ns since 1970 do not fit into timestamps from second {offset} on")
        wire = len(data) if wire_length is None else wire_length
        head = self._pack("IIIII", interface, stamp >> 32, stamp & 0xFFFFFFFF, len(data), wire)
        kept = [] if commented is None else commented.kept(self._order)
        self.block(_ENHANCED, head + _padded(data) + self._options([(OPT_COMMENT, _text(comment)), *kept]))

    def write_packet(self, packet: Packet, *, interface: int = 0, comment: str = "") -> None:
        """Write a packet as it was read, with its comments and another one."""
        _, time_ns, link_type, data, wire = packet
        parts = taken_apart(link_type, data) if is_commented(link_type) else None
        data = data if parts is None else parts.data
        self.write(time_ns, data, wire, interface=interface, comment=comment, commented=parts)

    def statistics(self, interface: int, drops: int, *, time_ns: int = 0) -> None:
        """Say how many packets an interface lost since the start, at a time if its clock is known here."""
        stamp = 0
        if interface < len(self._resolutions):
            units, offset = self._resolutions[interface]
            stamp = max(0, time_ns - offset * SECOND_NS) * units // SECOND_NS
        head = self._pack("III", interface, stamp >> 32, stamp & 0xFFFFFFFF)
        self.block(_STATISTICS, head + self._options([(_IF_DROPS, self._pack("Q", drops))]))

    def secrets(self, kind: int, data: bytes) -> None:
        """Write a Decryption Secrets Block. Kind 0x544C534B is a TLS key log (section 4.7)."""
        self.block(_SECRETS, self._pack("II", kind, len(data)) + _padded(data))

    def block(self, kind: int, body: bytes) -> None:
        """Write any block. The body is padded to 32 bits."""
        body = _padded(body)
        length = self._pack("I", len(body) + 12)
        self._write(self._pack("I", kind) + length + body + length)

    def _options(self, options: list[tuple[int, bytes]]) -> bytes:
        """Return an option list without the empty options, or no bytes if all are empty."""
        written = [self._pack("HH", code, len(value)) + _padded(value) for code, value in options if value]
        return b"".join([*written, bytes(4)]) if written else b""

    def _pack(self, form: str, *values: int) -> bytes:
        return Struct(self._order + form).pack(*values)


def _text(text: str) -> bytes:
    """Return UTF-8, no longer than an option may be, cut between two characters."""
    data = text.encode("utf-8", "replace")
    return data if len(data) <= _MAX_OPTION else data[:_MAX_OPTION].decode("utf-8", "ignore").encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) & 3)
