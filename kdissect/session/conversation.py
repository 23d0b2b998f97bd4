"""The conversation of client and broker on one connection: frames in, exchanges out."""

import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, Protocol

from kdissect.decoders import quirks
from kdissect.decoders.bodies import body_fits, response_fits, response_may_begin
from kdissect.decoders.headers import parse_request_header, response_body_offset
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame, LogLineFrame, RequestHeader, is_cut_by_end
from kdissect.model.wording import plural
from kdissect.net.store import Store
from kdissect.schema import protocol_messages
from kdissect.schema.secrets import MASK
from kdissect.session.events import Event
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange, ExchangeKind, State
from kdissect.session.framing import TakeFrame
from kdissect.session.identities import learn_identities
from kdissect.session.info import Close, ConnectionInfo, shared_client_id
from kdissect.session.pairing import Losses, Pairing, PairingState
from kdissect.session.request_kind import (
    API_VERSIONS,
    PRODUCE,
    RequestKind,
    kind_of,
    known_kind,
    request_kind,
)
from kdissect.session.sasl import (
    GSSAPI,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Phase,
    Step,
    after,
    has_succeeded,
    principal_of,
)
from kdissect.session.token_recognition import ends_tokens, is_known_request, may_be_misplaced
from kdissect.session.torn import Mark

# A response whose id is at most this far below the last request's can answer a request from before the
# capture or inside a gap.
ORPHAN_WINDOW = 256
# Kinds of request that a connection remembers. Kafka has 368, hostile requests can name 2^32.
MAX_KINDS = 1000
KINDS_LENT = 64  # of a connection that the native engine takes, while a client uses some 30
# Raw SASL tokens that wait for their answer: a mechanism asks and answers in turn, one waits.
MAX_TOKENS = 64
# When looking for a position: distance from a frame's first byte to the field that identifies it, and the
# number of waiting requests to look for. Brokers answer in order.
_CLIENT_ID_AT = 12
_CORRELATION_ID_AT = 4
PLACES_FOR = 8
_HEADER = struct.Struct(">hhi")
# Behind API key and version: correlation id, length of the client id (spec/004 "Complete Request Format").
_ID_AND_LENGTH_AT = 4
_id_and_length = struct.Struct(">ih").unpack_from
_CLIENT_ID_START = 10
NEVER = -(1 << 63)  # a time before all that captures have, in nanoseconds
_NULL = -1  # the length of a client id that is null
_NO_LENGTH = -2  # none a header can have that is read without looking closer
_AFTER_ID = 4  # a response's header: its correlation id, then tags or nothing
_UNENDING = 1 << 62  # above all ordinals: SASL is in progress
_COMPLETE, _NO_RESPONSE = State.COMPLETE, State.NO_RESPONSE_EXPECTED
_RAW_TOKENS = Phase.RAW_TOKENS
_SASL = frozenset({SASL_HANDSHAKE, SASL_AUTHENTICATE})
# Kinds of request tried for an orphan response, and the least body that can distinguish them.
MAX_INFERENCES = 32
# Bytes of a response without its end that are enough to recognize it: fewer bytes may be anything.
MIN_EVIDENCE = 32
MIN_INFERRED_BODY = 8


class ConversationState(NamedTuple):
    """State of a conversation for the native engine: the ordinal of the next request, client id of the
    request before, its bytes, and their number as it is on the wire, the kinds of request seen, the waiting
    requests, and the time of the last response's last byte, `NEVER` without a response.
    """

    next: int
    client_id: str | None
    client_id_bytes: bytes
    client_id_length: int
    seen: list[tuple[int, int]]
    pairing: PairingState
    answered_ns: int


class Kept(NamedTuple):
    """State that the native engine does not need, and a conversation goes on with: phase and login, orphans,
    `Pairing.losses`.
    """

    phase: Phase
    first_token: bytes
    tokens_sent: int
    rounds: int
    orphans: int
    losses: Losses


class RequestReader(Protocol):
    """The reader of the client's direction (`session.framing.FrameReader`)."""

    @property
    def begun(self) -> bytes:
        """The first bytes of a request that is not whole yet."""


