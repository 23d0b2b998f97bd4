"""The base of the pcap and pcapng parsers: bytes in, packets out, damage recorded instead of raised.

Rules of a parser:
- `feed(data)` takes any cut of the input, one byte or a whole file, and returns the packets that it
  completes.
- Damage never raises. A file that ends inside a packet is an anomaly (`cut_capture`). A file whose bytes make
  no sense is an anomaly (`corrupt_capture`) and sets `error`. After a fault `stopped` is true and `feed`
  returns no more packets.
- `feed_block(data)` returns the same packets in place: they keep the input bytes alive. The packets of `feed`
  do not: `Packet.data` is owned.
"""

from bisect import bisect_left
from collections import Counter
from operator import attrgetter
from typing import NamedTuple

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.limits import in_force
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import PacketBlock, PlacedPacket, PlainPacket, packet_ref
from kdissect.model.wording import plural

PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"  # draft-ietf-opsawg-pcapng section 4.1: equal in both byte orders
REQUEST_LOG = "request log"
"""The format of a request log."""
REQUEST_LOG_MARKER = b"Completed request:"  # kafka.network.RequestChannel, in each line of a request log
PROXY_LOG = "proxy log"
"""The format of the log that Kroxylicious writes."""
# In each entry, as Jackson's default pretty printer and its compact form have it.
PROXY_LOG_MARKERS = (b'"type" : "REQUEST"', b'"type" : "RESPONSE"', b'"type":"REQUEST"', b'"type":"RESPONSE"')
_ref_of = attrgetter("ref")
# Turns in a chunk in which the native reading goes on after a piece that is no packet. Then Python reads the
# chunk.
_TURNS = 16


class ListedInterface(NamedTuple):
    """An interface that a file describes; None for what it does not say. `snaplen` is in bytes."""

    name: str | None
    description: str | None
    filter: str | None
    link_type: int
    snaplen: int | None


