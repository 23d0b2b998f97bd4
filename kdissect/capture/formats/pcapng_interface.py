"""Interfaces of a pcapng section: link type, clock, losses.

Source: draft-ietf-opsawg-pcapng, sections 4.2 "Interface Description Block", 4.6 "Interface
Statistics Block".
"""

from struct import Struct

from kdissect.capture.formats.pcap import plain_link_type
from kdissect.model.packets.commented import options
from kdissect.model.packets.packet import MAX_TIME_NS, MIN_TIME_NS

_SECOND = 1_000_000_000

_IF_TSRESOL = 9  # section 4.2
_IF_TSOFFSET = 14  # section 4.2
_ISB_IFDROP = 5  # section 4.6
_ISB_OSDROP = 7  # section 4.6


class Interface:
    """One interface: its link type, snap length (0: none), and how its clock becomes nanoseconds.

    A timestamp `t` since 1970 UTC is `t * multiplier // divisor + offset_ns`. `is_unusual`: divisor or offset
    count. `drops` is what its latest statistics say was lost.
    """

    __slots__ = ("divisor", "drops", "is_unusual", "link_type", "multiplier", "offset_ns", "snaplen")

    def __init__(self, link_type: int, snaplen: int) -> None:
        self.link_type = link_type
        self.snaplen = snaplen
        self.multiplier = 1000  # section 4.2 if_tsresol: microseconds unless said otherwise
        self.divisor = 1
        self.offset_ns = 0
        self.drops = 0
        self.is_unusual = False

    def set_resolution(self, code: int) -> None:
        """`if_tsresol`: with the top bit clear units of 10**-code seconds, else of 2**-(code & 127)."""
        units = 2 ** (code & 127) if code & 128 else 10**code
        if _SECOND % units == 0:
            self.multiplier, self.divisor = _SECOND // units, 1
        else:
            self.multiplier, self.divisor = _SECOND, units
            self.is_unusual = True

    @property
    def plain_multiplier(self) -> int:
        """What makes nanoseconds of a timestamp, 0 where it takes more (`time_ns`)."""
        return 0 if self.is_unusual else self.multiplier

    def time_ns(self, stamp: int) -> int:
        """Nanoseconds since 1970 UTC of a 64-bit timestamp, held inside int64."""
        return max(MIN_TIME_NS, min(stamp * self.multiplier // self.divisor + self.offset_ns, MAX_TIME_NS))


def parse_interface(body: bytes, order: str) -> Interface:
    """The interface that the body of an Interface Description Block describes; at least 8 bytes."""
    link, _, snaplen = Struct(order + "HHI").unpack_from(body)
    interface = Interface(plain_link_type(link), snaplen)
    for code, value in options(body, 8, order):
        if code == _IF_TSRESOL and value:
            interface.set_resolution(value[0])
        elif code == _IF_TSOFFSET and len(value) >= 8:
            interface.offset_ns = Struct(order + "q").unpack_from(value)[0] * _SECOND
            interface.is_unusual = True
    return interface


def parse_drops(body: bytes, order: str) -> int:
    """Packets lost by interface and operating system, from the body of an Interface Statistics Block."""
    number = Struct(order + "Q")
    return sum(
        number.unpack_from(value)[0]
        for code, value in options(body, 12, order)
        if code in (_ISB_IFDROP, _ISB_OSDROP) and len(value) >= 8
    )
