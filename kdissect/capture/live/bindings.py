"""Interfaces, filters and packets by libpcap: what `kdissect.capture.live.libpcap` binds, in Python's terms.

Source of the calls: pcap(3PCAP) and the pages it names.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple, Protocol

from kdissect.capture.live.libpcap import ERROR_SIZE, TAKER, Counts, Interface, PacketHeader, Program, library
from kdissect.capture.live.live_settings import SNAPLEN, BadFilterError, LiveError, NotPermittedError
from kdissect.model.packets.link_types import LinkType

# Time for which the kernel may gather packets before it hands them over: the maximum delay of a line. 5 ms
# cost no measurable time on an idle machine, and a loaded machine fills the blocks earlier.
TIMEOUT_MS = 5
_DUMPED = 256  # packets at a time, so that what came is written while more come
_LOOPBACK = 1  # PCAP_IF_LOOPBACK, pcap_findalldevs(3PCAP)
_UP = 2  # PCAP_IF_UP
_NANOSECONDS = 1  # PCAP_TSTAMP_PRECISION_NANO, pcap_set_tstamp_precision(3PCAP)
_PERMISSION = (-8, -11)  # PCAP_ERROR_PERM_DENIED, PCAP_ERROR_PROMISC_PERM_DENIED
_NO_DEVICE = -5  # PCAP_ERROR_NO_SUCH_DEVICE
_DLT = {LinkType.RAW: 12}  # of Linux, which has taps
_RAW = {12: LinkType.RAW, 14: LinkType.RAW}  # DLT_RAW of single systems. Elsewhere DLT and LINKTYPE agree


class InterfaceInfo(NamedTuple):
    """One interface that can be captured on."""

    name: str
    description: str
    is_up: bool
    is_loopback: bool


def list_interfaces() -> list[InterfaceInfo]:
    """Return the interfaces, in libpcap's order. Raises LiveError."""
    pcap = library()
    why = ctypes.create_string_buffer(ERROR_SIZE)
    first = ctypes.POINTER(Interface)()
    if pcap.pcap_findalldevs(ctypes.byref(first), why) < 0:
        raise LiveError(f"libpcap: {_text(why.value)}")
    found, entry = [], first
    while entry:
        facts = entry.contents
        found.append(
            InterfaceInfo(
                _text(facts.name),
                _text(facts.description),
                bool(facts.flags & _UP),
                bool(facts.flags & _LOOPBACK),
            )
        )
        entry = facts.next
    pcap.pcap_freealldevs(first)
    return found


def check_filter(expression: str) -> None:
    """Compile a capture filter. Raises BadFilterError, or MissingError if there is no compiler for it.

    It is compiled for Ethernet and, if that fails, for the link type of `any`: some words need one or the
    other.
    """
    pcap, why = library(), ""
    for link_type in (LinkType.ETHERNET, LinkType.LINUX_SLL2):
        handle = pcap.pcap_open_dead(int(link_type), 65535)
        program = Program()
        done = pcap.pcap_compile(handle, ctypes.byref(program), expression.encode(), 1, 0)
        why = why or _text(pcap.pcap_geterr(handle))
        if done == 0:
            pcap.pcap_freecode(ctypes.byref(program))
        pcap.pcap_close(handle)
        if done == 0:
            return
    raise BadFilterError(f"capture filter {expression!r}: {why}")


class PacketFilter:
    """A capture filter's test for packets of one link type. Raises BadFilterError, MissingError."""

    def __init__(self, expression: str, link_type: LinkType) -> None:
        self._pcap, self._program = library(), Program()
        dead = _DLT.get(link_type, int(link_type))
        handle = self._pcap.pcap_open_dead(dead, SNAPLEN)
        done = self._pcap.pcap_compile(handle, ctypes.byref(self._program), expression.encode(), 1, 0)
        why = _text(self._pcap.pcap_geterr(handle))
        self._pcap.pcap_close(handle)
        if done < 0:
            raise BadFilterError(f"capture filter {expression!r}: {why}")

    def __call__(self, packet: bytes) -> bool:
        """Return whether the filter takes a packet."""
        header = PacketHeader(0, 0, len(packet), len(packet))
        taken: int = self._pcap.pcap_offline_filter(ctypes.byref(self._program), ctypes.byref(header), packet)
        return taken > 0


class PacketTaker(Protocol):
    """The receiver of the packets of a handle, in either of two ways."""

    def take(self, time_ns: int, data: bytes, wire_length: int) -> None:
        """Take one packet."""

    def take_file(self, data: bytes) -> None:
        """Take the next bytes of a pcap file, which end with a packet."""