class Conversation:
    """The requests and responses of one Kafka connection."""

    __slots__ = (
        "_answered_ns", "_client_id", "_client_id_bytes", "_client_id_end", "_client_id_length", "_events",
        "_first_token", "_info", "_next", "_orphans", "_pairing", "_phase", "_rounds", "_tokens",
        "_tokens_sent", "requests_from",
    )  # fmt: skip

    def __init__(self, info: ConnectionInfo, events: list[Event], store: Store | None = None) -> None:
        self._info = info
        self._events = events
        self.requests_from: RequestReader | None = None
        """The reader of the client's direction: it knows a request that is not whole yet."""
        self._pairing = Pairing(store)
        self._phase = Phase.REQUESTS
        self._tokens: tuple[Exchange, ...] = ()  # raw SASL frames that wait for their answer
        self._first_token = b""  # of the current login
        self._tokens_sent = 0
        self._rounds = 0  # tokens of it that were answered
        self._next = 0
        self._orphans = 0
        self._answered_ns = NEVER
        # Of the request before: all requests of a connection have the same client id.
        self._client_id: str | None = ""
        self._client_id_bytes = b""
        self._client_id_length = _NO_LENGTH
        self._client_id_end = _CLIENT_ID_START

    # the native engine

    @property
    def is_ordinary(self) -> bool:
        """Whether all frames are requests and responses, of few kinds, without anomalies to note."""
        has_headers = self._phase is not _RAW_TOKENS and not self._tokens
        return has_headers and len(self._info.api_versions_seen) <= KINDS_LENT and self._pairing.is_ordinary

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._pairing)

    def state(self) -> ConversationState:
        """Return the state for the native engine. Call it only if `is_ordinary`."""
        return ConversationState(
            self._next, self._client_id, self._client_id_bytes, self._client_id_length,
            list(self._info.api_versions_seen), self._pairing.state(), self._answered_ns,
        )  # fmt: skip

    @property
    def kept(self) -> Kept:
        """Return the state that the native engine does not need."""
        return Kept(
            self._phase, self._first_token, self._tokens_sent, self._rounds, self._orphans,
            self._pairing.losses,
        )  # fmt: skip

    def take_over(self, state: ConversationState, kept: Kept) -> None:
        """Go on from the native engine's position."""
        (
            self._next, self._client_id, self._client_id_bytes, self._client_id_length, _, pairing,
            self._answered_ns,
        ) = state  # fmt: skip
        self._client_id_end = _CLIENT_ID_START + len(self._client_id_bytes)
        self._phase, self._first_token, self._tokens_sent, self._rounds, self._orphans, losses = kept
        self._pairing.take_over(self._info, pairing, losses)

    # requests

    def begin_with_tokens(self) -> None:
        """Begin with GSSAPI tokens, without a SaslHandshake, as Kafka 0.9 does."""
        self._info.mechanism = GSSAPI
        self._info.sasl_until = _UNENDING
        self._phase = after(self._phase, Step.TOKENS_ALONE)

    def request(self, frame: Frame, doubtful: bool) -> bool:
        """Take a frame from the client. Return False if it is no plausible request and `doubtful` allows that
        result.
        """
        # Hot, once a request: known API, the client id of the request before, a header without tags.
        data = frame.data
        kind = known_kind(data[:4])
        if kind is None or kind.is_unusual or self._phase is _RAW_TOKENS or len(data) < _CLIENT_ID_START:
            return self._unusual_request(frame, doubtful)
        correlation_id, length = _id_and_length(data, _ID_AND_LENGTH_AT)
        offset = self._client_id_end
        if length != self._client_id_length or data[_CLIENT_ID_START:offset] != self._client_id_bytes:
            return self._unusual_request(frame, doubtful)
        tags = kind.tags
        if tags:
            if not data.startswith(tags, offset):
                return self._unusual_request(frame, doubtful)
            offset += len(tags)
        ordinal = self._next
        self._next = ordinal + 1
        exchange = Exchange(
            self._info, ordinal, kind.api_key, kind.api_version, correlation_id, self._client_id,
            frame, offset,
        )  # fmt: skip
        self._take_request(exchange, frame, kind, correlation_id)
        return True

    def _take_request(self, exchange: Exchange, frame: Frame, kind: RequestKind, correlation_id: int) -> None:
        """Add a request with a header, which waits for its response."""
        if kind.pair not in self._info.api_versions_seen:
            self._info.remember(kind.pair, MAX_KINDS)
        if (
            kind.is_produce
            and not kind.unknown
            and not quirks.expects_response(PRODUCE, exchange.request_summary().acks)
        ):
            exchange.state = _NO_RESPONSE
        for done in self._pairing.add(exchange, frame, correlation_id):
            self._emit(done)
        if kind.is_watched and not kind.unknown:
            self._watch_request(exchange)

    def _unusual_request(self, frame: Frame, doubtful: bool) -> bool:
        data = frame.data
        if self._phase is _RAW_TOKENS:
            if not ends_tokens(data, self._info, self._tokens_sent):
                self._token(frame)
                return True
            self._phase = after(self._phase, Step.REQUEST_AFTER_TOKENS)
            self._info.sasl_until = self._next - 1
        kind = request_kind(data)
        unknown = kind and kind.unknown
        if unknown and doubtful:
            return False
        try:
            # The layout after the client id of an unknown version is unknown: read it as if it were cut.
            header = parse_request_header(data, cut=frame.is_cut or unknown is not None)
        except DecodeError as error:
            if doubtful:
                return False
            self._bad_header(frame, error)
            return True
        assert kind is not None, "a header is longer than the fields of its kind"
        exchange = self._exchange(frame, header)
        if unknown:
            exchange.note(
                unknown, f"API key {header.api_key} version {header.api_version} is not in the schema", frame
            )
        self._take_request(exchange, frame, kind, header.correlation_id)
        return True

    def _exchange(self, frame: Frame, header: RequestHeader) -> Exchange:
        key, version, correlation_id, client_id, offset = header
        client_id, raw = shared_client_id(client_id)
        exchange = Exchange(self._info, self._next, key, version, correlation_id, client_id, frame, offset)
        self._next += 1
        info = self._info
        if client_id != info.client_id and may_be_misplaced(exchange):
            exchange.client_id = MASK
            return exchange
        if info.client_id is None:
            info.client_id = client_id
        # Only of a client id that is UTF-8 the text has the bytes back.
        if frame.data[_CLIENT_ID_START : _CLIENT_ID_START + len(raw)] == raw:
            self._client_id_bytes, self._client_id = raw, client_id
            self._client_id_length = _NULL if client_id is None else len(raw)
            self._client_id_end = _CLIENT_ID_START + len(raw)
        return exchange

    def _bad_header(self, frame: Frame, error: DecodeError) -> None:
        exchange = Exchange(self._info, self._next)
        self._next += 1
        exchange.request = frame
        if not frame.is_cut:  # else the end of the header may not have been captured
            exchange.note(AnomalyKind.MALFORMED_HEADER, str(error), frame)
        if len(frame.data) < _HEADER.size:
            self._emit(exchange)
            return
        exchange.api_key, exchange.api_version, exchange.correlation_id = _HEADER.unpack_from(frame.data)
        exchange.request_body_offset = len(frame.data)
        for done in self._pairing.add(exchange, frame, exchange.correlation_id or 0):
            self._emit(done)

    def _token(self, frame: Frame) -> None:
        exchange = Exchange(self._info, self._next)
        self._next += 1
        exchange.kind = ExchangeKind.SASL_TOKEN
        exchange.request = frame
        self._tokens_sent += 1
        self._tokens = (*self._tokens, exchange)
        if len(self._tokens) > MAX_TOKENS:
            oldest, *_ = self._tokens
            self._tokens = self._tokens[1:]
            oldest.note(AnomalyKind.PENDING_LIMIT, f"more than {MAX_TOKENS} SASL tokens without an answer")
            self._emit(oldest)
        self._first_token = self._first_token or frame.data

    def _watch_request(self, exchange: Exchange) -> None:
        """Read ApiVersions and SASL requests, which identify the client and the next frames."""
        try:
            body = exchange.request_body()
        except DecodeError:
            return
        info = self._info
        if exchange.api_key == API_VERSIONS:
            info.software_name = _text(getattr(body, "client_software_name", None)) or info.software_name
            info.software_version = (
                _text(getattr(body, "client_software_version", None)) or info.software_version
            )
            info.line_texts = None
        elif exchange.api_key == SASL_HANDSHAKE:
            info.mechanism = _text(body.mechanism)
            self._first_token = b""
            self._tokens_sent = self._rounds = 0
            info.sasl_until = _UNENDING
            raw = quirks.raw_tokens_follow(SASL_HANDSHAKE, exchange.api_version or 0)
            self._phase = after(self._phase, Step.HANDSHAKE_V0 if raw else Step.HANDSHAKE_V1)
        elif not self._first_token:
            self._first_token = bytes(body.auth_bytes)

    @property
    def takes(self) -> tuple[TakeFrame, TakeFrame]:
        """Return what takes the frames of client and broker."""
        if self._info.logged is not None:
            return self._logged_request, self._logged_response
        return self.request, self.response

    # request logs

    def _logged_request(self, frame: Frame, doubtful: bool) -> bool:
        """Take a request built from the current line of a request log (`ConnectionInfo.logged`)."""
        return self.request(self._of_line(frame), doubtful)

    def _logged_response(self, frame: Frame, doubtful: bool) -> bool | None:
        """Take a response built from the current line of a request log."""
        return self.response(self._of_line(frame), doubtful)

    def _of_line(self, frame: Frame) -> Frame:
        logged = self._info.logged
        return frame if logged is None else LogLineFrame(frame, logged)

    # responses

    def response(self, frame: Frame, doubtful: bool) -> bool | None:
        """Take a frame from the broker.

        If it answers no request and `doubtful` allows that result, return False. Return None if it can be the
        answer to a request that is missing.
        """
        data = frame.data
        if self._tokens and self._token_answer(frame):
            return True
        if len(data) < 4:
            if doubtful:
                return False
            self._orphan(frame, None)
            return True
        correlation_id = int.from_bytes(data[:4], signed=True)
        skipped = self._pairing.skip_first(frame, correlation_id)
        if skipped is not None:
            self._emit(skipped)
        matched, released = self._pairing.match(correlation_id)
        if released:
            for done in released:
                self._emit(done)
        if matched is None:
            if doubtful and not (self._may_be_orphan(correlation_id) and self._answers_any(frame)):
                return False
            self._orphan(frame, correlation_id)
            return None if doubtful else True
        self._answer(matched, frame)
        return True

    def _token_answer(self, frame: Frame) -> bool:
        """Pair a frame with the first token that waits. Return False for the answer to a request after
        tokens.
        """
        if self._are_tokens_over and len(frame.data) >= _AFTER_ID:
            correlation_id = int.from_bytes(frame.data[:_AFTER_ID], signed=True)
            if self._pairing.pending(correlation_id) is not None:
                self._end_tokens()
                return False
        exchange, *_ = self._tokens
        self._tokens = self._tokens[1:]
        self._take_turn(exchange, frame)
        exchange.state = State.COMPLETE
        self._round(frame.data)
        self._emit(exchange)
        return True

    def _take_turn(self, exchange: Exchange, frame: Frame) -> None:
        """Have a response after the one before it on the connection."""
        exchange.response = frame
        if self._answered_ns != NEVER:
            exchange.answered_before_ns = self._answered_ns
        self._answered_ns = frame.end_time_ns

    @property
    def _are_tokens_over(self) -> bool:
        """Whether a server need not answer the waiting tokens: it does not answer GSSAPI's last token."""
        return self._info.mechanism == GSSAPI and self._phase is not _RAW_TOKENS

    def _end_tokens(self) -> None:
        """End the waiting tokens without a response."""
        for exchange in self._tokens:
            exchange.state = _NO_RESPONSE
            self._emit(exchange)
        self._tokens = ()

    def _answer(self, exchange: Exchange, frame: Frame) -> None:
        if exchange.state is _NO_RESPONSE:
            exchange.note(AnomalyKind.UNEXPECTED_RESPONSE, "acks=0 asks for no response", frame)
        exchange.state = _COMPLETE
        self._take_turn(exchange, frame)
        if frame.is_cut:
            exchange.close = self._info.close  # that cut it, if it is over
            if is_cut_by_end(frame):
                exchange.state = State.INCOMPLETE
        key, version = exchange.api_key, exchange.api_version
        assert key is not None, "only requests with a header wait"
        assert version is not None
        kind = kind_of(key, version)
        if kind.unknown:
            # after the correlation id, as tags may or may not follow
            exchange.response_body_offset = _AFTER_ID
        elif frame.data.startswith(kind.response_tags, _AFTER_ID):
            exchange.response_body_offset = _AFTER_ID + len(kind.response_tags)
        else:
            self._find_body(exchange, frame, kind)
        if kind.is_watched:
            self._watch_response(exchange)
        self._emit(exchange)

    def _find_body(self, exchange: Exchange, frame: Frame, kind: RequestKind) -> None:
        """Find the body of a response whose header has tags, or does not fit."""
        try:
            exchange.response_body_offset = response_body_offset(frame.data, *kind.pair)
        except DecodeError as error:
            exchange.response_body_offset = len(frame.data)
            if not frame.is_cut:
                exchange.note(AnomalyKind.MALFORMED_HEADER, str(error), frame)

    def _watch_response(self, exchange: Exchange) -> None:
        version = exchange.api_version or 0
        if exchange.api_key == API_VERSIONS:
            frame = exchange.response
            if frame is not None and version != quirks.response_body_version(
                API_VERSIONS, version, frame.data, exchange.response_body_offset
            ):
                detail = f"ApiVersions v{version} was answered in v0 with UNSUPPORTED_VERSION (KIP-511)"
                exchange.note(AnomalyKind.VERSION_FALLBACK, detail, frame)
            return
        try:
            body = exchange.response_body()
        except DecodeError:
            return
        info, is_handshake = self._info, exchange.api_key == SASL_HANDSHAKE
        if is_handshake != bool(getattr(body, "error_code", 0)):
            return
        self._phase = after(self._phase, Step.HANDSHAKE_REFUSED if is_handshake else Step.AUTHENTICATE_DONE)
        info.sasl_until = exchange.ordinal
        if not is_handshake:
            self._round(bytes(body.auth_bytes))

    def _round(self, server_token: bytes) -> None:
        """Count an answered token. Once it was the last one, the client's claimed identity is confirmed."""
        info = self._info
        self._rounds += 1
        if has_succeeded(info.mechanism, self._rounds, server_token):
            info.principal = principal_of(info.mechanism, self._first_token) or info.principal
            info.line_texts = None
            self._first_token, self._rounds = b"", 0  # it may hold a password

    def _orphan(self, frame: Frame, correlation_id: int | None) -> None:
        exchange = Exchange(self._info, FIRST_ORPHAN_ORDINAL + self._orphans)
        self._orphans += 1
        self._pairing.response_misnamed(self._next - 1)
        exchange.state = State.ORPHAN_RESPONSE
        self._take_turn(exchange, frame)
        exchange.correlation_id = correlation_id
        if correlation_id is None:
            if not frame.is_cut:
                exchange.note(
                    AnomalyKind.MALFORMED_HEADER,
                    f"a response of {plural(frame.size, 'byte')} has no correlation id",
                    frame,
                )
        elif self._pairing.was_answered(correlation_id):
            exchange.note(
                AnomalyKind.DUPLICATE_RESPONSE, f"correlation id {correlation_id} was answered already", frame
            )
        else:
            exchange.note(
                AnomalyKind.ORPHAN_RESPONSE,
                f"no request with correlation id {correlation_id} was seen",
                frame,
            )
            why = self._unreadable_request(correlation_id)
            if why:
                exchange.note(AnomalyKind.UNREADABLE_REQUEST, why, frame)
        exchange.response_body_offset = min(4, len(frame.data))
        self._infer(exchange, frame)
        self._emit(exchange)

    def _unreadable_request(self, correlation_id: int) -> str:
        """Return which request a response of no known request may answer, or an empty text."""
        unreadable = self._pairing.first_unreadable()
        if unreadable is not None:
            return f"it may answer request {unreadable.ordinal}, which does not fit"
        begun = b"" if self.requests_from is None else self.requests_from.begun
        kind = request_kind(begun)
        if kind is None or len(begun) < _HEADER.size:
            return ""
        if kind.unknown or _HEADER.unpack_from(begun)[-1] == correlation_id:
            return f"it may answer request {self._next}, which was not whole then"
        return ""

    def _answers_any(self, frame: Frame) -> bool:
        """Return whether a response, or the captured part of it, fits a kind of request that was seen."""
        kinds = islice(self._info.api_versions_seen, MAX_INFERENCES)
        if not frame.is_cut:
            return any(response_fits(frame.data, *kind) for kind in kinds)
        return len(frame.data) >= MIN_EVIDENCE and any(
            response_may_begin(frame.data, *kind) for kind in kinds
        )

    def _infer(self, exchange: Exchange, frame: Frame) -> None:

        found = only_kind_that_fits(frame, self._info.api_versions_seen)
        if found is not None:
            exchange.api_key, exchange.api_version, exchange.response_body_offset = found
            name = protocol_messages.api_name(found[0])
            detail = f"{name} v{found[1]} is the only request of the connection it answers"
            exchange.note(AnomalyKind.INFERRED_API, detail, frame)

    # resynchronisation

    def responses_lost(self) -> None:
        """Bytes from the broker are missing."""
        self._pairing.responses_lost(self._next - 1)

    def requests_lost(self) -> None:
        """Bytes from the client are missing, in which requests may have been."""
        self._pairing.requests_are_lost = True

    def mark(self) -> Mark:
        """Return the state of the conversation, before a hole."""
        return Mark(self._next, self._orphans, self._pairing.losses.lost_before)

    def wants_requests(self, frames: list[Frame], mark: Mark, replaces: bool) -> bool:
        """Return whether requests from holes after a mark may go before all requests that came since.

        The first may replace one that came without its end.

        False if the response to one of them may have counted as an orphan, or if a request after them is
        done. False, too, if they are about SASL, on which the reading of all later frames depends.
        """
        if not frames and not replaces:
            return True
        if self._orphans != mark.orphans or self._tokens or self._phase is _RAW_TOKENS:
            return False
        is_ordinary = all(int.from_bytes(frame.data[:2]) not in _SASL for frame in frames)
        return is_ordinary and self._pairing.all_wait(range(mark.next, self._next), replaces)

    def put_back_requests(self, frames: list[Frame], mark: Mark, replaces: bool) -> None:
        """Take requests from holes, and the requests after them once more."""
        if not frames and not replaces:
            return
        behind = self._pairing.take_out(mark.next)[replaces:]
        self._next = mark.next
        for frame in [*frames, *behind]:
            self.request(frame, False)

    def wants_responses(self, frames: list[Frame]) -> bool:
        """Return whether answers from holes are those to the first requests that wait."""
        ids = [int.from_bytes(frame.data[:4], signed=True) for frame in frames]
        is_whole = all(len(frame.data) >= 4 for frame in frames)
        return is_whole and not self._tokens and ids == self._pairing.first_ids(len(ids))

    def put_back_responses(self, frames: list[Frame], mark: Mark) -> None:
        """Take answers from holes, and forget the holes."""
        self._pairing.responses_lost(mark.lost_before)
        for frame in frames:
            self.response(frame, False)

    @property
    def has_tokens(self) -> bool:
        """Whether frames can be bare SASL tokens: those begin with anything."""
        return self._phase is _RAW_TOKENS or bool(self._tokens)

    request_fits = staticmethod(is_known_request)

    def is_own_request(self, data: bytes) -> bool:
        """Return whether the plausible request that `data` begins with (its size) is beyond doubt of this
        client.
        """
        client_id = (self._info.client_id or "").encode("utf-8", "replace")
        mark = len(client_id).to_bytes(2) + client_id
        return bool(client_id) and data.startswith(mark, _CLIENT_ID_AT) and is_known_request(data, 0)

    def request_places(self, data: bytes) -> Iterator[int]:
        """Yield offsets in `data` at which a request of this connection's client id may begin."""
        client_id = (self._info.client_id or "").encode("utf-8", "replace")
        if client_id:
            mark = len(client_id).to_bytes(2) + client_id
            yield from _candidates(data, mark, _CLIENT_ID_AT)

    def response_fits(self, data: bytes, content: int, size: int, at_segment_start: bool) -> bool:
        """Return whether a frame of `size` bytes whose content begins at `content` can be an answer."""
        correlation_id = int.from_bytes(data[content : content + 4], signed=True)
        waiting = self._pairing.pending(correlation_id)
        if waiting is None:
            return at_segment_start and self._may_be_orphan(correlation_id)
        if waiting.api_key is None or waiting.api_version is None:
            return False
        stop = content + size
        if at_segment_start and (stop == len(data) or kind_of(waiting.api_key, waiting.api_version).unknown):
            return True
        if stop > len(data):
            is_short = len(data) - content < MIN_EVIDENCE
            return at_segment_start and (is_short or _may_begin(data[content:], waiting))
        return response_fits(data[content:stop], waiting.api_key, waiting.api_version)

    def is_own_response(self, data: bytes, size: int) -> bool:
        """Return whether a frame of `size` bytes is beyond doubt an answer to a request that waits.

        `data` are its content, or a part of that, and what follows.
        """
        waiting = self._pairing.pending(int.from_bytes(data[:4], signed=True))
        if waiting is None or waiting.api_key is None or waiting.api_version is None:
            return False
        if size <= len(data):
            return response_fits(data[:size], waiting.api_key, waiting.api_version)
        return len(data) >= MIN_EVIDENCE and _may_begin(data, waiting)

    def response_places(self, data: bytes) -> Iterator[int]:
        """Yield offsets in `data` at which an answer to one of the first waiting requests may begin."""
        for correlation_id in self._pairing.first_ids(PLACES_FOR):
            yield from _candidates(data, correlation_id.to_bytes(4, signed=True), _CORRELATION_ID_AT)

    def _may_be_orphan(self, correlation_id: int) -> bool:
        """Return whether an answer under an id without a waiting request can belong to a missing request."""
        if not (self._info.middle_start or self._pairing.requests_are_lost):
            return False
        last = self._pairing.last_correlation_id
        is_near = last is not None and last - ORPHAN_WINDOW <= correlation_id <= last
        return is_near and not self._pairing.was_answered(correlation_id)

    # the end

    def go_dark(self, time_ns: int, why: str) -> None:
        """Mark all further bytes as unreadable: it is unknown whether the waiting requests were answered."""
        self._info.note(Anomaly(AnomalyKind.SKIPPED_BYTES, why, 0, time_ns))
        for exchange in [*self._tokens, *self._pairing.drain()]:
            exchange.note(AnomalyKind.GAP, f"the response may be among bytes that were not read: {why}")
            self._emit(exchange)
        self._tokens = ()

    @property
    def waits(self) -> bool:
        """Whether requests have no answer so far."""
        return len(self._pairing) > 0

    def finish(self, close: Close) -> None:
        """End the connection: the waiting requests are unanswered, or expected no answer."""
        if self._are_tokens_over:
            self._end_tokens()
        for exchange in [*self._tokens, *self._pairing.drain()]:
            exchange.close = close
            self._emit(exchange)
        self._tokens = ()
        self.requests_from = None  # no cycle remains

    def _emit(self, exchange: Exchange) -> None:
        self._info.count(exchange.state)
        learn_identities(exchange)
        self._events.append(exchange)


def _may_begin(content: bytes, waiting: Exchange) -> bool:
    key, version = waiting.api_key, waiting.api_version
    return key is not None and version is not None and response_may_begin(content, key, version)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _candidates(data: bytes, mark: bytes, distance: int) -> Iterator[int]:
    """Yield offsets at which a frame may begin: those from which it is `distance` bytes to a `mark`."""
    at = data.find(mark, distance)
    while at >= 0:
        yield at - distance
        at = data.find(mark, at + 1)


# Which request a response answers when the request was not captured.
def only_kind_that_fits(frame: Frame, seen: Iterable[tuple[int, int]]) -> tuple[int, int, int] | None:
    """Return API key, version and offset of the body, if exactly one kind of request `seen` explains all
    bytes.
    """
    if frame.is_cut or frame.size < 4 + MIN_INFERRED_BODY:
        return None
    fitting = []
    for key, version in islice(seen, MAX_INFERENCES):
        try:
            offset = response_body_offset(frame.data, key, version)
        except DecodeError:
            continue
        if body_fits(frame.data, offset, key, version):
            fitting.append((key, version, offset))
    return fitting[0] if len(fitting) == 1 else None
