"""Packets in, events out: parses packets, sorts segments into connections, evicts what is over.

Rules:
- The borders of a connection depend on its own packets only (a SYN, an idle gap, a lingering close), so that
  any machine that sees them draws the same borders: a silent connection is over at the first multiple of
  `SWEEP_EVERY_NS` after its time, whenever the analyzer notices it. The cap on connections is an emergency
  and is reported.
- Captures of different sets never share a connection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kdissect.engine.flows import (
    LINGER_NS,
    SWEEP_EVERY_NS,
    Connection,
    Flow,
    FlowTable,
    Heard,
    flow_table,
    forget_delivered,
    give_back_room,
    heard_longest_ago,
    keep_memory,
    last_ns,
    may_be_over,
    over_ns,
)
from kdissect.engine.half_open import (
    ONE_SYN,
    ONE_SYN_OF_BROKER,
    HalfOpen,
    first_seq,
    followed_by,
    is_one_syn,
    opened_by,
    opening_of,
    packets_of,
)
from kdissect.engine.nat_sides import ROOT, NatSides
from kdissect.engine.unread import ConnectionTally
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.frame import logged_of
from kdissect.model.limits import Limits
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.commented import is_commented
from kdissect.model.packets.packet import FILE_SHIFT, MergedBlock, Packet, PacketBlock, PlainPacket
from kdissect.model.packets.segment import (
    ACK,
    SYN,
    PlainSegment,
    Segment,
    flow_endpoints,
    flow_ports,
    reverse_flow,
)
from kdissect.model.packets.stream import CloseKind
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.parser import SegmentParser
from kdissect.net.store import Store
from kdissect.net.streams.recent import RECENT_NS
from kdissect.session.beginning import ToldOfClient
from kdissect.session.connection import ConnectionAnalyzer
from kdissect.session.detection.known_brokers import Brokers
from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event, Events
from kdissect.session.handover import engine_of
from kdissect.session.identities import Identities
from kdissect.session.info import Close, ConnectionInfo, ConnectionKind

if TYPE_CHECKING:
    from kdissect.engine.log_lines import LogLines
    from kdissect.engine.taps.duplicate_taps import DuplicateTaps
    from kdissect.model.hosts import HostNames
    from kdissect.model.packets.logged import Logged
    from kdissect.tls.keying import SecretSource

# Number of connections evicted at a time past the cap on connections (`Limits.connections`). Number of
# longest-silent connections found at a time. Finding them takes a look at all connections, which a flood of
# SYNs must not cause often.
EVICTED_AT_ONCE = 1000
FOUND_AT_ONCE = 40_000


Rest = Iterator[tuple[int, tuple[PlainPacket, PlainSegment | None]]]
"""Packets and their segments, by index, that are pending."""
# Events that `close_each` gives at once: what is known of a connection goes with its event.
CLOSED_AT_ONCE = 1000
_NOTHING: list[Event] = []
NO_ENDS: Mapping[str, int] = {}
NO_FILES: frozenset[int] = frozenset()
_first = itemgetter(0)


class Analyzer:
    """Analyses one capture, or several merged by time. `feed()` every packet in order, then `close()`.

    `ports` belong to Kafka brokers without detection, or are the only ones that are analyzed.
    `capture_set_of` maps a file index (`ref >> 40`) to the name of its capture set. `secrets` open TLS.
    `names` maps addresses to names for people (`model.hosts`). `limits` bound memory (None: the process's).
    `duplicate_taps` mark traffic that several sets have. `brokers` records which ends are proven Kafka
    brokers. Any exception out of `feed()` is a bug of kdissect: bad input raises nothing.
    """

    # Packets, or a block, that `feed_each` has yet to analyze. It is empty between calls, so it is not
    # pickled.
    _rest: Rest = iter(())
    _left: tuple[PacketBlock | MergedBlock, native.InOrder | native.CopyInOrder] | None = None
    latest_ns: int | None = None
    """The latest time of all packets so far, where somebody asks for the order of all (`event_order`)."""
    log_lines: LogLines | None = None
    """Lines that request logs have of the exchanges. The native engine pairs no exchanges with them."""
    reports_opened = True
    """Whether `ConnectionOpened` is wanted of connections that begin in the compiled engine."""
    ended: ConnectionInfo | None = None
    """The connection that ended last."""
    _sees_all_flows = False
    _logged: Logged | None = None
    """The request log line of the current segment."""
    _nat_sides: NatSides | None = None
    """None if only some flows arrive and no NAT is known."""

    def __init__(
        self,
        ports: Ports = ANY_PORTS,
        capture_set_of: Callable[[int], str] | None = None,
        secrets: SecretSource | None = None,
        names: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        duplicate_taps: DuplicateTaps | None = None,
        brokers: Brokers | None = None,
    ) -> None:
        self.brokers = brokers or Brokers()
        self.identities = Identities()
        self._duplicate_taps = duplicate_taps
        self._store = Store(limits)
        self.limits = self._store.limits
        self.parser = SegmentParser(self.limits)
        self._ports = ports.brokers
        self._only_ports = ports.only
        self._secrets = secrets
        self.names = None if names is None else _host_names(names)
        self._names: Mapping[str, str] = self.names or {}
        self._capture_set_of = capture_set_of or _one_set
        self._tables: dict[str, dict[bytes, Flow]] = {}
        self._file = -1
        self._capture_set = ""
        self._flows: dict[bytes, Flow] = {}
        self._events: list[Event] = []
        self._others: native.PassedBy | None = None  # flows that the compiled hot path passes by (`shards`)
        self._due_ns = 0
        """When the next sweep of the current capture set is due: until then only packets cause events."""
        self._silent: list[Heard] = []
        """The open connections that were heard longest ago when that was looked at, the first to go last."""
        self._given_up = 0
        """Flows removed since the tables were last shrunk."""
        self._sweeps: dict[str, int] = {}
        """When the next sweep of each capture set is due."""
        self.place: tuple[int, int] = (0, 0)
        """Position of the current packet in the order of all packets, for consumers of it (`event_order`)."""
        self._index = 0
        self._block: native.ExchangeBlock | None = None  # what `feed_each` gave last, if that is one
        self._log = AnomalyLog(self.limits.anomalies)
        self._tally = ConnectionTally()
        # A comparison of connections needs them from the first packet.
        self._holds_syns = duplicate_taps is None
        self._sees_all_flows = duplicate_taps is None or duplicate_taps.sees_all_flows
        self._nat_sides = NatSides() if self._sees_all_flows else None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Use this process's bulk path, if the state was pickled with another one."""
        self.__dict__.update(state)
        self._tables = {name: flow_table(flows) for name, flows in self._tables.items()}
        self._flows = self._tables.get(self._capture_set, {})

    @property
    def anomalies(self) -> list[Anomaly]:
        """The first anomalies of the analysis as a whole: connections given up because there were too
        many."""
        return list(self._log.kept)

    @property
    def anomaly_counts(self) -> Counter[AnomalyKind]:
        """How many of each kind there were, those beyond the first included."""
        return self._log.counts

    @property
    def index(self) -> int:
        """Index of the packet that `feed_each` is analyzing, or that completed the current event."""
        return self._index if self._block is None else self._block.index

    def feed(self, packet: Packet) -> list[Event]:
        """Analyze one packet and return the events that it completed."""
        return self.feed_batch((packet,))

    def feed_batch(self, packets: Sequence[PlainPacket]) -> list[Event]:
        """Analyze packets in their order, with or without names, and return the events that they
        completed.
        """
        return list(chain.from_iterable(self.feed_each(packets)))

    def feed_each(
        self, packets: Sequence[PlainPacket], without: Collection[int] = NO_FILES
    ) -> Iterator[Events]:
        """`feed_batch` bit by bit: gives events before a packet changes what they point at.

        So the info of a connection has the facts known at the event, however packets come in batches. Of a
        block of packets exchanges come in blocks, too, where that is compiled. Packets of the files in
        `without` are left out.
        """
        self._rest, self._left, self._block = iter(()), None, None
        if isinstance(packets, PacketBlock | MergedBlock):
            if is_compiled and packets.files.isdisjoint(without) and self.log_lines is None:
                return self._counted(self._feed_block(packets))
            if packets.files.issubset(without):
                return iter(())
        return self._counted(self._feed_packets(_numbered_without(packets, 0, without)))

    def feed_on(self, without: Collection[int]) -> Iterator[Events]:
        """Continue `feed_each` after the packet at which it raised or stopped, without the packets of some
        files.

        For `engine.guard`.
        """
        self._block = None
        left, self._left = self._left, None
        if left is None:
            return self._counted(self._feed_rest(rest_without(self._rest, without)))
        block, fed = left
        start = fed.index + 1
        self.parser.packets -= len(block) - start  # further packets are counted again
        rest = self._feed_packets(_numbered_without(block[start:], start, without))
        if isinstance(fed, native.InOrder):
            fed.end(list(without))
            rest = chain(self._blocks(fed), rest)
        return self._counted(rest)

    def _counted(self, fed: Iterator[Events]) -> Iterator[Events]:
        """Yield the events, with exchanges that two capture sets have distinguished if they share only some
        of a connection, and with the lines that a request log has of them.
        """
        counted = fed if self._duplicate_taps is None else self._duplicate_taps.counted(fed)
        return counted if self.log_lines is None else map(self.log_lines.join_all, counted)

    def _feed_packets(self, numbered: Collection[tuple[int, PlainPacket]]) -> Iterator[Events]:
        self._index = 0  # until it takes a packet, the first one is current
        segments = self.parser.parse_batch([packet for _, packet in numbered])
        taken = zip(numbered, segments, strict=True)
        yield from self._feed_rest((at, (packet, segment)) for (at, packet), segment in taken)

    def _feed_rest(self, rest: Rest) -> Iterator[Events]:
        self._rest, events = rest, self._events
        for index, (packet, segment) in rest:
            if self.latest_ns is not None and packet[1] > self.latest_ns:
                self.latest_ns = packet[1]
            if segment is not None:
                self._index = index
                self._come_to(packet[0])
                self._feed_parsed(segment, packet[0], packet[1])
                if events:
                    yield self._take()
        self._rest = iter(())

    def _feed_block(self, block: PacketBlock | MergedBlock) -> Iterator[Events]:
        """Yield the events in the native engine, which leaves unusual packets to `_feed_packet`."""
        self._index = 0
        runs = block.runs()
        self.parser.packets += len(block)
        sets = {file: self._capture_set_of(file) for file in block.files}
        names = sorted(set(sets.values()))
        self._hear(names)
        fed = self._in_order(
            runs, partial(self._feed_unusual, runs, sets, names), lambda file: self._lend(sets[file])
        )
        self._left = block, fed
        try:
            yield from self._blocks(fed)
        except Exception:
            self._index = fed.index
            raise
        self._left = None
        if isinstance(fed, native.InOrder):
            self.latest_ns = fed.latest_ns

    def _blocks(self, fed: native.InOrder | native.CopyInOrder) -> Iterator[Events]:
        """Yield its blocks and lists of events. Each is current while the caller reads it."""
        for found in fed:
            self._index = fed.index
            self._block = found if isinstance(found, native.ExchangeBlock) else None
            yield found
            self._block = None

    def _feed_unusual(
        self,
        runs: native.PacketRuns,
        sets: Mapping[int, str],
        names: Sequence[str],
        index: int,
        latest_ns: int | None = None,
    ) -> int:
        """Take a packet of a block, and return the time up to which the native engine may take others of its
        capture set.
        """
        self._index, self.latest_ns = index, latest_ns
        if len(names) > 1:
            self._hear(names)
        ref, found = runs.reference(index), runs.segment(index)
        if found is not None:
            self._come_to(ref)
            self._feed_segment(found[0], ref, found[1])
        else:
            self.parser.packets -= 1
            self._feed_packet(runs.packet(index))
        return self._sweeps.get(sets[ref >> FILE_SHIFT], 0)

    def _hear(self, names: Sequence[str]) -> None:
        """Note that the compiled hot path takes packets of these sets, one and the other, and reports none of
        them.
        """
        if self._duplicate_taps is not None:
            for capture_set in names:
                self._duplicate_taps.hear(capture_set)

    def _lend(self, capture_set: str) -> tuple[str, int, Any] | None:
        """Return a capture set's name, the time up to which its packets may be taken, and its native tables.

        None before its first segment.
        """
        flows = self._tables.get(capture_set)
        if not isinstance(flows, FlowTable):
            return None
        return capture_set, self._sweeps.get(capture_set, 0), self._lent_of(capture_set, flows)

    def _in_order(
        self,
        runs: native.PacketRuns,
        feed_unusual: Callable[[int], int],
        lend: Callable[[int], tuple[str, int, Any] | None],
    ) -> native.InOrder | native.CopyInOrder:
        """Return the native reader of a block's packets."""
        return native.InOrder(runs, self.latest_ns, self._events, self._others, feed_unusual, lend)

    def _lent_of(self, capture_set: str, flows: FlowTable) -> Any:
        """Return the native tables of a capture set."""
        return flows.held, self._syns(capture_set, flows)

    def _syns(self, capture_set: str, flows: FlowTable) -> native.HeldSyns | None:
        """Return the parameters of the native `_first` for a SYN; None if Python handles each SYN."""
        counts = self._store.counts
        if not self._holds_syns or self._only_ports or self._others is not None:
            return None
        assert isinstance(counts, native.Counts)
        assert self._nat_sides is not None  # otherwise no SYNs are stored
        begin = None if self._ports else self._begin
        return (
            flows, self.limits.connections, counts, partial(self._nat_sides.see, capture_set),
            engine_of(self._store), begin,
        )  # fmt: skip

    def _begin(
        self,
        flow: bytes,
        half: HalfOpen,
        told: ToldOfClient,
        latest_ns: int | None,
        ref: int,
        comment: bytes | None,
    ) -> native.Held:
        """Begin a connection in the engine, and return its place there.

        `half` is its handshake, or the first packet of one in a request log, with its `comment`.
        """
        if ref >> FILE_SHIFT != self._file:
            self._switch_file(ref >> FILE_SHIFT)
        if latest_ns is not None:
            self.latest_ns, self.place = latest_ns, (latest_ns, ref)
        is_answer, start_ns, place = opening_of(half)
        info = self._info(flow, is_answer, start_ns, place)
        info.kind = ConnectionKind.KAFKA
        info.client_id, info.software_name, info.software_version = told
        logged = None if comment is None else logged_of(comment)
        if logged is None:
            self._note_nat(info, flow, first_seq(half))
            self.brokers.prove(info)
        else:
            info.note_logged(logged.of_connection)
            info.middle_start = True
        connection = ConnectionAnalyzer.begun(info, self._events, self._secrets, self._store, self.brokers)
        if self.reports_opened:
            self._events.append(ConnectionOpened(info))
        self._flows[flow] = connection
        assert connection.held is not None, "asked by the engine"
        return connection.held

    def _note_nat(self, info: ConnectionInfo, flow: bytes, seq: int) -> None:
        """Note a connection that begins with this SYN, and may be the other side of a NAT."""
        if self._nat_sides is not None:
            root = self._nat_sides.root(self._capture_set, flow, seq)
            if root is not None:
                info.same_as, info.read_from = root

    def _feed_packet(self, packet: PlainPacket) -> None:
        segment = self.parser.parse_batch((packet,))[0]
        if segment is not None:
            self._come_to(packet[0])
            self._feed_parsed(segment, packet[0], packet[1])
            if is_commented(packet[2]):
                found, _ = self._find(segment[0])
                if isinstance(found, ConnectionAnalyzer) and found.info.logged is not None:
                    found.lend_logged()

    def _come_to(self, ref: int) -> None:
        """Note that a packet with a segment comes next: its place is at the latest time, if the caller wants
        places.
        """
        now_ns = self.latest_ns
        if now_ns is None:
            return
        if self.is_due(ref, now_ns):
            self._advance(ref, now_ns)
        self.place = now_ns, ref

    def _feed_parsed(self, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the segment of a packet, and whose it is, where `parser` knows that."""
        local_ends = self.parser.local_ends
        local_end = local_ends.pop(ref, None) if local_ends else None
        if local_end is None:
            self._feed_segment(segment, ref, time_ns)
            return
        if local_end.logged is not None:
            self._logged = local_end.logged
            self._feed_segment(segment, ref, time_ns)
            self._logged = None
            return
        holds_syns, self._holds_syns = self._holds_syns, False  # stored SYNs have no place for it
        self._feed_segment(segment, ref, time_ns)
        self._holds_syns = holds_syns
        found, _ = self._find(segment[0])
        if found is not None and not isinstance(found, bytes):
            source, destination = flow_endpoints(segment[0])
            end = {True: source, False: destination, None: None}[local_end.is_sender]
            found.info.note_process(end, local_end.process)

    def _feed_logged(self, plain: PlainSegment, ref: int, time_ns: int, logged: Logged) -> None:
        """Take a segment built from a line of a request log.

        The log names connections, and is in the order of their bytes: sequence numbers and a handshake do not
        matter, and the client sent the first packet of a connection.
        """
        if time_ns > self._due_ns:
            self._sweep(time_ns)
        found, direction = self._find(plain[0])
        if found is not None and not _is_of_line(found, logged):
            self._drop(found, reverse_flow(plain[0]) if direction else plain[0], CloseKind.REUSED, time_ns)
            found = None
        if found is None or isinstance(found, bytes):
            if self._only_ports and self._only_ports.isdisjoint(flow_ports(plain[0])):
                return
            found, direction = self._open_logged(plain, time_ns), 0
        found.info.note_logged(logged)
        if not isinstance(found, ConnectionAnalyzer):  # who only follows it
            found.feed(direction, plain, ref, time_ns)
            return
        found.feed_logged(direction, plain, ref, time_ns)

    def _open_logged(self, plain: PlainSegment, time_ns: int) -> Connection:
        if self.open_connections() >= self.limits.connections:
            self._make_room(time_ns)
        opened = self._open(Segment._make(plain), time_ns, self.place)
        if isinstance(opened, ConnectionAnalyzer):
            opened.begin_logged(0)
        return opened

    def feed_segment(self, segment: PlainSegment, ref: int, time_ns: int) -> list[Event]:
        """Do `feed` for a packet that was dissected already, here or on another machine."""
        if segment[6] == ROOT:  # not a segment: it describes the next one
            if self._nat_sides is None:
                self._nat_sides = NatSides()
            self._nat_sides.tell(self._capture_set_of(ref >> FILE_SHIFT), segment)
            return _NOTHING
        if segment[6] < 0:  # the same
            from kdissect.model.packets.process import local_end_of  # start-up: few captures name processes

            self.parser.local_ends[ref] = local_end_of(segment)
            return _NOTHING
        self._feed_parsed(segment, ref, time_ns)
        return self._take() if self._events else _NOTHING

    def _feed_segment(self, segment: PlainSegment, ref: int, time_ns: int) -> None:
        if ref >> FILE_SHIFT != self._file:
            self._switch_file(ref >> FILE_SHIFT)
        if self._logged is not None:
            self._feed_logged(segment, ref, time_ns, self._logged)
            return
        found, direction = self._find(segment[0])
        if found is None or isinstance(found, bytes) or time_ns > self._due_ns or segment[3] & SYN:
            slow = self._slow(segment, ref, time_ns)
            if slow is None:
                return
            found, direction = slow
        found.feed(direction, segment, ref, time_ns)

    def _find(self, key: bytes) -> tuple[Flow | None, int]:
        """Return the connection that a segment with this flow key belongs to, and its direction there."""
        found = self._flows.get(key)
        if found is not None:
            return found, 0
        return self._flows.get(reverse_flow(key)), 1

    def is_due(self, ref: int, time_ns: int) -> bool:
        """Return whether `advance` has anything to do."""
        return time_ns > self._due_ns or ref >> FILE_SHIFT != self._file

    def advance(self, ref: int, time_ns: int) -> list[Event]:
        """End what was silent for too long when the capture set of a packet reaches `time_ns`."""
        self._advance(ref, time_ns)
        return self._take() if self._events else _NOTHING

    def _advance(self, ref: int, time_ns: int) -> None:
        if ref >> FILE_SHIFT != self._file:
            self._switch_file(ref >> FILE_SHIFT)
        if time_ns > self._due_ns:
            self._sweep(time_ns)

    def next_end_ns(self) -> int | None:
        """Return when `advance` ends the first open connection if no more packets come; None without one."""
        ends = (over_ns(one) for table in self._tables.values() for one in table.values())
        return min(ends, default=None)

    def close(self, ends: Mapping[str, int] = NO_ENDS) -> list[Event]:
        """End the capture: flush every connection, in the order of their first packets.

        `ends` are the latest times of packets by capture set. Connections that had been silent for too long
        by then ended before, though no packet may have come to notice it.
        """
        return list(chain.from_iterable(self.close_each(ends)))

    def close_each(self, ends: Mapping[str, int] = NO_ENDS) -> Iterator[list[Event]]:
        """`close` bit by bit: of many connections not all that is known need be there at once."""
        closing = self._close_each(ends)
        if self._duplicate_taps is not None:
            closing = self._duplicate_taps.counted_ends(closing)
        return closing if self.log_lines is None else map(self.log_lines.join_all, closing)

    def keep_memory(self) -> None:
        """Free nothing of the open connections when they close. Call it before `close_each`, in a copy of a
        process: to free memory is to write to pages that both share until then.
        """
        for flows in self._tables.values():
            keep_memory(flows)

    def _close_each(self, ends: Mapping[str, int]) -> Iterator[list[Event]]:
        for capture_set, end_ns in ends.items():
            self._switch_set(capture_set)
            self._sweep(end_ns)
        for capture_set in self._tables:
            self._switch_set(capture_set)
            for flow in list(self._flows):
                found = self._flows[flow]
                self._drop(found, flow, CloseKind.CAPTURE_END, last_ns(found))
                if len(self._events) >= CLOSED_AT_ONCE:
                    yield self._take()
        self.parser.close()
        yield self._take()

    def tally(self) -> ConnectionTally:
        """Return the tally of connections so far, including the open ones."""
        tally = self._tally.copy()
        for table in self._tables.values():
            for connection in table.values():
                if not isinstance(connection, bytes):
                    tally.add(connection.info)
        return tally

    def open_connections(self) -> int:
        """Return how many have not ended."""
        return self._store.counts.connections

    def _take(self) -> list[Event]:
        events = self._events[:]
        self._events.clear()  # connections hold this very list
        return events

    def _switch_file(self, file: int) -> None:
        self._file = file
        self._switch_set(self._capture_set_of(file))

    def _switch_set(self, capture_set: str) -> None:
        self._capture_set = capture_set
        if capture_set not in self._tables:
            self._tables[capture_set] = flow_table({})
        self._flows = self._tables[capture_set]
        self._due_ns = self._sweeps.get(capture_set, 0)
        if self._duplicate_taps is not None:
            self._duplicate_taps.hear(capture_set)

    def _slow(self, plain: PlainSegment, ref: int, time_ns: int) -> tuple[Connection, int] | None:
        """Return everything that is not a segment of a known connection: sweep, SYN, new connection.

        Return the connection of the segment, and its direction there. None: the segment was handled, or
        belongs to no connection.
        """
        if time_ns > self._due_ns:
            self._sweep(time_ns)
        if plain[3] & (SYN | ACK) == SYN:
            self._note_syn(plain[0], plain[1], plain[4], plain[7], time_ns)
        found, direction = self._find(plain[0])
        if found is None:
            if self._only_ports and self._only_ports.isdisjoint(flow_ports(plain[0])):
                return None
            if self.open_connections() >= self.limits.connections and _begins(plain):
                self._make_room(time_ns)
            opened = self._first(plain, ref, time_ns)
            return None if opened is None else (opened, 0)
        key = reverse_flow(plain[0]) if direction else plain[0]
        if isinstance(found, bytes):
            is_held = plain[3] & ACK and self._holds_syns
            half = followed_by(found, direction, plain, ref, time_ns) if is_held else None
            if half is not None:
                self._flows[key] = half
                return None
            found = self._complete(found, key)
        if plain[3] & SYN:
            segment = Segment._make(plain)
            if found.tcp.opens_new_incarnation(direction, segment, time_ns):
                self._drop(found, key, CloseKind.REUSED, time_ns)
                return self._open(segment, time_ns, self.place), 0
        return found, direction

    def _note_syn(self, flow: bytes, seq: int, window: int, ip_id: int, time_ns: int) -> None:
        """Note a SYN without ACK in the current capture set: it may also be on the other side of a NAT."""
        if self._nat_sides is not None and self._sees_all_flows:
            self._nat_sides.see(self._capture_set, flow, seq, window, ip_id, time_ns)

    def _complete(self, half: HalfOpen, key: bytes) -> Connection:
        """Build a connection from its stored packets."""
        segments = packets_of(half, key)
        _, time_ns, place = opening_of(half)
        self._store.counts.connections -= 1  # it is opened a second time
        connection = self._open(segments[0][0], time_ns, place)
        for number, (segment, ref, at_ns) in enumerate(segments):
            connection.feed(number % 2, segment, ref, at_ns)
        return connection

    def _first(self, plain: PlainSegment, ref: int, time_ns: int) -> Connection | None:
        """Return the first segment of a flow."""
        if self._holds_syns:
            half = opened_by(plain, ref, time_ns, self.place)
            if half is not None:
                self._store.counts.connections += 1
                self._flows[plain[0]] = half
                return None
        return self._open(Segment._make(plain), time_ns, self.place) if _begins(plain) else None

    def _info(self, flow: bytes, is_answer: bool, time_ns: int, place: tuple[int, int]) -> ConnectionInfo:
        """Return a connection whose first packet has this flow key, and answers a SYN or not."""
        # The response to a SYN comes from the listener. Without a SYN, the first sender counts as the client.
        swapped = is_answer or (bool(self._ports) and flow_endpoints(flow)[0].port in self._ports)
        client = reverse_flow(flow) if swapped else flow
        info = ConnectionInfo.of_flow(client, self._capture_set, time_ns, self._names, self.limits.anomalies)
        if swapped:
            info.client_direction = 1
        if self.names:  # few captures come with names
            info.client_text, info.broker_text  # noqa: B018  looked up, so that `names` notes it
        info.opened_at = place
        info.identities = self.identities
        return info

    def _open(self, segment: Segment, time_ns: int, place: tuple[int, int]) -> Connection:
        info = self._info(segment.flow, is_answer(segment.flags), time_ns, place)
        connection = self._connection(info, segment.flow)
        if segment.flags & SYN:
            self._note_nat(info, segment.flow, segment.seq)
        if self._duplicate_taps is not None:
            self._duplicate_taps.open(info, connection.tcp, segment)
            if info.share is not None:
                connection.stay()
        self._store.counts.connections += 1
        self._flows[segment.flow] = connection
        return connection

    def _connection(self, info: ConnectionInfo, _flow: bytes) -> Connection:
        """Return a connection that begins with a flow's segment."""
        forced = info.client_direction if self._ports and info.broker.port in self._ports else None
        return ConnectionAnalyzer(info, self._events, forced, self._secrets, self._store, self.brokers)

    def _drop(
        self,
        connection: Flow,
        flow: bytes,
        how: CloseKind,
        time_ns: int,
        over_at_ns: int = 0,
    ) -> None:
        """End a connection of the current capture set. Its last event is that it is closed."""
        if isinstance(connection, bytes) and not is_one_syn(connection):
            connection = self._complete(connection, flow)
        self._store.counts.connections -= 1
        self._flows.pop(flow, None)
        if isinstance(connection, bytes):
            info = self._info(flow, *opening_of(connection))
            info.over_ns, info.close = over_at_ns, Close(None, how, time_ns)
            info.tcp = ONE_SYN_OF_BROKER if info.client_direction else ONE_SYN
            self._events.append(ConnectionClosed(info))
            return
        self.ended = connection.info
        if self._duplicate_taps is not None:
            self._duplicate_taps.close(connection.info)
        connection.info.over_ns = over_at_ns
        connection.close(how, time_ns)
        self._tally.add(connection.info)

    def _sweep(self, time_ns: int) -> None:
        """Close what has been silent for too long, in the order in which its time was up."""
        self._due_ns = self._sweeps[self._capture_set] = -(-time_ns // SWEEP_EVERY_NS) * SWEEP_EVERY_NS
        quiet_ns = time_ns - LINGER_NS  # no connection is over earlier after its last packet
        due = []
        for flow in may_be_over(self._flows, time_ns):
            connection = self._flows[flow]
            heard_ns = last_ns(connection)
            if heard_ns < quiet_ns and (over_at_ns := over_ns(connection)) < time_ns:
                due.append((over_at_ns, connection, flow))
            elif heard_ns < time_ns - RECENT_NS and not isinstance(connection, bytes):
                connection.forget_delivered()
        forget_delivered(self._flows, time_ns)
        due.sort(key=_first)
        for over_at_ns, connection, flow in due:
            self._drop(connection, flow, CloseKind.IDLE, last_ns(connection), over_at_ns)

    def _make_room(self, time_ns: int) -> None:
        """Another connection begins: of too many, in all sets together, those heard longest ago go."""
        most = self.limits.connections
        here = self._capture_set
        for name, flow in self._oldest(max(1, min(EVICTED_AT_ONCE, most // 10))):
            if name != self._capture_set:
                self._switch_set(name)
            self._drop(self._flows[flow], flow, CloseKind.IDLE, time_ns)
            detail = ""
            if self._log.has_room:
                gone = self._events[-1].connection.id
                detail = f"more than {most} connections open at a time: {gone} is evicted"
            self._log.note(AnomalyKind.EVICTED_IDLE, detail, 0, time_ns)
            self._given_up += 1
        if self._given_up >= most // 2:
            self._given_up = 0
            for table in self._tables.values():
                give_back_room(table)
        self._switch_set(here)

    def _oldest(self, number: int) -> Iterator[tuple[str, bytes]]:
        """Yield a number of connections that were silent longest, each to be dropped before the next."""
        while number:
            if not self._silent:
                most = max(1, min(FOUND_AT_ONCE, self.limits.connections // 5))
                self._silent = heard_longest_ago(self._tables, most)[::-1]
            if not self._silent:
                return
            name, flow, heard_ns = self._silent.pop()
            found = self._tables[name].get(flow)
            if found is not None and last_ns(found) == heard_ns:  # not over, and not heard since
                yield name, flow
                number -= 1


def rest_without(rest: Rest, files: Collection[int]) -> Rest:
    """Return the remaining packets, without the packets of some files."""
    return iter([one for one in rest if one[1][0][0] >> FILE_SHIFT not in files])


def _numbered_without(
    packets: Sequence[PlainPacket], start: int, files: Collection[int]
) -> list[tuple[int, PlainPacket]]:
    """Return packets with their numbers, without the packets of some files."""
    return [one for one in enumerate(packets, start) if one[1][0] >> FILE_SHIFT not in files]


def _is_of_line(found: Flow, logged: Logged) -> bool:
    """Return whether a connection is the one that a line of a request log names."""
    known = None if isinstance(found, bytes) else found.info.logged
    return known is not None and known.connection == logged.connection


def is_answer(flags: int) -> bool:
    """Return whether a segment answers a SYN."""
    return flags & (SYN | ACK) == SYN | ACK


def _begins(plain: PlainSegment) -> bool:
    """Return whether a segment makes a connection: bare acknowledgements do not."""
    return bool(plain[3] & SYN or plain[5] or plain[6])


def _host_names(names: Mapping[str, str]) -> HostNames:
    from kdissect.model.hosts import HostNames  # start-up: few captures come with names

    return HostNames(names)


def _one_set(_file: int) -> str:
    return ""