class CaptureParser:
    """Base of the parsers. `file` is the index of the input that packet references carry.

    Counts so far: `packets`, `captured_bytes` (bytes of packet data, link layer included), `drops` (packets
    the capturing side reports as lost, pcapng only), `forwarded` (requests of a log that are left out).
    `link_types` are those the file declares. `error` is the reason why reading is not clean, None when it is.
    `anomalies` are the first (`Limits.anomalies`) and `anomaly_counts` all. `secrets` holds (type, bytes) of
    pcapng Decryption Secrets Blocks. `interfaces` are the first that the file describes (pcapng only).
    `preamble` are the bytes that a new parser needs before it reads on from `offset`: headers without
    packets.
    """

    __slots__ = (
        "_have", "_most", "_need", "_offset", "_parts", "anomalies", "anomaly_counts", "captured_bytes",
        "drops", "error", "file", "forwarded", "interfaces", "link_types", "packets", "preamble", "secrets",
        "stopped",
    )  # fmt: skip

    format = ""
    is_packet_capture = True
    """Whether the input contains packets, in their order. Directories are searched only for inputs of
    these formats.
    """

    def __init__(self, file: int = 0) -> None:
        self.file = file
        self.anomalies: list[Anomaly] = []
        self.anomaly_counts: Counter[AnomalyKind] = Counter()
        self._most = in_force().anomalies
        self.captured_bytes = 0
        self.drops = 0
        self.error: str | None = None
        self.forwarded = 0
        self.interfaces: list[ListedInterface] = []
        self.link_types: set[int] = set()
        self.packets = 0
        self.preamble = b""
        self.secrets: list[tuple[int, bytes]] = []
        self.stopped = False
        self._parts: list[bytes] = []  # bytes of the packet or block that is not complete yet
        self._have = 0  # bytes in _parts
        self._need = 0  # bytes _parts must hold before parsing again makes sense
        self._offset = 0  # input offset of the first byte in _parts

    def feed(self, data: bytes) -> list[PlainPacket]:
        """Return the packets completed by `data`, the next bytes of the input. Never raises on bad input."""
        return list(self.feed_block(data))

    def feed_block(self, data: bytes) -> PacketBlock:
        """Return the same packets in place in the bytes, without a copy of each."""
        first_ref = packet_ref(self.file, self.packets + 1)
        if self.stopped:
            return PacketBlock(b"", first_ref, [])
        if self._have:
            self._parts.append(data)
            self._have += len(data)
            if self._have < self._need:  # joined once when whole: byte by byte feeding stays linear
                return PacketBlock(b"", first_ref, [])
            data = b"".join(self._parts)
        block, used = self._block_of(data, first_ref)
        self._offset += used
        self._have = len(data) - used
        self._parts = [data[used:]] if self._have else []
        return block

    def _block_of(self, data: bytes, first_ref: int) -> tuple[PacketBlock, int]:
        """Return the packets that are complete in `data`, and the bytes they took."""
        if is_compiled:
            return self._packed_block(data, first_ref)
        places: list[PlacedPacket] = []
        used = self._parse(data, 0, places)
        return PacketBlock(data, first_ref, places), used

    def _packed_block(self, data: bytes, first_ref: int) -> tuple[PacketBlock, int]:
        """Return the same by the native hot path, as far as everything is plain, and `_parse` in turns."""
        packed = native.Places([])
        position, turn, self._need = 0, 0, 0
        while True:
            found, position = self._plain_places(data, position)
            packed = packed.joined(found) if packed else found
            if self._is_done():
                break
            turn += 1
            places: list[PlacedPacket] = []
            position = self._parse(data, position, places, once=turn < _TURNS)
            packed = packed.joined(native.Places(places)) if places else packed
            if self._is_done():
                break
        return PacketBlock(data, first_ref, packed=packed), position

    def _is_done(self) -> bool:
        """Return whether no more packets can be read before more bytes come."""
        return self._need > 0 or self.stopped

    def _plain_places(self, data: bytes, position: int) -> "tuple[native.Places, int]":
        """Return the result of `_plain`, and count it."""
        found, position, self._need = self._plain(data, position) or (native.Places([]), position, 0)
        self.packets += len(found)
        self.captured_bytes += found.captured()
        return found, position

    @property
    def offset(self) -> int:
        """Offset in the input of the next packet's header or block, after packet number `packets`."""
        return self._offset

    def resume(self, packets: int, offset: int, preamble: bytes) -> None:
        """Continue at another parser's position in the same input. For a new parser, once."""
        self.feed(preamble)
        self.packets = packets
        self._offset = offset

    def close(self) -> None:
        """End the input. Note a cut packet or block."""
        if self._have and not self.stopped:
            self.note_cut(
                f"{self._pending()}: {self._have} of {plural(self._need, 'byte')}, at offset {self._offset}"
            )
        self.stopped = True
        self._parts = []

    def last_block(self) -> PacketBlock:
        """Return the packets that are complete only because the input ended. Call it before `close`."""
        return PacketBlock(b"", packet_ref(self.file, self.packets + 1), [])

    def note_cut(self, why: str) -> None:
        """Note that the input ended too early. Earlier packets stay good. Stops the parser."""
        self._note(AnomalyKind.CUT_CAPTURE, why)
        self.stopped = True

    def note_corrupt(self, why: str) -> None:
        """Note that the input is unreadable from here on. Stops the parser."""
        self._flaw(why)
        self.error = why  # the reason to stop matters more than an earlier flaw
        self.stopped = True

    def note_step_back(self, ref: int, time_ns: int, step_ns: int) -> None:
        """Note that the clock went backwards by `step_ns` with a packet. Space stays for worse anomalies."""
        self.anomaly_counts[AnomalyKind.TIME_STEP_BACK] += 1
        if len(self.anomalies) < (self._most + 1) // 2:
            detail = f"the clock went backwards by {step_ns / 1e9:.3f} s"
            at = bisect_left(self.anomalies, ref, key=_ref_of)  # later anomalies may be known already
            self.anomalies.insert(at, Anomaly(AnomalyKind.TIME_STEP_BACK, detail, ref, time_ns))

    def _parse(self, data: bytes, position: int, places: list[PlacedPacket], once: bool = False) -> int:
        """Append the complete packets of `data` from `position` on to `places`, which is empty.

        Returns the position after them, and sets `_need` for the remaining bytes. With `once` it may return
        after a piece that is no packet, without setting `_need`.
        """
        raise NotImplementedError

    def _plain(self, data: bytes, position: int) -> "tuple[native.Places, int, int] | None":
        """Return the packets that `_parse` would return up to the first piece that is not plain, by the
        native engine: places, the position after them, and `_need`, 0 before such a piece. None if only
        `_parse` can read it.
        """
        raise NotImplementedError

    def _pending(self) -> str:
        """Describe for people the part of the input in which it ended."""
        raise NotImplementedError

    def _flaw(self, why: str) -> None:
        """Note bytes that make no sense but do not stop the reading."""
        self._note(AnomalyKind.CORRUPT_CAPTURE, why)
        if self.error is None:
            self.error = why

    def _note(self, kind: AnomalyKind, why: str) -> None:
        self.anomaly_counts[kind] += 1
        if len(self.anomalies) < self._most:
            ref = packet_ref(self.file, self.packets) if self.packets else 0
            self.anomalies.append(Anomaly(kind, why, ref))
