"""The pcapng capture file: sections of blocks, each section in its own byte order with its own interfaces.

Source: draft-ietf-opsawg-pcapng (PCAP Now Generic), sections 3.1 "General Block Structure" and 4 "Block
Definitions".
"""

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812  an exception class, whatever its case

from kdissect.capture.formats.capture_parser import PCAPNG_MAGIC, CaptureParser, ListedInterface
from kdissect.capture.formats.pcap import plain_link_type
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.native import native
from kdissect.model.packets.commented import BIG, LITTLE, has_comment, options
from kdissect.model.packets.packet import MAX_TIME_NS, MIN_TIME_NS, SECOND_NS, PlacedPacket
from kdissect.model.wording import plural

_IF_NAME = 2  # section 4.2
_IF_DESCRIPTION = 3  # section 4.2
_IF_FILTER = 11  # section 4.2
_FILTER_TEXT = 0  # first byte of if_filter: a filter of libpcap as text, not as code (section 4.2)
_IF_TSRESOL = 9  # section 4.2
_IF_TSOFFSET = 14  # section 4.2
_ISB_IFDROP = 5  # section 4.6
_ISB_OSDROP = 7  # section 4.6


# Interfaces of a pcapng section: link type, clock, losses.
#
# Source: draft-ietf-opsawg-pcapng, sections 4.2 "Interface Description Block", 4.6 "Interface
# Statistics Block".
class Interface:
    """One interface: its link type, snap length (0: none), and the conversion of its clock to nanoseconds.

    A timestamp `t` since 1970 UTC is `t * multiplier // divisor + offset_ns`. `is_unusual`: divisor or offset
    count. `drops` is the loss in its latest statistics. `texts` has name, description and capture filter as
    they are written in the file, None if they are missing.
    """

    __slots__ = (
        "divisor", "drops", "is_unusual", "link_type", "multiplier", "offset_ns", "snaplen", "texts"
    )  # fmt: skip

    def __init__(self, link_type: int, snaplen: int) -> None:
        self.link_type = link_type
        self.snaplen = snaplen
        self.multiplier = 1000  # section 4.2 if_tsresol: microseconds by default
        self.divisor = 1
        self.offset_ns = 0
        self.drops = 0
        self.is_unusual = False
        self.texts: tuple[str | None, str | None, str | None] = None, None, None

    def set_resolution(self, code: int) -> None:
        """Set `if_tsresol`: with the top bit clear units of 10**-code seconds, else of 2**-(code & 127)."""
        units = 2 ** (code & 127) if code & 128 else 10**code
        if SECOND_NS % units == 0:
            self.multiplier, self.divisor = SECOND_NS // units, 1
        else:
            self.multiplier, self.divisor = SECOND_NS, units
            self.is_unusual = True

    @property
    def plain_multiplier(self) -> int:
        """The factor from a timestamp to nanoseconds, 0 if it takes more (`time_ns`)."""
        return 0 if self.is_unusual else self.multiplier

    def time_ns(self, stamp: int) -> int:
        """Return nanoseconds since 1970 UTC of a 64-bit timestamp, limited to int64."""
        return max(MIN_TIME_NS, min(stamp * self.multiplier // self.divisor + self.offset_ns, MAX_TIME_NS))


def parse_interface(body: bytes, order: str) -> Interface:
    """Return the interface that the body of an Interface Description Block describes, at least 8 bytes."""
    link, _, snaplen = Struct(order + "HHI").unpack_from(body)
    interface = Interface(plain_link_type(link), snaplen)
    texts: dict[int, str] = {}
    for code, value in options(body, 8, order):
        if code in (_IF_NAME, _IF_DESCRIPTION):
            texts[code] = _text(value)
        elif code == _IF_FILTER and value[:1] == bytes([_FILTER_TEXT]):
            texts[code] = _text(value[1:])
        elif code == _IF_TSRESOL and value:
            interface.set_resolution(value[0])
        elif code == _IF_TSOFFSET and len(value) >= 8:
            interface.offset_ns = Struct(order + "q").unpack_from(value)[0] * SECOND_NS
            interface.is_unusual = True
    interface.texts = texts.get(_IF_NAME), texts.get(_IF_DESCRIPTION), texts.get(_IF_FILTER)
    return interface


def _text(value: bytes) -> str:
    """Return the text of an option, which some writers end with a zero."""
    return value[:MAX_TEXT].rstrip(b"\0").decode("utf-8", "replace")


def parse_drops(body: bytes, order: str) -> int:
    """Return packets lost by interface and operating system, from the body of an Interface Statistics
    Block.
    """
    number = Struct(order + "Q")
    return sum(
        number.unpack_from(value)[0]
        for code, value in options(body, 12, order)
        if code in (_ISB_IFDROP, _ISB_OSDROP) and len(value) >= 8
    )


# Block types, section 11.1 of the draft. Every other one is skipped.
INTERFACE = 1
PACKET = 2  # appendix A: obsolete, but old captures have it
SIMPLE_PACKET = 3
STATISTICS = 5
ENHANCED_PACKET = 6
SECRETS = 10
SECTION = 0x0A0D0D0A

# A block must be buffered whole to check its trailing length. Packets stay far below. A longer block counts
# as damage.
MAX_BLOCK = 1 << 24
# Interfaces a section may describe: numbers of the obsolete Packet Block are 16 bits wide.
MAX_INTERFACES = 1 << 16
# Bytes stored of a name, a description or a filter, and interfaces of all sections that `info` lists.
MAX_TEXT = 1000
MAX_LISTED = 64
# Headers stored to read on from the middle: an interface takes some 100 bytes, and few captures have ten.
_MAX_PREAMBLE = 1 << 20
# Kept secrets of a file: a TLS session's key log lines are under 1 KB, so these are thousands of sessions.
MAX_SECRET_BYTES = 1 << 22

_FRAME = 12  # type and length before the body, length after it
_ENHANCED_FRAME = 32  # an Enhanced Packet Block less its packet data, padding and options
_HAS_OPTIONS = _ENHANCED_FRAME + 4  # with less than this besides data and padding there are none
_LENGTHS_AT = 12  # captured and wire length, in both kinds of packet block with a time
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}  # section 4.1 Byte-Order Magic
# With more interfaces, each chunk would have to pass all of them to the native reading.
_FEW_INTERFACES = 64
_UNKNOWN_DROPS = 0xFFFF  # appendix A "drops_count"
_NOTHING = -1  # no type a block can have
_NO_INTERFACE = Interface(0, 0)
_EMPTY = "captured length 0"
_MANY_SECRETS = f"more than {MAX_SECRET_BYTES} bytes of TLS secrets: kdissect drops further secrets"
_FAR = "its time is before 1677-09-21 or after 2262-04-11, as later ones may be: held there"
_Handler = Callable[[bytes, list[PlacedPacket]], str]


class PcapngParser(CaptureParser):
    """Parser of one pcapng file. See `CaptureParser` for the contract.

    A Simple Packet Block carries no time: its packet gets that of the packet before it (0 for the first).
    """

    __slots__ = (
        "_body_at", "_enhanced", "_handlers", "_head", "_interfaces", "_noted", "_order", "_secret_bytes",
        "_time_ns", "_trailer",
    )  # fmt: skip

    format = "pcapng"

    def __init__(self, file: int = 0) -> None:
        super().__init__(file)
        self._interfaces: list[Interface] = []
        self._body_at = 0  # where the body of the block in hand begins in the bytes given
        self._secret_bytes = 0
        self._time_ns = 0
        self._noted: set[str] = set()  # kinds of oddity that are reported once
        self._use_order("")
        self._handlers: dict[int, tuple[int, _Handler]] = {
            # block type: (least bytes of a body, method that says what is wrong, if anything)
            SECTION: (16, self._section),
            INTERFACE: (8, self._interface),
            ENHANCED_PACKET: (20, self._enhanced_packet),
            PACKET: (20, self._packet),
            SIMPLE_PACKET: (4, self._simple_packet),
            STATISTICS: (12, self._statistics),
            SECRETS: (8, self._secrets),
        }

    def _use_order(self, order: str) -> None:
        self._order = order
        self._head = Struct(order + "II")
        self._enhanced = Struct(order + "7I")
        self._trailer = Struct(order + "I")

    def _pending(self) -> str:
        return f"ends inside a block behind packet {self.packets}"

    def _plain(self, data: bytes, position: int) -> "tuple[native.Places, int, int] | None":
        if not 0 < len(self._interfaces) <= _FEW_INTERFACES:
            return None
        interfaces = [(each.plain_multiplier, each.link_type) for each in self._interfaces]
        found = native.blocks(data, position, self._order == "<", interfaces, MAX_BLOCK)
        if found[0]:
            self._time_ns = found[0].place(len(found[0]) - 1)[1]
        return found

    def _parse(self, data: bytes, position: int, places: list[PlacedPacket], once: bool = False) -> int:
        # Hot for Enhanced Packet Blocks that are whole and sane. Everything else goes through _block, which
        # judges.
        append, most_ns = places.append, MAX_TIME_NS
        unpack, trailer = self._enhanced.unpack_from, self._trailer.unpack_from
        known, captured, at = self.packets, 0, -1
        interface, multiplier, link_type = _NO_INTERFACE, 0, 0
        while True:
            try:
                kind, total, index, high, low, length, wire = unpack(data, position)
                (closing,) = trailer(data, position + total - 4)
                if index != at:
                    interface = self._interfaces[index]
                    at = index
                    multiplier, link_type = interface.plain_multiplier, interface.link_type
            except (StructError, IndexError):
                kind = _NOTHING
            if (
                kind == ENHANCED_PACKET
                and closing == total and 0 < length <= wire and length + _ENHANCED_FRAME <= total
                and (total - length < _HAS_OPTIONS or not self._has_comment(data, position, total, length))
            ):  # fmt: skip
                time_ns = (high << 32 | low) * multiplier
                if not 0 < time_ns <= most_ns:
                    time_ns = self._odd_time(interface, high << 32 | low, known + len(places))
                start = position + 28
                append((start, time_ns, link_type, start + length, wire))
                captured += length
                position += total
                continue
            self.packets = known + len(places)
            used = self._block(data, position, places)
            if not used:
                break
            position += used  # a block may have begun a section or delivered a packet
            if self.stopped or once:
                break
            unpack, trailer, at = self._enhanced.unpack_from, self._trailer.unpack_from, -1
        self.packets = known + len(places)
        self.captured_bytes += captured
        if places:
            self._time_ns = places[-1][1]
        return position

    def _has_comment(self, data: bytes, position: int, total: int, length: int) -> bool:
        """Return whether the Enhanced Packet Block at a position has a comment."""
        options = position + 28 + length + (-length & 3)
        return has_comment(data[options : position + total - 4], 0, self._order)

    def _block(self, data: bytes, position: int, places: list[PlacedPacket]) -> int:
        """Take one block of any type. Return its bytes, 0 when it is not whole or cannot be a block."""
        if len(data) - position < _FRAME:
            self._need = _FRAME
            return 0
        kind, total = self._block_head(data, position)
        where = f"block at offset {self._offset + position} behind packet {self.packets}"
        if not self._order:
            self.note_corrupt(f"{where}: no section header with a byte order before it")
        elif total < _FRAME or total & 3 or total > MAX_BLOCK:
            self.note_corrupt(f"{where}: implausible length {total}")
        elif position + total > len(data):
            self._need = total
        elif data[position + total - 4 : position + total] != data[position + 4 : position + 8]:
            self.note_corrupt(f"{where}: its two lengths differ")
        else:
            if kind in (SECTION, INTERFACE):
                self._extend_preamble(kind, data[position : position + total])
            self._body_at = position + 8
            self._take(kind, data[position + 8 : position + total - 4], where, places)
            return total
        return 0

    def _extend_preamble(self, kind: int, block: bytes) -> None:
        """Packets refer to the interfaces of their section by number."""
        known = b"" if kind == SECTION else self.preamble
        if len(known) + len(block) <= _MAX_PREAMBLE:
            self.preamble = known + block

    def _block_head(self, data: bytes, position: int) -> tuple[int, int]:
        """Return type and total length. A section header defines its byte order, from its own length on."""
        if data[position : position + 4] == PCAPNG_MAGIC:
            self._use_order(_ORDERS.get(data[position + 8 : position + 12], ""))
        kind, total = self._head.unpack_from(data, position)
        return kind, total

    def _take(self, kind: int, body: bytes, where: str, places: list[PlacedPacket]) -> None:
        least, handle = self._handlers.get(kind, (0, None))
        if handle is None:
            return
        flaw = (
            handle(body, places)
            if len(body) >= least
            else f"type {kind} with only {plural(len(body), 'byte')}"
        )
        if flaw:
            self._flaw(f"{where}: {flaw}")

    def _section(self, body: bytes, _places: list[PlacedPacket]) -> str:
        self._interfaces = []
        (major,) = Struct(self._order + "H").unpack_from(body, 4)
        if major != 1:  # section 4.1: 1.0, and 1.2 by mistake of some writers
            self.note_corrupt(f"pcapng version {major} is not supported")
        return ""

    def _interface(self, body: bytes, _places: list[PlacedPacket]) -> str:
        if len(self._interfaces) >= MAX_INTERFACES:
            return f"more than {MAX_INTERFACES} interfaces"
        interface = parse_interface(body, self._order)
        self._interfaces.append(interface)
        self.link_types.add(interface.link_type)
        if len(self.interfaces) < MAX_LISTED:
            self.interfaces.append(
                ListedInterface(*interface.texts, interface.link_type, interface.snaplen or None)
            )
        return ""

    def _enhanced_packet(self, body: bytes, places: list[PlacedPacket]) -> str:
        index, high, low, length, wire = Struct(self._order + "5I").unpack_from(body)
        return self._stamped(body, index, high << 32 | low, length, wire, places)

    def _packet(self, body: bytes, places: list[PlacedPacket]) -> str:
        index, drops, high, low, length, wire = Struct(self._order + "HHIIII").unpack_from(body)
        if drops != _UNKNOWN_DROPS:
            self.drops += drops
        return self._stamped(body, index, high << 32 | low, length, wire, places)

    def _stamped(
        self, body: bytes, index: int, stamp: int, length: int, wire: int, places: list[PlacedPacket]
    ) -> str:
        """Deliver a packet with a timestamp, its data at byte 20 of the body in both kinds of block."""
        if index >= len(self._interfaces):
            return f"a packet of interface {index}, which is not described"
        if length > len(body) - 20:
            return f"a captured length of {length} in {plural(len(body) - 20, 'byte')}"
        interface = self._interfaces[index]
        time_ns = self._odd_time(interface, stamp, self.packets)
        self._deliver(interface, time_ns, (20, length), wire, places)
        if has_comment(body, 20 + length + (-length & 3), self._order):
            start, _, link_type, _, wire = places[-1]
            mark = LITTLE if self._order == "<" else BIG
            whole = start - 20 + _LENGTHS_AT, time_ns, link_type | mark, start - 20 + len(body), wire
            places[-1] = whole
        return ""

    def _odd_time(self, interface: Interface, stamp: int, packets: int) -> int:
        """Return the time of the packet after `packets` other packets. Note a time that nanoseconds cannot
        express.
        """
        time_ns = interface.time_ns(stamp)
        if _FAR not in self._noted and not MIN_TIME_NS < time_ns < MAX_TIME_NS:
            self._noted.add(_FAR)
            self.packets = packets
            self._note(AnomalyKind.LIMIT_REACHED, f"packet {packets + 1}: {_FAR}")
        return time_ns

    def _simple_packet(self, body: bytes, places: list[PlacedPacket]) -> str:
        if not self._interfaces:
            return "a packet of interface 0, which is not described"
        (wire,) = Struct(self._order + "I").unpack_from(body)
        length = min(wire, self._interfaces[0].snaplen or wire, len(body) - 4)  # section 4.4
        time_ns = places[-1][1] if places else self._time_ns
        self._deliver(self._interfaces[0], time_ns, (4, length), wire, places)
        return ""

    def _deliver(
        self, interface: Interface, time_ns: int, span: tuple[int, int], wire: int, places: list[PlacedPacket]
    ) -> None:
        """Add a packet. `span` is its offset in the block's body, and its length."""
        start, length = self._body_at + span[0], span[1]
        self.packets += 1
        self.captured_bytes += length
        places.append((start, time_ns, interface.link_type, start + length, max(wire, length)))
        if not length and _EMPTY not in self._noted:  # the block is sound, so reading goes on
            self._noted.add(_EMPTY)
            self._flaw(f"packet {self.packets}: {_EMPTY}, wire length {wire}")

    def _statistics(self, body: bytes, _places: list[PlacedPacket]) -> str:
        (index,) = Struct(self._order + "I").unpack_from(body)
        if index >= len(self._interfaces):
            return f"statistics of interface {index}, which is not described"
        interface = self._interfaces[index]
        drops = parse_drops(body, self._order)  # counts since the start: the latest counts
        self.drops += drops - interface.drops
        interface.drops = drops
        return ""

    def _secrets(self, body: bytes, _places: list[PlacedPacket]) -> str:
        kind, length = Struct(self._order + "II").unpack_from(body)
        if length > len(body) - 8:
            return f"secrets of {plural(length, 'byte')} in {len(body) - 8}"
        if self._secret_bytes + length <= MAX_SECRET_BYTES:
            self._secret_bytes += length
            self.secrets.append((kind, body[8 : 8 + length]))
        elif _MANY_SECRETS not in self._noted:
            self._noted.add(_MANY_SECRETS)
            self._note(AnomalyKind.LIMIT_REACHED, _MANY_SECRETS)
        return ""
