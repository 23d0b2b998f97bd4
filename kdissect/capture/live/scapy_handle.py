"""Packets of one interface by scapy's own sockets, for a Linux with Python only.

scapy needs neither libpcap nor a program. A capture filter requires libpcap, which compiles it. Source of the
numbers: packet(7), socket(7) and <linux/if_packet.h>.
"""

import select
import socket
import struct
import sys
import time
import warnings
from contextlib import suppress
from typing import Any

from kdissect.capture.live.bindings import PacketTaker
from kdissect.capture.live.libpcap import library
from kdissect.capture.live.live_settings import LiveError, MissingError, NotPermittedError
from kdissect.model.extras import how_to_install
from kdissect.model.packets.link_types import LinkType

_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_SO_RCVBUFFORCE = 33  # beyond net.core.rmem_max, for who may
_COUNTS = struct.Struct("=II")  # struct tpacket_stats: packets and drops, which a read resets
_WAIT_S = 0.1
# Packets in one turn, so that what came is written and the end is seen while more come.
_TURN = 1000
_LINK_TYPES = {
    1: LinkType.ETHERNET,
    772: LinkType.ETHERNET,
    65534: LinkType.RAW,
}  # ARPHRD_ETHER, _LOOPBACK, _NONE


class ScapyHandle:
    """One interface, opened. Raises LiveError if that fails. Used as `bindings.PcapHandle` is."""

    multiplier = 1
    """Times are nanoseconds, as exact as scapy's floating-point seconds are: a quarter of a microsecond."""

    def __init__(
        self, name: str, expression: str, *, promiscuous: bool, snaplen: int, buffer_mib: int
    ) -> None:
        self.name = name
        self._snaplen = snaplen
        self._lost = 0
        self._stopped = False
        self._wait_s = _WAIT_S
        self._socket = _open(name, expression, promiscuous)
        _widen(self._socket.ins, buffer_mib << 20)
        self.drops()  # resets the counts: until now it had no space, and heard every interface
        self._lost = 0
        kind = self._socket.ins.getsockname()[3]
        if kind not in _LINK_TYPES:
            raise LiveError(f"{name}: scapy's source does not know the link type of this interface ({kind})")
        self.link_type = int(_LINK_TYPES[kind])

    def dispatch(self, taker: PacketTaker) -> int:
        """Hand the available packets to `taker`, after waiting for some.

        Returns their number, 0 after a while without any, -2 after `stop`. Raises LiveError.
        """
        count = 0
        try:
            while count < _TURN and not self._stopped:
                ready, _, _ = select.select([self._socket.ins], [], [], 0 if count else self._wait_s)
                if not ready:
                    return count
                _, data, seconds = self._socket.recv_raw()
                if data:
                    time_ns = time.time_ns() if seconds is None else int(seconds * 1e9)
                    taker.take(time_ns, data[: self._snaplen], len(data))
                    count += 1
        except OSError as error:
            raise LiveError(f"{self.name}: {error.strerror}") from None
        return count if count or not self._stopped else -2

    def drops(self) -> int:
        """Return packets lost since it was opened: by the kernel for lack of space."""
        with suppress(OSError):
            told = self._socket.ins.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _COUNTS.size)
            self._lost += _COUNTS.unpack(told)[1]
        return self._lost

    def stop(self) -> None:
        """Make `dispatch` return. Any thread may call it."""
        self._stopped = True

    def do_not_wait(self) -> None:
        """Have `dispatch` give what is there, and return."""
        self._stopped = False
        self._wait_s = 0

    def close(self) -> None:
        """Close the handle. Do not call it while `dispatch` runs."""
        self._socket.close()


def _open(name: str, expression: str, promiscuous: bool) -> Any:
    if not sys.platform.startswith("linux"):
        raise LiveError("scapy's source is for Linux: elsewhere scapy needs libpcap itself")
    if name == "any":
        raise LiveError("scapy's source captures on interfaces by name, not on any")
    scapy = _scapy()
    if expression:
        try:
            library()
        except MissingError as error:
            raise MissingError(f"scapy's source needs libpcap for a capture filter (-f): {error}") from None
    try:
        return scapy.L2ListenSocket(iface=name, promisc=promiscuous, filter=expression or None)
    except PermissionError as error:
        raise NotPermittedError(f"{name}: {error.strerror}") from None
    except OSError as error:
        raise LiveError(f"{name}: {error.strerror or error}") from None


def _scapy() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scapy imports deprecated names of other packages
            import scapy.arch.linux as module  # an extra
    except ImportError:
        raise MissingError(f"scapy is not installed: {how_to_install('live-scapy')}") from None
    return module


def _widen(receiver: Any, size: int) -> None:
    """Let the kernel buffer `size` bytes: more than its own limit if that is allowed. It counts double."""
    for option in (_SO_RCVBUFFORCE, socket.SO_RCVBUF):
        try:
            receiver.setsockopt(socket.SOL_SOCKET, option, min(size, 0x3FFFFFFF))
        except OSError:
            continue
        return