class PcapHandle:
    """One interface, opened. Raises LiveError if that fails."""

    def __init__(
        self, name: str, expression: str, *, promiscuous: bool, snaplen: int, buffer_mib: int
    ) -> None:
        self.name = name
        self._pcap = library()
        self._dump: _Dump | None = None
        why = ctypes.create_string_buffer(ERROR_SIZE)
        self._handle = self._pcap.pcap_create(name.encode(), why)
        if not self._handle:
            raise LiveError(f"{name}: {_text(why.value)}")
        self._set(snaplen, promiscuous, buffer_mib)
        self.multiplier = self._ask_for_nanoseconds()
        self._activate()
        self._filter(expression)
        number = self._pcap.pcap_datalink(self._handle)
        self.link_type = int(_RAW.get(number, number))
        self._dump = _Dump.of(self._handle)

    def dispatch(self, taker: PacketTaker) -> int:
        """Hand packets that the kernel has to `taker`, after waiting for some.

        Returns their number, 0 after a while without any, -2 after `stop`. Raises LiveError, and the
        exceptions of `taker`.
        """
        return self._call_each(taker) if self._dump is None else self._write_all(self._dump, taker)

    def _write_all(self, dump: _Dump, taker: PacketTaker) -> int:
        """Let libpcap write the packets, so that no code of Python runs for each."""
        count = int(self._pcap.pcap_dispatch(self._handle, _DUMPED, dump.handler, dump.dumper))
        self._check(count)
        taker.take_file(dump.take())
        return count

    def _call_each(self, taker: PacketTaker) -> int:
        multiplier, string_at = self.multiplier, ctypes.string_at
        failures: list[Exception] = []

        def one(_: object, header: Any, data: Any) -> None:
            if failures:
                return
            facts = header.contents
            try:
                taker.take(
                    facts.seconds * 1_000_000_000 + facts.fraction * multiplier,
                    string_at(data, facts.captured),
                    facts.length,
                )
            except Exception as error:  # through libpcap it would not get: ctypes prints it and goes on
                failures.append(error)
                self.stop()

        count = int(self._pcap.pcap_dispatch(self._handle, -1, TAKER(one), None))
        if failures:
            raise failures[0]
        self._check(count)
        return count

    def _check(self, count: int) -> None:
        if count == -1:
            raise LiveError(f"{self.name}: {_text(self._pcap.pcap_geterr(self._handle))}")

    def drops(self) -> int:
        """Return packets lost since it was opened: by the kernel for lack of space, and by the interface."""
        counts = Counts()
        if self._pcap.pcap_stats(self._handle, ctypes.byref(counts)) < 0:
            return 0
        return int(counts.dropped) + int(counts.dropped_by_interface)

    def stop(self) -> None:
        """Make `dispatch` return. Any thread may call it."""
        self._pcap.pcap_breakloop(self._handle)

    def do_not_wait(self) -> None:
        """Have `dispatch` give what is there, and return."""
        why = ctypes.create_string_buffer(ERROR_SIZE)
        self._pcap.pcap_setnonblock(self._handle, 1, why)

    def close(self) -> None:
        """Close the handle. Do not call it while `dispatch` runs."""
        if self._dump is not None:
            self._dump.close()
        self._pcap.pcap_close(self._handle)

    def _set(self, snaplen: int, promiscuous: bool, buffer_mib: int) -> None:
        self._pcap.pcap_set_snaplen(self._handle, snaplen)
        self._pcap.pcap_set_promisc(self._handle, int(promiscuous))
        self._pcap.pcap_set_timeout(self._handle, TIMEOUT_MS)
        self._pcap.pcap_set_buffer_size(self._handle, buffer_mib << 20)

    def _ask_for_nanoseconds(self) -> int:
        """Request nanoseconds. Return the nanoseconds per unit of a second's fraction."""
        precise = self._pcap.pcap_set_tstamp_precision(self._handle, _NANOSECONDS)
        return 1 if precise == 0 else 1000

    def _activate(self) -> None:
        code = self._pcap.pcap_activate(self._handle)
        if code >= 0:
            return
        why = _text(self._pcap.pcap_geterr(self._handle)) or _text(self._pcap.pcap_statustostr(code))
        self.close()
        if code in _PERMISSION:
            raise NotPermittedError(f"{self.name}: {why}")
        raise LiveError(f"{self.name}: {'no such interface' if code == _NO_DEVICE else why}")

    def _filter(self, expression: str) -> None:
        if not expression:
            return
        program = Program()
        if self._pcap.pcap_compile(self._handle, ctypes.byref(program), expression.encode(), 1, 0) < 0:
            why = _text(self._pcap.pcap_geterr(self._handle))
            self.close()
            raise BadFilterError(f"capture filter {expression!r}: {why}")
        done = self._pcap.pcap_setfilter(self._handle, ctypes.byref(program))
        self._pcap.pcap_freecode(ctypes.byref(program))
        if done < 0:
            why = _text(self._pcap.pcap_geterr(self._handle))
            self.close()
            raise LiveError(f"{self.name}: {why}")


class _Dump:
    """A pcap file in memory that libpcap writes: pcap_dump(3PCAP), open_memstream(3)."""

    def __init__(self, handle: int, libc: Any) -> None:
        self._libc, self._pcap = libc, library()
        self._start, self._size = ctypes.c_void_p(), ctypes.c_size_t()
        libc.open_memstream.restype = ctypes.c_void_p
        libc.fseek.argtypes = ctypes.c_void_p, ctypes.c_long, ctypes.c_int
        self._stream = libc.open_memstream(ctypes.byref(self._start), ctypes.byref(self._size))
        self.dumper = self._pcap.pcap_dump_fopen(handle, self._stream) if self._stream else None
        self.handler = ctypes.cast(self._pcap.pcap_dump, TAKER)

    @classmethod
    def of(cls, handle: int) -> _Dump | None:
        """Return one. None if the C library has no such streams, or files have no number of the link."""
        try:
            libc = ctypes.CDLL(None)
            found = cls(handle, libc)
        except (AttributeError, TypeError, OSError):  # Windows has no such library
            return None
        return found if found.dumper else None

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        self._pcap.pcap_dump_flush(self.dumper)  # only now start and size hold
        data = ctypes.string_at(self._start, self._size.value)
        self._libc.fseek(self._stream, 0, os.SEEK_SET)
        return data

    def close(self) -> None:
        """End the file. The bytes that libpcap wrote stay: the process ends, too."""
        self._pcap.pcap_dump_close(self.dumper)


def _text(data: bytes | None) -> str:
    """Return libpcap's words in one line."""
    return " ".join((data or b"").decode("utf-8", "replace").split())
