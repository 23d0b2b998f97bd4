"""An analyzer for some of the connections: several together, each with all packets, equal one analyzer.

Rules:
- Both directions between two ends, all their incarnations, and their duplicate taps in other capture sets
  belong to one shard (`shard_of`).
- Time is that of all packets: silence ends a connection at the same packet as in one analyzer.
- Each event has a key (`placed`) that does not depend on the observer. Sorted by it, the events of all shards
  are in the order of one analyzer. It is cheaper than `event_order`, because shards read the same batches.
- Bounds of `Limits` hold for each shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from kdissect.engine.analyzer import Analyzer
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.segment import ACK, SYN, PlainSegment, reverse_flow
from kdissect.session.events import Event, Events

# Flows of other shards that are known to be passed by, 45 bytes and a place in a set each. Past it they are
# found out again.
MAX_OTHERS = 100_000
# Behind every batch of packets.
LAST_BATCH = (1 << 63) - 1

EventKey = bytes
"""Compares in the event order of one analyzer: batch, packet in it, and a number. Ends by silence that the
packet revealed come first: when that was, the packet that opened the connection, a number."""
_AT_PACKET_FORM = Struct(">QIBI")
_AT_PACKET = _AT_PACKET_FORM.pack
AT_PACKET_BYTES = _AT_PACKET_FORM.size
"""Of the key of an event that a packet completed. Keys of ends by silence are longer."""
_BY_SILENCE = Struct(">QIBQQII").pack
_BIAS = 1 << 63  # times before 1970 sort before later ones


KeyedEvents: TypeAlias = "list[tuple[EventKey, Event]] | native.ExchangeBlock"
"""Events with their keys, or exchanges whose keys `ShardAnalyzer.key_of` gives."""


class Shard(NamedTuple):
    """One of some shards, counted from 0; with `ends` only connections between these (`ends_key`)."""

    number: int
    of: int
    ends: frozenset[bytes] | None = None


def ends_key(flow: bytes) -> bytes:
    """Return the ends of a flow key, the same for both directions."""
    return min(flow, reverse_flow(flow))


def shard_of(flow: bytes, count: int) -> int:
    """Return the number of the shard that a flow key belongs to."""
    return crc32(ends_key(flow)) % count


class ShardAnalyzer(Analyzer):
    """Takes every packet, and analyses the connections of one shard. Its results go through `placed`."""

    def __init__(self, shard: Shard, *of_analyzer: Any) -> None:
        super().__init__(*of_analyzer)
        self._shard = shard
        self._others = _none_passed()
        self._batch = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_others"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._others = _none_passed()  # they are found out again

    def placed(self, fed: Iterable[Events]) -> Iterator[KeyedEvents]:
        """Yield the results of `feed_each` for the next batch, with keys; `key_of` returns the keys within a
        block.
        """
        packet, number = -1, 0
        for events in fed:
            if is_compiled and isinstance(events, native.ExchangeBlock):
                yield events
                continue
            keyed: list[tuple[EventKey, Event]] = []
            for event in events:
                number = number + 1 if self.index == packet else 0  # within one packet
                packet = self.index
                if event.connection.over_ns:
                    keyed.append((_ended(self._batch, packet, event, number), event))
                else:
                    keyed.append((_AT_PACKET(self._batch, packet, 1, number), event))
            yield keyed
        self._batch += 1

    def key_of(self, block: native.ExchangeBlock, at: int) -> EventKey:
        """Return the key of a block's exchange that the caller accessed last, by its number."""
        *_, behind = block.place(at)
        return _AT_PACKET(self._batch, block.index, 1, behind)

    def placed_end(
        self, ends: Mapping[str, int], events: Sequence[Event]
    ) -> Iterator[tuple[EventKey, Event]]:
        """Yield the results of `close` for these ends, with places."""
        silent, others = _numbers(ends), _numbers(self._tables)
        for number, event in enumerate(events):
            info = event.connection
            # Silence ends connections first, one capture set after the other.
            sets = silent if info.over_ns else others
            place = (0 if info.over_ns else len(silent)) + sets[info.capture_set]
            yield _ended(LAST_BATCH, place, event, number), event

    def _takes(self, flow: bytes) -> bool:
        """Return whether a flow belongs to the shard."""
        number, of, ends = self._shard
        return (ends is None or ends_key(flow) in ends) and shard_of(flow, of) == number

    def _feed_segment(self, segment: PlainSegment, ref: int, time_ns: int) -> None:
        flow = segment[0]
        if flow in self._flows or self._takes(flow):
            if self.latest_ns is None:  # else `event_order` has it
                self.place = self._batch, self.index
            super()._feed_segment(segment, ref, time_ns)
        else:
            self._pass_by(flow, ref, time_ns)
            if segment[3] & (SYN | ACK) == SYN:  # the native engine does not skip these
                self._note_syn(flow, segment[1], segment[4], segment[7], time_ns)

    def _pass_by(self, flow: bytes, ref: int, time_ns: int) -> None:
        """Take the time of a packet of another shard. Its flow's next packets do not come here."""
        if self._others is not None:
            if len(self._others) >= MAX_OTHERS:
                self._others.clear()
            self._others.add(flow)
        self._events += self.advance(ref, time_ns)


def _none_passed() -> native.PassedBy | None:
    """Return a set of flows for the native engine; None without it, because Python dissects each packet
    anyway.
    """
    return native.PassedBy() if is_compiled else None


def before_batch(batch: int) -> EventKey:
    """Return a key that sorts before the events of a batch of packets, and after those of the previous
    batch.
    """
    return batch.to_bytes(8)


def _ended(batch: int, index: int, event: Event, number: int) -> EventKey:
    info = event.connection
    over_ns = min(info.over_ns, _BIAS - 1) + _BIAS
    return _BY_SILENCE(batch, index, 0, over_ns, *info.opened_at, number)


def _numbers(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}
