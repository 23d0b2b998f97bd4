"""Finds a frame again in the packets around it: by its connection, its first packet and its first bytes.

Cheaper than analysing the capture again: no state but that of one direction, and only a few packets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kdissect.decoders.records.checksum import crc32c
from kdissect.engine.exchange_log.log_columns import MARK_BYTES
from kdissect.engine.exchange_log.logged_frames import Found, Span, Want
from kdissect.model.packets.packet import PlainPacket
from kdissect.model.packets.segment import flow_key
from kdissect.net.parser import SegmentParser

_PREFIX = 4  # the size before a frame
_HALF = 1 << 31
_MASK = (1 << 32) - 1
# Bytes of the direction looked through behind where the frame should have ended: what fills a hole comes
# late.
LATE_BYTES = 4 << 20

_Piece = tuple[int, bytes, int]  # sequence number, payload, packet


class Refinder:
    """`feed` packets of the capture, from before the frame's first one on, until `found` is set."""

    def __init__(self, want: Want) -> None:
        self._want = want
        info = want.connection
        ends = (info.client, info.broker) if want.is_request else (info.broker, info.client)
        self._flow = flow_key(*ends)
        self._head = want.size.to_bytes(_PREFIX)
        self._parser = SegmentParser()
        self._pieces: list[_Piece] = []
        self._starts: list[tuple[int, bytes, int]] = []  # where the frame may begin: number, payload, place
        self._behind = 0
        self.found: Found | None = None

    def feed(self, packets: Sequence[PlainPacket]) -> bool:
        """Search packets, and return whether further packets are useless."""
        is_due = False
        for packet, segment in zip(packets, self._parser.parse_batch(packets), strict=True):
            if segment is None or segment[0] != self._flow or not segment[5]:
                is_due = is_due or packet[0] >= self._want.last_ref
                continue
            ref = packet[0]
            self._pieces.append((segment[1], segment[5], ref))
            if ref == self._want.first_ref:
                self._starts += [(segment[1] + at, segment[5], at) for at in _places(segment[5], self._head)]
            if ref >= self._want.last_ref:
                is_due = True
                self._behind += len(segment[5])
        if is_due and self._starts:
            self._try()
        return self.found is not None or self._behind > LATE_BYTES

    def give_up(self) -> Found:
        """Return the result, because no more packets come."""
        return self.found or Found(b"", (), "its bytes are not where they were: the file was changed")

    def _try(self) -> None:
        want = self._want
        length = want.captured + _PREFIX
        known = min(want.captured, MARK_BYTES)
        for start, payload, at in self._starts:
            # A packet may contain thousands of frames of one size: most are distinguished in place.
            head = payload[at + _PREFIX : at + _PREFIX + known]
            if len(head) == known and crc32c(head) != want.mark:
                continue
            data, spans = _assemble(self._pieces, start, length)
            content = data[_PREFIX:]
            if len(data) == length and crc32c(content[:MARK_BYTES]) == want.mark:
                self.found = Found(content, tuple(spans))
                return


def _places(payload: bytes, head: bytes) -> Iterator[int]:
    """Yield offsets of the frame's size in the payload, also of a beginning of it at the payload's end."""
    at = payload.find(head)
    while at >= 0:
        yield at
        at = payload.find(head, at + 1)
    for left in range(min(len(head) - 1, len(payload)), 0, -1):
        if payload.endswith(head[:left]):
            yield len(payload) - left


def _assemble(pieces: Sequence[_Piece], start: int, length: int) -> tuple[bytes, list[Span]]:
    """Return the bytes from a sequence number on, as far as they follow each other without a hole."""
    placed = sorted((((seq - start + _HALF) & _MASK) - _HALF, ref, payload) for seq, payload, ref in pieces)
    parts: list[bytes] = []
    spans: list[Span] = []
    end = 0
    for offset, ref, payload in placed:
        if offset > end or end >= length:
            break
        part = payload[end - offset : length - offset]
        if offset + len(payload) > end and part:
            parts.append(part)
            spans.append(Span(end, end + len(part), ref))
            end += len(part)
    return b"".join(parts), spans
