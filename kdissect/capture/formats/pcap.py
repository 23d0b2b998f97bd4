"""The classic capture file of libpcap: a 24-byte header, then packets with 16-byte headers.

Source: draft-ietf-opsawg-pcap (PCAP Capture File Format), sections 4 and 5; the modified form is libpcap's
`KUZNETZOV_TCPDUMP_MAGIC` (sf-pcap.c).
"""

from struct import Struct

from kdissect.capture.formats.capture_parser import CaptureParser
from kdissect.model.native import native
from kdissect.model.packets.packet import SECOND_NS, PlacedPacket

FILE_HEADER = 24  # bytes, section 4 "File Header"
PACKET_HEADER = 16  # bytes, section 5 "Packet Record"
MODIFIED_PACKET_HEADER = (
    24  # bytes: interface, protocol and packet type follow (libpcap `pcap_sf_patched_pkthdr`)
)

# First four bytes -> (byte order for struct, nanoseconds per unit of the fraction, bytes of a packet header).
# 0xA1B2C3D4 microseconds, 0xA1B23C4D nanoseconds (section 4); 0xA1B2CD34 modified, of some Linux 2.x
# distributions.
MAGICS = {
    b"\xa1\xb2\xc3\xd4": (">", 1000, PACKET_HEADER),
    b"\xd4\xc3\xb2\xa1": ("<", 1000, PACKET_HEADER),
    b"\xa1\xb2\x3c\x4d": (">", 1, PACKET_HEADER),
    b"\x4d\x3c\xb2\xa1": ("<", 1, PACKET_HEADER),
    b"\xa1\xb2\xcd\x34": (">", 1000, MODIFIED_PACKET_HEADER),
    b"\x34\xcd\xb2\xa1": ("<", 1000, MODIFIED_PACKET_HEADER),
}

# A longer packet counts as damage: the largest segment the Linux stack hands to a tap is 512 KiB (BIG TCP),
# libpcap's own MAXIMUM_SNAPLEN 256 KiB. Of random headers one in 4096 passes.
MAX_PACKET = 1 << 20
# A snap length in the file header raises that bound, up to here: it may itself be damaged.
MAX_TRUSTED_SNAPLEN = 1 << 24

_MAJOR = 2  # section 4: version 2.4
# Before 2.3 the two lengths of a packet stood the other way round, in 2.3 of some writers (libpcap sf-pcap.c
# `SWAPPED`, `MAYBE_SWAPPED`): the captured one is the smaller.
_LENGTHS_IN_ORDER = 4
_LINK_MASK = 0xFFFF  # above: FCS length and flags, section 4 "LinkType and additional information"
_RAW = 101
# Numbers of raw IP on single systems (DLT_RAW) that some writers put into files instead of LINKTYPE_RAW.
_LINK_ALIASES = {12: _RAW, 14: _RAW}


def plain_link_type(field: int) -> int:
    """Return the link type in a header's field, without FCS bits and aliases of single systems."""
    link_type = field & _LINK_MASK
    return _LINK_ALIASES.get(link_type, link_type)


class PcapParser(CaptureParser):
    """Parser of one pcap file. See `CaptureParser` for the contract."""

    __slots__ = ("_header_bytes", "_is_old", "_limit", "_link_type", "_record", "_unit", "_zero_noted")

    format = "pcap"

    def __init__(self, file: int = 0) -> None:
        super().__init__(file)
        self._record: Struct | None = None  # None until the file header is read
        self._unit = 1
        self._header_bytes = PACKET_HEADER
        self._limit = MAX_PACKET
        self._link_type = 0
        self._is_old = False
        self._zero_noted = False

    def _parse(self, data: bytes, position: int, places: list[PlacedPacket], once: bool = False) -> int:
        if self._record is not None:
            return self._packets(data, position, places)
        if len(data) < FILE_HEADER:
            self._need = FILE_HEADER
            return 0
        self.preamble = data[:FILE_HEADER]
        self._file_header(data)
        return FILE_HEADER if self.stopped or once else self._packets(data, FILE_HEADER, places)

    def _plain(self, data: bytes, position: int) -> "tuple[native.Places, int, int] | None":
        if self._record is None or self._is_old:  # the file header comes first
            return None
        is_little = self._record.format[0] == "<"
        return native.records(
            data, position, is_little, self._header_bytes, self._unit, self._link_type, self._limit
        )

    def _pending(self) -> str:
        return (
            "ends inside the file header"
            if self._record is None
            else f"ends inside packet {self.packets + 1}"
        )

    def _file_header(self, data: bytes) -> None:
        magic = MAGICS.get(data[:4])
        if magic is None:
            return self.note_corrupt("not a pcap file")
        order, self._unit, self._header_bytes = magic
        version, _, _, snaplen, link = Struct(order + "4sIIII").unpack_from(data, 4)
        # Some writers (DeepFlow's) swap the bytes of the version alone.
        versions = (Struct(each + "HH").unpack(version) for each in (order, ">" if order == "<" else "<"))
        major, minor = next(
            (each for each in versions if each[0] == _MAJOR), Struct(order + "HH").unpack(version)
        )
        if major != _MAJOR:
            return self.note_corrupt(f"pcap version {major}.{minor} is not supported")
        self._is_old = minor < _LENGTHS_IN_ORDER
        self._link_type = plain_link_type(link)
        self.link_types.add(self._link_type)
        self._limit = max(MAX_PACKET, min(snaplen, MAX_TRUSTED_SNAPLEN))
        self._record = Struct(order + "IIII")
        return None

    def _packets(self, data: bytes, position: int, places: list[PlacedPacket]) -> int:
        # Hot, one round a packet: locals instead of attributes, one comparison chain for all sane lengths.
        assert self._record is not None
        unpack = self._record.unpack_from
        append, header, limit = places.append, self._header_bytes, self._limit
        unit, link_type, is_old = self._unit, self._link_type, self._is_old
        size, first, known = len(data), position, self.packets
        while True:
            start = position + header
            if start > size:
                self._need = header
                break
            seconds, fraction, length, wire = unpack(data, position)
            if is_old and wire < length:
                length, wire = wire, length
            if not 0 < length <= wire <= limit:
                self.packets = known + len(places)
                wire = self._odd_lengths(position, seconds | fraction, length, wire)
                if wire < 0:
                    break
            end = start + length
            if end > size:
                self._need = end - position
                break
            append((start, seconds * SECOND_NS + fraction * unit, link_type, end, wire))
            position = end
        self.packets = known + len(places)
        self.captured_bytes += position - first - header * len(places)
        return position

    def _odd_lengths(self, position: int, time: int, length: int, wire: int) -> int:
        """Return the wire length to use for lengths that are not plainly sane, -1 to stop."""
        where = f"packet {self.packets + 1} at offset {self._offset + position}"
        if length > self._limit:
            self.note_corrupt(f"{where}: implausible captured length {length}")
            return -1
        if length:  # some writers fill in a wire length that is too small or nonsense: it loses no bytes
            return max(length, wire)
        if wire or not time:  # a lost disk block leaves a run of zeros
            self.note_corrupt(f"{where}: captured length 0, wire length {wire}")
            return -1
        if not self._zero_noted:
            self._zero_noted = True
            self._flaw(f"{where}: has length 0")
        return 0
