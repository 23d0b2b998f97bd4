"""The frames that stay of connections, by the packet in which each begins."""

from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple, Protocol

from kdissect.engine.secrets.patches import Patch
from kdissect.excerpt.edit import NOTHING, Edit, Redaction
from kdissect.model.frame import Frame
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, ExchangeKind

# ApiVersions, SaslHandshake, SaslAuthenticate: org.apache.kafka.common.protocol.ApiKeys
_NEGOTIATION = frozenset({18, 17, 36})
# Exchanges of it at most; GSSAPI takes a handful, a connection that authenticates again and again more.
MAX_NEGOTIATION = 16
# Bytes by which a frame is found in its segment: size, header, the beginning of the body.
MARK_BYTES = 64
_SIZE_BYTES = 4
# Reference of the packet, number of the connection, exchange, bytes of the frame, captured bytes of it, API
# key, version, correlation id, flags, bytes of the mark. The mark follows, then the content over the frame.
_HEAD = Struct("<qIQIIhhiBB")
_REQUEST, _TOKEN, _HAS_API, _HAS_VERSION, _HAS_ID = 1, 2, 4, 8, 16


class FramePlan(NamedTuple):
    """A frame that stays.

    `mark` are its first bytes, size included. `length` is its full length according to the size. Over its
    content go `blanks` (spans to be filled), then `patches`. `edits` then change its length, which `note`
    describes. `known` bytes of it, size included, were captured without a hole. `is_token`: it is a raw SASL
    token.
    """

    first_ref: int
    mark: bytes
    length: int
    patches: tuple[Patch, ...]
    exchange: int
    is_request: bool
    known: int = 0
    blanks: tuple[tuple[int, int], ...] = ()
    edits: tuple[Edit, ...] = ()
    api_key: int | None = None
    api_version: int | None = None
    correlation_id: int | None = None
    is_token: bool = False
    note: str = ""
    connection: int = 0
    """Its number, if plans of many connections are stored together."""

    def packed(self) -> bytes:
        """Pack the plan until its packet comes (native counterpart: native/src/excerpt/plan.rs)."""
        api_key, version, correlation_id = self.api_key, self.api_version, self.correlation_id
        flags = (
            _REQUEST * self.is_request | _TOKEN * self.is_token | _HAS_API * (api_key is not None)
            | _HAS_VERSION * (version is not None) | _HAS_ID * (correlation_id is not None)
        )  # fmt: skip
        head = _HEAD.pack(
            self.first_ref, self.connection, self.exchange, self.length, self.known, api_key or 0,
            version or 0, correlation_id or 0, flags, len(self.mark),
        )  # fmt: skip
        over = self.patches, self.blanks, self.edits, self.note
        return head + self.mark + (_dumped(over) if any(over) else b"")

    @classmethod
    def unpacked(cls, data: bytes) -> "FramePlan":
        """Return a plan that was packed."""
        ref, connection, exchange, length, known, api_key, version, correlation_id, flags, size = (
            _HEAD.unpack_from(data)
        )
        end = _HEAD.size + size
        patches, blanks, edits, note = _loaded(data[end:]) if len(data) > end else ((), (), (), "")
        return cls(
            ref, data[_HEAD.size : end], length, patches, exchange, bool(flags & _REQUEST), known, blanks,
            edits,
            api_key if flags & _HAS_API else None,
            version if flags & _HAS_VERSION else None,
            correlation_id if flags & _HAS_ID else None,
            bool(flags & _TOKEN), note, connection,
        )  # fmt: skip

    def redacted(self, put: Redaction) -> "FramePlan":
        """Return the plan with the content to put over it."""
        if put is NOTHING:
            return self
        return self._replace(
            patches=tuple(put.patches), blanks=tuple(put.blanks), edits=tuple(put.edits), note=put.note
        )

    def noted(self, note: str) -> "FramePlan":
        """Return the plan with a further note for its label."""
        return self._replace(note="; ".join(filter(None, (self.note, note))))

    def label(self, connection: str) -> str:
        """Return a label for people. `connection` is the connection's id."""
        side = "request" if self.is_request else "response"
        what = f"{connection}/{self.exchange}"
        if self.is_token:
            return f"{what} SASL token, {side}" + (f"; {self.note}" if self.note else "")
        name = "of an unknown API"
        if self.api_key is not None:
            name = f"{shown_api(self.api_key)} v{self.api_version}"
        text = f"{what} {name} {side}, correlation id {self.correlation_id}"
        return text + (f"; {self.note}" if self.note else "")


def _dumped(over: Any) -> bytes:
    import pickle  # start-up: without redaction there is no state to dump

    return pickle.dumps(over, pickle.HIGHEST_PROTOCOL)


def _loaded(data: bytes) -> Any:
    import pickle  # start-up

    return pickle.loads(data)


def shown_api(key: int) -> str:
    """Return the name of an API in labels."""
    return api_name(key) or f"API {key}"


class Frames(Protocol):
    """Frames of any connections: a packet belongs to one direction of one connection."""

    def take(self, ref: int) -> list[FramePlan]:
        """Return and remove the frames that begin in a packet, in the order in which they were added."""


class HeldFrames:
    """Frames that are all in memory."""

    def __init__(self) -> None:
        self._held: dict[int, list[FramePlan]] = {}

    def add(self, plan: FramePlan) -> None:
        """Keep a frame."""
        self._held.setdefault(plan.first_ref, []).append(plan)

    def take(self, ref: int) -> list[FramePlan]:
        """Return the frames that begin in a packet."""
        return self._held.pop(ref, [])


class ConnectionPlan(NamedTuple):
    """The part of a connection that stays. `whole`: also bytes in no frame, until the last of the frames.

    `frames` may contain frames of other connections, too. For a `whole` connection `number` is the number of
    frames in each direction.
    """

    connection: str
    frames: Frames
    whole: bool = False
    is_open_end: bool = False
    """Whether everything stays, to the end of the connection."""
    is_tls: bool = False
    """Whether the frames are in the plaintext of TLS."""
    number: tuple[int, int] = (0, 0)


def is_negotiation(exchange: Exchange) -> bool:
    """Return whether an exchange settles versions or the client's identity."""
    return exchange.api_key in _NEGOTIATION or exchange.kind is ExchangeKind.SASL_TOKEN


def latency_note(exchange: Exchange, side: str) -> str:
    """Return the time to the answer, for the label of a response whose request was captured."""
    latency = exchange.latency_ns
    return "" if side == "request" or latency is None else f"latency {latency / 1e6:.3f} ms"


def frame_plan(exchange: Exchange, side: str, frame: Frame, patches: Sequence[Patch] = ()) -> FramePlan:
    """Return the plan to find a frame, with the content to put over it."""
    mark = frame.size.to_bytes(_SIZE_BYTES) + frame.data[:MARK_BYTES]
    return FramePlan(
        frame.first_ref, mark, frame.size + _SIZE_BYTES, tuple(patches), exchange.ordinal, side == "request",
        len(frame.data) + _SIZE_BYTES, (), (), exchange.api_key, exchange.api_version,
        exchange.correlation_id, exchange.kind is ExchangeKind.SASL_TOKEN,
    )  # fmt: skip
