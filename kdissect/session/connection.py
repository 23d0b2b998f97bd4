"""One TCP connection's segments in, events out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.model.packets.segment import PlainSegment
from kdissect.model.packets.stream import CloseKind
from kdissect.net.anomaly_log import NOTHING_NOTED
from kdissect.net.store import Store
from kdissect.net.streams.reassembly import Reassembly
from kdissect.net.streams.round_trips import Part, RoundTrips, known, part_of
from kdissect.net.streams.tcp import TcpConnection
from kdissect.session.conversation import Conversation
from kdissect.session.detection.detection import Detection
from kdissect.session.detection.known_brokers import Brokers
from kdissect.session.detection.recognition import (
    MAX_FRAME_SIZE,
    MIN_RESPONSE_SIZE,
    PROXY_FIRST_BYTES,
    Verdict,
    foreign_protocol,
    request_at,
)
from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event
from kdissect.session.exchange import DelayOfSide, Exchange
from kdissect.session.framing import FrameReader
from kdissect.session.handover import (
    BEGUN,
    BEGUN_LOGGED,
    Kept,
    held_of,
    is_ordinary,
    lend,
    note_end,
    patience,
    take_back,
)
from kdissect.session.info import Close, ConnectionInfo, ConnectionKind, TcpSummary, TcpTimes, close_of
from kdissect.session.torn import Mark

if TYPE_CHECKING:
    from kdissect.session.detection.proxy_header import ProxyHeaders
    from kdissect.session.problem import Problem
    from kdissect.tls.keying import SecretSource
    from kdissect.tls.tls_connection import TlsConnection

# Places in a segment at which a frame is tried when a reader looks for its position: a try may decode a
# body that goes on to the end, and crafted bytes can look like a beginning every few bytes.
MAX_CANDIDATES = 64
MOST_ANSWERS = 3  # with more of them a connection came to something (`session.problem`)
# Packets after the one that shows the kind: the first response is for Python, because it identifies the
# client.
_FIRST_WAIT = 1
MOST_PACKETS = 1 << 62  # of a connection that is never handed over
TINY = 64  # bytes: segments this small are tried at every offset when a reader looks for its position


class ConnectionAnalyzer:
    """Analyzer of one connection: it reassembles, detects, frames and pairs. It appends events to the list
    given at the start.

    No input raises an exception. Between calls the state is plain and picklable. With the native engine it is
    native-owned while all about it is ordinary (`session.handover`): then there are no streams, readers and
    conversation here.
    """

    __slots__ = (
        "_brokers",
        "_closed",
        "_conversation",
        "_detection",
        "_events",
        "_forced",
        "_held",
        "_is_aligned",
        "_is_reported",
        "_kept",
        "_patience",
        "_readers",
        "_secrets",
        "_tcp",
        "_tls",
        "_wait",
        "info",
        "store",
    )

    _tcp: TcpConnection  # not yet of one that began in the engine, and not any more of one that is closed
    _conversation: Conversation  # from the moment on at which the connection is known to be Kafka

    def __init__(
        self,
        info: ConnectionInfo,
        events: list[Event],
        forced_client: int | None = None,
        secrets: SecretSource | None = None,
        store: Store | None = None,
        brokers: Brokers | None = None,
    ) -> None:
        self.info = info
        self._brokers = Brokers() if brokers is None else brokers
        self._events = events
        self.store = store = store or Store()
        self._readers = (FrameReader(self, 0), FrameReader(self, 1))
        self._tcp = TcpConnection(self._readers, store)
        info.tcp_log = self._tcp.log
        self._detection: Detection | None = Detection()
        self._closed = False
        self._forced = forced_client
        self._secrets = secrets
        self._tls: TlsConnection | None = None
        self._is_aligned = False  # its first bytes begin a frame, whether the start was seen or not
        self._is_reported = False  # its kind is known to the outside
        self._held = held_of(store, info)
        self._kept: Kept | None = None  # while it is native-owned: the state that the engine does not need
        self._patience = 0
        self._wait = 0  # packets until the next handover is possible

    @classmethod
    def begun(
        cls,
        info: ConnectionInfo,
        events: list[Event],
        secrets: SecretSource | None,
        store: Store,
        brokers: Brokers,
    ) -> ConnectionAnalyzer:
        """Return a connection that began in the native engine, which owns it: its kind is known
        (`session.beginning`).
        """
        self = cls.__new__(cls)
        self.info, self._events, self.store = info, events, store
        self._brokers, self._secrets = brokers, secrets
        self._detection = self._tls = self._forced = None
        self._closed, self._is_aligned, self._is_reported = False, False, True
        self._held, self._kept = held_of(store, info), BEGUN if info.logged is None else BEGUN_LOGGED
        self._patience = self._wait = 0
        info.tcp_log = NOTHING_NOTED
        return self

    @property
    def tcp(self) -> TcpConnection:
        """Its two streams."""
        if self._is_begun:
            self.take_back()
        return self._tcp

    @property
    def _is_begun(self) -> bool:
        """Whether it began in the native engine, which still owns it."""
        return self._kept is BEGUN or self._kept is BEGUN_LOGGED

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        self.take_back()
        names = [name for name in ConnectionAnalyzer.__slots__ if name != "_held" and hasattr(self, name)]
        return None, {name: getattr(self, name) for name in names}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        self._held = held_of(self.store, self.info)

    @property
    def held(self) -> native.Held | None:
        """Its state in the native engine, which takes packets that are in order."""
        return self._held

    def stay(self) -> None:
        """Keep it out of the native engine, before its first segment."""
        self._held = None

    def begin_logged(self, client: int) -> None:
        """Prepare for a request log, before its first segment: Kafka from its first byte on.

        `client` is the direction of requests.
        """
        self._forced, self._is_aligned = client, True

    def feed_logged(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take a segment built from a request log, as the next one of its direction."""
        self.take_back()
        mine, peer = self._tcp.streams[direction], self._tcp.streams[1 - direction]
        flow, seq, ack, flags, window, payload, missing, ip_id = segment
        seq = seq if mine.next_seq < 0 else mine.next_seq
        ack = ack if peer.next_seq < 0 else peer.next_seq
        self._take(direction, (flow, seq, ack, flags, window, payload, missing, ip_id), ref, time_ns)

    def lend_logged(self) -> None:
        """Hand a connection of a request log to the engine, if it is for that now."""
        if self._held is not None and self._detection is None:
            self._offer(self._held)

    @property
    def last_ns(self) -> int:
        """Time of the connection's last packet."""
        if self._kept is not None and self._held is not None:
            return self._held.last_time_ns or self.info.start_ns
        return self.tcp.last_time_ns or self.info.start_ns

    def forget_delivered(self) -> None:
        """Forget the bytes that its streams delivered, unless the native engine owns them."""
        if not self._is_begun:
            self._tcp.forget_delivered()

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next captured segment of a direction."""
        held = self._held
        if self._kept is not None and held is not None:
            if held.feed(direction, segment, ref, time_ns, self._events):
                return
            self.take_back()
        self._take(direction, segment, ref, time_ns)
        if held is not None:
            self._offer(held)

    def _take(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        before = len(self._events)
        self._tcp.feed(direction, segment, ref, time_ns)
        if len(self._events) > before:
            self._lay_times(before)

    def _offer(self, held: native.Held) -> None:
        """Give it to the engine after some packets."""
        self._wait -= 1
        if self._wait < 0 and self._detection is None:
            self._lend(held)

    def _lend(self, held: native.Held) -> None:
        """Give it to the engine, if it is for that now."""
        if self.info.kind is not ConnectionKind.KAFKA or self._tls is not None:
            self._wait = MOST_PACKETS
            return
        if is_ordinary(self.tcp, self._readers, self._conversation) and not self.tcp.has_delays:
            self._kept = lend(held, self, self.tcp, self._readers, self._conversation, self.info)
            self.info.tcp_log = self.tcp.log
            self._conversation.requests_from = None  # no cycle remains
            del self._readers, self._conversation
        elif not self.tcp.troubled:
            self._wait = self._conversation.waiting

    def _lay_times(self, first: int) -> None:
        """Add TCP times to the exchanges among the events from the `first` on."""
        client = self.info.client_direction
        streams = self.tcp.streams
        trips = [known(streams[side].acks.least_ns) for side in (1 - client, client)]
        for event in self._events[first:]:
            if isinstance(event, Exchange):
                event.client_trip_ns, event.broker_trip_ns = trips
                if self.tcp.has_delays:
                    self._lay_delays(event, streams[client], streams[1 - client])

    def _lay_delays(self, exchange: Exchange, client: Reassembly, broker: Reassembly) -> None:
        request, response = exchange.request, exchange.response
        if request is not None and response is not None:
            # An answer sooner than a round trip is one to what had arrived before it was sent again.
            trip_ns = client.acks.least_ns
            while client.odd.delays and 0 <= response.time_ns - client.odd.delays[-1].until_ns < trip_ns:
                client.came_twice()
        exchange.delays = tuple(
            DelayOfSide(stream is client, delay.from_ns, delay.until_ns)
            for stream in (client, broker)
            for delay in stream.odd.delays
        )
        if request is None:
            return
        for stream in (client, broker):  # no later request can have waited for them
            delays = stream.odd.delays
            while delays and delays[0].until_ns <= request.time_ns:
                del delays[0]

    def take_back(self) -> None:
        """Have it here, wherever it was."""
        if self._kept is None or self._held is None:
            return
        taken = self._held.taken
        readers = FrameReader(self, 0), FrameReader(self, 1)
        if self._is_begun:
            self._tcp = TcpConnection(readers, self.store)
            self._tcp.initiator = 0 if self._kept is BEGUN else None
        self._conversation = Conversation(self.info, self._events, self.store)
        self._readers = take_back(self._held, self._kept, self._tcp, readers, self._conversation, self.store)
        self._kept, self.info.tcp_log = None, self._tcp.log
        self._patience, self._wait = patience(self._patience, taken, self._conversation)

    def close(self, how: CloseKind, time_ns: int) -> None:
        """End the connection: flush and report. It takes no more segments."""
        if self._closed:
            return
        if self._close_held(how, time_ns):
            self._closed = True
            self._events.append(ConnectionClosed(self.info))
            if not self._is_begun:
                del self._tcp  # it points here
            self._held = self._kept = None
            return
        self.take_back()
        before = len(self._events)
        self.tcp.flush(how, time_ns)
        self._finish(how, time_ns)
        self._lay_times(before)
        self._closed = True
        self._summarise()
        self._events.append(ConnectionClosed(self.info, self._problem()))
        # Readers point at their connection: without this it would be in memory until a search for cycles.
        self._held = None
        del self._tcp, self._readers

    def _close_held(self, how: CloseKind, time_ns: int) -> bool:
        """Return whether the engine has all remaining facts of the connection. Report them then."""
        info, held, kept = self.info, self._held, self._kept
        is_plain = info.tcp_log is NOTHING_NOTED and not info.unanswered and not info.anomalies
        if kept is None or held is None or not is_plain:
            return False
        found = held.summary()
        if found is None:
            return False
        last_ns, ended_by, sides = found
        note_end(info, last_ns, ended_by, how, time_ns)
        client, broker = sides[info.client_direction], sides[1 - info.client_direction]
        info.tcp = None if info.logged is not None else TcpSummary(
            client[0] + broker[0], client[1], broker[1], 0, 0, 0, 0, client[4] + broker[4], 0, 0, broker[0],
            TcpTimes(RoundTrips(Part(broker[2], broker[3]), Part(client[2], client[3])), 0),
        )  # fmt: skip
        info.tcp_log = None
        return True

    def _problem(self) -> Problem | None:
        info = self.info
        is_answered = info.kind is ConnectionKind.KAFKA and not info.unanswered and not info.anomalies
        if info.complete > MOST_ANSWERS or is_answered:
            return None
        from kdissect.session.problem import problem_of  # most captures have none

        return problem_of(info, self.tcp)

    @property
    def is_over(self) -> bool:
        """Both directions ended."""
        if self._kept is not None and self._held is not None:
            return self._held.is_over
        first, second = self._readers
        return first.closed is not None and second.closed is not None

    # calls of the frame readers

    def undecided(self, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        """Bytes of a connection whose kind is not known yet."""
        detection = self._detection
        if detection is None:  # decided while earlier bytes of the same packet were replayed
            self._readers[direction].data(payload, ref, time_ns)
            return
        if not detection.heard & 1 << direction:
            detection.heard |= 1 << direction
            may_precede = payload[0] in PROXY_FIRST_BYTES and self._tls is None and detection.proxied is None
            if may_precede and self.tcp.initiator in (None, direction):
                from kdissect.session.detection.proxy_header import ProxyHeaders  # start-up: seldom needed

                detection.proxied = ProxyHeaders(direction)
        headers = detection.proxied
        if headers is None or headers.direction != direction:
            self._judge(direction, payload, ref, time_ns)
            return
        pieces = headers.take(payload, ref, time_ns)
        self._keep_proxy(detection, headers)
        self._judge_pieces(direction, pieces)

    def undecided_gap(self, direction: int, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """Missing bytes of a connection whose kind is not known yet."""
        detection = self._detection
        if detection is not None:
            detection.heard |= 1 << direction
            headers = detection.proxied
            if headers is not None and headers.direction == direction:
                pieces, length = headers.gap(length)
                self._keep_proxy(detection, headers)
                self._judge_pieces(direction, pieces)
                if not length:
                    return
                detection = self._detection
        if detection is None:
            self._readers[direction].gap(length, snapped, ref, time_ns)
            return
        kind = detection.feed_gap(direction, length, snapped, ref, time_ns, self._readers[direction].is_open)
        if snapped and self.info.kind is ConnectionKind.NO_DATA:
            self.info.kind = ConnectionKind.CUT  # until it is recognized
        if kind is not None and detection.client is not None:
            self._found(kind, detection.client)

    def _keep_proxy(self, detection: Detection, headers: ProxyHeaders) -> None:
        """Store the content of PROXY protocol headers. Their direction is the client's, from its first
        byte.
        """
        if headers.header is not None:
            self.info.proxy = headers.header
            self._readers[headers.direction].opened()
        if headers.is_over:
            detection.proxied = None

    def _judge_pieces(self, direction: int, pieces: Sequence[tuple[bytes, int, int]]) -> None:
        """Judge the bytes that follow PROXY protocol headers, or that waited for one."""
        from kdissect.session.detection.proxy_header import is_malformed  # start-up: seldom needed

        if self._detection is not None and is_malformed(b"".join(payload for payload, _, _ in pieces)):
            for piece in pieces:
                self._detection.hold(direction, *piece)
            self._decide(ConnectionKind.UNKNOWN, direction)
            return
        for payload, ref, time_ns in pieces:
            if self._detection is None:
                self._readers[direction].data(payload, ref, time_ns)
            else:
                self._judge(direction, payload, ref, time_ns)

    def _judge(self, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        """Decide the kind by the next bytes, if they are enough."""
        detection = self._detection
        assert detection is not None, "asked by the caller"
        if self._forced is not None:
            detection.hold(direction, payload, ref, time_ns)
            is_tls = self._tls is None and foreign_protocol(payload) is ConnectionKind.TLS
            forced = ConnectionKind.TLS if is_tls else ConnectionKind.KAFKA
            self._decide(forced, self._forced, self._is_aligned)
            return
        reader = self._readers[direction]
        if self.tcp.initiator is not None:
            detection.listener = 1 - self.tcp.initiator
        kind = detection.feed(direction, payload, ref, time_ns, reader.is_open)
        if kind is not None:
            client = detection.client
            self._found(kind, self.info.client_direction if client is None else client)

    def find_frame(self, direction: int, data: bytes, first: int) -> int:
        """Return the offset of the next plausible frame in `data`, or ~offset of the undecided end if there
        is none.

        `first` is the start of the last segment in `data`. Bytes held back are before it.
        """
        from_client = direction == self.info.client_direction
        check = self._request_fits if from_client else self._response_fits
        keep = len(data)
        likely: int | None = None
        # Frames mostly begin at the start of segments. In tiny segments they may begin at every offset.
        for offset in range(len(data)) if len(data) <= TINY else sorted({0, first}):
            verdict = check(data, offset, True)
            if verdict is Verdict.YES and self.begins(direction, data[offset:], whole=False):
                return offset
            if verdict is Verdict.YES and likely is None:
                likely = offset
            if verdict is Verdict.MORE:
                keep = min(keep, offset)
        if likely is not None:
            return likely
        candidates = self._conversation.request_places if from_client else self._conversation.response_places
        for offset in islice(candidates(data), MAX_CANDIDATES):
            # Few bytes can be a response that fits. A request has the client id and a body of its own.
            goes_on = from_client or self._goes_on(direction, data, offset)
            if goes_on and check(data, offset, False) is Verdict.YES:
                return offset
        return ~keep

    def _goes_on(self, direction: int, data: bytes, offset: int) -> bool:
        """Return whether another frame can follow the one at `offset`, as far as there are bytes."""
        stop = offset + 4 + int.from_bytes(data[offset : offset + 4], signed=True)
        return stop >= len(data) or self.may_begin(direction, data, stop)

    def may_begin(self, direction: int, data: bytes, offset: int) -> bool:
        """Return whether a frame can begin at `offset`, if the position is a guess."""
        if self._conversation.has_tokens:
            return True
        from_client = direction == self.info.client_direction
        check = self._request_fits if from_client else self._response_fits
        return check(data, offset, True) is not Verdict.NO

    def begins(self, direction: int, data: bytes, *, whole: bool) -> bool:
        """Return whether `data` begins with a frame beyond doubt, or, if not `whole`, with a part of one."""
        size = int.from_bytes(data[:4], signed=True)
        if not MIN_RESPONSE_SIZE <= size <= MAX_FRAME_SIZE or (whole and size > len(data) - 4):
            return False
        if direction == self.info.client_direction:
            is_own = request_at(data, 0) is Verdict.YES and self._conversation.is_own_request(data)
        else:
            is_own = self._conversation.is_own_response(data[4:], size)
        return is_own and self._goes_on(direction, data, 0)

    def lost(self, direction: int, why: str) -> Anomaly | None:
        """Take the loss of a reader's position. Return the anomaly."""
        if direction != self.info.client_direction:
            self._conversation.responses_lost()
        else:
            self._conversation.requests_lost()
        if not why:
            return None
        anomaly = Anomaly(AnomalyKind.SKIPPED_BYTES, why, 0, self.last_ns)
        self.note(anomaly)
        return anomaly

    def mark(self, _direction: int) -> Mark:
        """Return the state of the conversation before a hole."""
        return self._conversation.mark()

    def can_replace(self, direction: int) -> bool:
        """Return whether a frame that was delivered without its end can be replaced: only a request that
        waits.
        """
        return direction == self.info.client_direction

    def wants(self, direction: int, frames: list[Frame], mark: Mark, replaces: bool) -> bool:
        """Return whether frames from holes that began at a mark can take their place yet."""
        if direction == self.info.client_direction:
            return self._conversation.wants_requests(frames, mark, replaces)
        return self._conversation.wants_responses(frames)

    def put_back(self, direction: int, frames: list[Frame], mark: Mark, replaces: bool) -> None:
        """Take frames from holes that began at a mark."""
        if direction == self.info.client_direction:
            self._conversation.put_back_requests(frames, mark, replaces)
        else:
            self._conversation.put_back_responses(frames, mark)

    def retract(self, anomaly: Anomaly) -> None:
        """Retract an anomaly of the connection that proved wrong."""
        self.info.retract(anomaly)

    def is_middle_start(self, direction: int) -> bool:
        """Return whether the beginning of a direction was not captured."""
        return not self._readers[direction].is_open

    def note(self, anomaly: Anomaly) -> None:
        """Note an anomaly of the connection."""
        self.info.note(anomaly)

    def is_foreign(self, direction: int, data: bytes, ref: int, time_ns: int) -> bool:
        """Return whether the first bytes of a direction, which are no frame, are another protocol's. Note the
        protocol.
        """
        info = self.info
        from_client = direction == info.client_direction
        if info.exchanges or (from_client and info.api_versions_seen):
            return False
        protocol = foreign_protocol(data)
        if protocol is None:
            return False
        from kdissect.session.problem import protocol_name  # start-up: seldom needed

        who = "client" if from_client else "broker"
        kind, detail = AnomalyKind.FOREIGN_BYTES, f"the {who} speaks {protocol_name(protocol)}"
        if protocol is ConnectionKind.TLS:
            from kdissect.tls.handshake import alert_in  # a plaintext capture has no TLS

            name = alert_in(data)
            kind, detail = (kind, detail) if name is None else (AnomalyKind.TLS_ALERT, f"server sent {name}")
        self.note(Anomaly(kind, detail, ref, time_ns, direction))
        return True

    def ending(self, how: CloseKind, time_ns: int) -> None:
        """Take the end of a direction: cut bytes need the end that closed it."""
        if self.info.close is None:
            self._note_close(how, time_ns)

    def ended(self, direction: int, how: CloseKind, time_ns: int) -> None:
        """Take the end of one direction."""
        if self.is_over:
            self._finish(how, time_ns)

    # the rest

    def _request_fits(self, data: bytes, offset: int, _at_segment_start: bool) -> Verdict:
        verdict = request_at(data, offset)
        if verdict is Verdict.YES and not self._conversation.request_fits(data, offset):
            return Verdict.NO
        return verdict

    def _response_fits(self, data: bytes, offset: int, at_segment_start: bool) -> Verdict:
        left = len(data) - offset
        if left < 8:
            return Verdict.MORE if left and data[offset] <= MAX_FRAME_SIZE >> 24 else Verdict.NO
        size = int.from_bytes(data[offset : offset + 4], signed=True)
        if not MIN_RESPONSE_SIZE <= size <= MAX_FRAME_SIZE:
            return Verdict.NO
        return Verdict(self._conversation.response_fits(data, offset + 4, size, at_segment_start))

    def _found(self, kind: ConnectionKind, client: int, aligned: bool = False) -> None:
        """Take the kind that the bytes show, or if they show none, the kind that is known of the other
        end.
        """
        detection = self._detection
        if kind is ConnectionKind.UNKNOWN:
            known = self._brokers.client_of(self.info, is_sure=self.tcp.initiator is not None)
            if known is not None:
                is_aligned = aligned and detection is not None and detection.has_response(1 - known)
                self._decide(ConnectionKind.KAFKA, known, is_aligned)
                return
        self._decide(kind, client, aligned)
        if detection is not None and detection.is_proven:
            self._brokers.prove(self.info)

    def _decide(self, kind: ConnectionKind, client: int, aligned: bool = False) -> None:
        """Take the known kind.

        `aligned`: the bytes held back begin where a frame begins, whether the start was seen or not.
        """
        detection = self._detection
        if detection is None:
            return
        self._detection = None
        if kind is ConnectionKind.TLS and self._tls is None:
            self._start_tls(detection)
            return
        info = self.info
        self._tell(kind, client)
        conversation: Conversation | None = None
        if kind is ConnectionKind.KAFKA:
            conversation = self._conversation = Conversation(info, self._events, self.store)
        for reader in self._readers:
            if conversation is not None:
                take = conversation.takes[reader.direction != client]
                reader.start_frames(take, certain=reader.is_open or aligned)
                if not reader.is_open:
                    info.middle_start = True
            else:
                reader.go_opaque()
        if conversation is not None:
            conversation.requests_from = self._readers[client]
            if self._readers[client].is_open and detection.begins_with_token(client):
                conversation.begin_with_tokens()
            detection.replay(self._readers, client)
            self._wait = _FIRST_WAIT

    def _tell(self, kind: ConnectionKind, client: int) -> None:
        """Kind and roles are known to the outside from here on."""
        info = self.info
        if kind is not ConnectionKind.UNKNOWN or info.kind is not ConnectionKind.CUT:
            info.kind = kind
        if client != info.client_direction:
            info.swap_ends()
        info.client_direction = client
        if not self._is_reported:
            self._is_reported = True
            self._events.append(ConnectionOpened(info))

    # TLS

    def _start_tls(self, detection: Detection) -> None:
        """Put TLS between TCP and the readers: what they get from here on is plaintext."""
        from kdissect.tls.tls_connection import TlsConnection  # loading it costs what a small capture takes
        from kdissect.tls.tls_info import TlsInfo

        self.info.kind = ConnectionKind.TLS
        self.info.tls = TlsInfo()
        outer = self._readers
        self._readers = (FrameReader(self, 0), FrameReader(self, 1))
        for reader in self._readers:
            reader.opened()  # without the handshake it cannot be decrypted: plaintext begins at its start
        self._detection = Detection()
        self._tls = TlsConnection(
            self.info.tls, self._readers, self._secrets, self._note_tls, self._go_opaque
        )
        for ciphertext, side in zip(outer, self._tls.sides, strict=True):
            ciphertext.go_through(side)
        detection.replay_in_order(self._tls.sides)

    def _note_tls(self, kind: AnomalyKind, detail: str, ref: int, time_ns: int) -> None:
        self.note(Anomaly(kind, detail, ref, time_ns))

    def _go_opaque(self) -> None:
        """End the plaintext. If it showed no protocol, the connection counts as TLS only."""
        detection, info = self._detection, self.info
        if detection is None:
            if info.kind is ConnectionKind.KAFKA and info.tls is not None:
                self._conversation.go_dark(self.last_ns, f"from here on encrypted: {info.tls.why}")
                for reader in self._readers:
                    reader.go_opaque()
            return
        if detection.has_data:
            return
        self._detection = None
        for reader in self._readers:
            reader.go_opaque()
        client = self._tls.client if self._tls is not None else None
        self._tell(ConnectionKind.TLS, self.info.client_direction if client is None else client)

    def _finish(self, how: CloseKind, time_ns: int) -> None:
        detection = self._detection
        if detection is not None and detection.proxied is not None:
            headers, detection.proxied = detection.proxied, None
            self._judge_pieces(headers.direction, headers.flush())
            detection = self._detection
        if detection is not None and detection.has_data:
            kind, client = detection.conclude(self.info.client_direction)
            self._found(kind, client, aligned=True)
            for reader in self._readers:
                reader.end_frame(how, time_ns)
        info = self.info
        info.end_ns = max(info.start_ns, self.last_ns)
        close = self._note_close(how, time_ns)
        if info.kind is ConnectionKind.KAFKA:
            if self._conversation.waits:
                info.tcp = self._tcp_summary()  # why nothing answered them is judged before the end of TCP
            self._conversation.finish(close)

    def _note_close(self, how: CloseKind, time_ns: int) -> Close:
        """Note and return the end that closed the connection, as far as it is known."""
        self.info.close = close = close_of(self.info, self.tcp.closed_by, how, time_ns)
        return close

    def _times(self) -> TcpTimes:
        client, broker = self.info.client_direction, 1 - self.info.client_direction
        streams = self.tcp.streams
        trips = RoundTrips(part_of(streams[broker].acks), part_of(streams[client].acks))
        one, other = streams[client].odd, streams[broker].odd
        return TcpTimes(
            trips,
            one.delayed_ns + other.delayed_ns,
            one.after_ack + other.after_ack,
            max(one.after_ack_ns, other.after_ack_ns),
        )

    def _tcp_summary(self) -> TcpSummary:
        """Return TCP health up to now."""
        info = self.info
        ends = self.tcp.health
        client, broker = ends[info.client_direction], ends[1 - info.client_direction]
        found = TcpSummary(
            client.packets + broker.packets,
            client.bytes,
            broker.bytes,
            client.retransmissions + broker.retransmissions,
            client.out_of_order + broker.out_of_order,
            client.duplicates + broker.duplicates,
            client.zero_windows + broker.zero_windows,
            client.resets + broker.resets,
            client.gaps + broker.gaps,
            client.gap_bytes + broker.gap_bytes,
            broker.packets,
            client_zero_windows=client.zero_windows,
            bytes_cut_off=client.snapped_bytes + broker.snapped_bytes,
        )
        return found._replace(times=self._times()) if found.packets > 1 else found

    def _summarise(self) -> None:
        info = self.info
        info.tcp = None if info.logged is not None else self._tcp_summary()
        info.tcp_log = None  # first: another thread that adds both must not count them twice
        if self.tcp.anomaly_counts:
            info.count_anomalies(self.tcp.anomaly_counts)
            # its log stores no more than the connection
            info.anomalies = [*info.anomalies, *self.tcp.anomalies]
