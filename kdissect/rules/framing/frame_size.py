"""Rules: the size in front of a frame, and what must follow it."""

from collections.abc import Iterator

from kdissect.decoders.bodies import request_fits, response_fits
from kdissect.decoders.frame_start import SIZE_PREFIX
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.packets.stream import CloseKind
from kdissect.model.wording import plural
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ConnectionRule, ExchangeRule, UndecodableRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.rules.views.doubt import has_no_header
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange, ExchangeKind

_REQUEST_MOST = 100 << 20  # socket.request.max.bytes (SocketServerConfigs)
_SASL_MOST = 512 << 10  # sasl.server.max.receive.size (BrokerSecurityConfigs)
_SASL_APIS = (17, 36)  # SaslHandshake, SaslAuthenticate
# header v0: key, version and correlation id in a request, correlation id in a response
_MIN_REQUEST, _MIN_RESPONSE = 8, 4
_TOO_LARGE = {SIZE_PREFIX: "the size counts its own 4 bytes", 1: "the size is 1 too large"}


class BadFrameSize(ConnectionRule):
    """A frame's size must not be negative, nor beyond any Kafka message.

    The int32 before each frame says how many bytes follow. A negative size, or one of 256 MiB and more, is
    no frame: brokers close the connection, clients lose their place in the stream. Silent where bytes were
    missing before, for then the four bytes may be something else, and after a frame that does not fit, which
    has its own finding.

    Example: `ff ff ff fe` where a size belongs.

    What to do: look at the frame before it. Its size is often what is wrong.
    """

    code = "FRM001"
    name = "bad-frame-size"
    cites = ("spec/004 Size Validation", "org.apache.kafka.common.network.NetworkReceive#readFrom")
    needs_start = True

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """Yield the first bad size of the connection, because later sizes are guesswork."""
        kinds = [a.kind for a in view.info.anomalies]
        if view.info.tcp is not None and view.info.tcp.gaps:
            return
        if AnomalyKind.BAD_FRAME_SIZE in kinds:
            anomaly = view.info.anomalies[kinds.index(AnomalyKind.BAD_FRAME_SIZE)]
            who = Who.CLIENT if anomaly.direction == view.info.client_direction else Who.BROKER
            doubt = view.doubt
            if doubt is not None and doubt.explains_size(anomaly, view.direction_of(doubt.who)):
                return  # the frame before has its own finding
            yield Violation("a size from 0 to 268435455", anomaly.detail, who=who)


class RequestTooLarge(ExchangeRule):
    """A request should not exceed socket.request.max.bytes, by default 100 MiB.

    A broker closes the connection when the size before a request exceeds its limit, without an answer. The
    limit is the broker's configuration, so this is a warning. Responses have no such limit.

    Example: a Produce request with a size of 120,000,000.

    What to do: lower `max.request.size` of the producer, or raise the broker's limit.
    """

    code = "FRM002"
    name = "request-too-large"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    overrides = ("FRM003",)
    cites = (
        "spec/004 Size Constraints",
        "spec/000 Network",
        "org.apache.kafka.network.SocketServerConfigs#SOCKET_REQUEST_MAX_BYTES_CONFIG",
    )
    guard = ExchangeFact.LARGE

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the size of the request's frame."""
        if exchange.request is not None and exchange.request.size > _REQUEST_MOST:
            yield Violation(
                f"at most {_REQUEST_MOST} bytes", plural(exchange.request.size, "byte"), start=0, end=0
            )


class SaslFrameTooLarge(ExchangeRule):
    """A SASL frame should not exceed sasl.server.max.receive.size, by default 512 KiB.

    Before a client is authenticated, brokers since 2.8.2 take only small frames, so that strangers cannot
    make them allocate memory. The limit is configurable, and older brokers have none.

    Example: a SaslAuthenticate request of 600,000 bytes.

    What to do: shorten the token, or raise the broker's limit.
    """

    code = "FRM003"
    name = "sasl-frame-too-large"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#authenticate",)
    guard = ExchangeFact.LARGE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """SASL, with a header or without."""
        return api_key is None or api_key in _SASL_APIS

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the size of handshakes and tokens."""
        request = exchange.request
        if request is None or (
            exchange.kind is not ExchangeKind.SASL_TOKEN and exchange.api_key not in _SASL_APIS
        ):
            return
        if request.size > _SASL_MOST:
            yield Violation(f"at most {_SASL_MOST} bytes", plural(request.size, "byte"), start=0, end=0)


class FrameTooShort(ExchangeRule):
    """A frame must hold at least the smallest header.

    A request begins with API key, version and correlation id (8 bytes), a response with a correlation id (4
    bytes). Raw SASL tokens are exempt: they may be empty. spec/004 gives 4 bytes for both. Shipped Kafka
    needs 8 for requests.

    Example: a request of 3 bytes.

    What to do: check where the size is computed. It counts the bytes after itself.
    """

    code = "FRM004"
    name = "frame-too-short"
    cites = ("spec/004 Size Constraints", "org.apache.kafka.common.requests.RequestHeader#parse")
    needs_start = True
    needs_whole = True
    overrides = ("HDR001",)
    misleads = True
    guard = ExchangeFact.SHORT

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield sizes of both frames."""
        if exchange.kind is ExchangeKind.SASL_TOKEN:
            return
        for side, frame, least in (
            (REQUEST, exchange.request, _MIN_REQUEST),
            (RESPONSE, exchange.response, _MIN_RESPONSE),
        ):
            if frame is not None and frame.size < least:
                yield Violation(
                    f"at least {plural(least, 'byte')}",
                    plural(frame.size, "byte"),
                    side=side,
                    start=0,
                    end=frame.size,
                )


class FrameCutByClose(ConnectionRule):
    """A connection must not be closed inside a frame.

    The end that sent the frame closed before the frame was complete, and no byte is missing from the
    capture: the receiver waits for bytes that never come, and drops what it has. Silent after a frame that
    does not fit, which has its own finding: it is not certain that a frame begins there.

    Example: a size of 200, 90 bytes, FIN.

    What to do: find out why the sender gave up: a crash, a timeout while sending, a size that is too large.
    A size that counts itself makes the receiver wait for 4 bytes too many, one that is off by one for 1.
    """

    code = "FRM005"
    name = "frame-cut-by-close"
    severity = Severity.WARNING
    cites = ("spec/004 Malformed Request Detection",)
    needs_start = True
    needs_whole = True

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """Yield the last frame, if it was cut by its own sender."""
        close = view.info.close
        if view.cut is None or close is None or close.how not in (CloseKind.FIN, CloseKind.RST):
            return
        exchange, side = view.cut
        frame = exchange.request if side == REQUEST else exchange.response
        sender = Who.CLIENT if side == REQUEST else Who.BROKER
        if frame is None or close.by != sender or _is_misread(view, exchange, sender):
            return
        api = protocol_messages.api_name(exchange.api_key) if exchange.api_key is not None else None
        held = f"{len(frame.data)} of {plural(frame.size, 'byte')}"
        what = f"{held} of {api or 'a'} {side} {exchange.ordinal}, then {close.how}"
        why = _TOO_LARGE.get(frame.size - len(frame.data))
        if why is not None and _is_whole(exchange, side):
            what += f"; it is whole: {why}"
        yield Violation("a whole frame before the connection ends", what, who=sender)


def _is_misread(view: ConnectionView, exchange: Exchange, sender: Who) -> bool:
    """Return whether the frame may begin elsewhere, which another finding reports: its header names an API or
    version that the schema does not know, or the frame before it is wrong.
    """
    doubt = view.doubt
    if sender is Who.CLIENT and has_no_header(exchange):
        return True
    return doubt is not None and doubt.is_open and doubt.who is sender and doubt.ordinal != exchange.ordinal


def _is_whole(exchange: Exchange, side: str) -> bool:
    """Return whether what came of a frame is one to its last byte."""
    frame = exchange.request if side == REQUEST else exchange.response
    key, version = exchange.api_key, exchange.api_version
    if frame is None or key is None or version is None:
        return False
    if side == REQUEST:
        return request_fits(frame.data, exchange.request_body_offset, key, version)
    return response_fits(frame.data, key, version)


class SizeCountsItself(UndecodableRule):
    """A frame's size must not count itself.

    The int32 before each frame says how many bytes follow it. Here the body is whole, and the 4 bytes behind
    it are the size of the next frame. From here on the receiver reads frames at wrong positions.

    Example: a size of 34 before a request of 30 bytes.

    What to do: write the length of header and body.
    """

    code = "FRM007"
    name = "size-counts-itself"
    cites = (
        "spec/000 Common Request and Response Structure",
        "org.apache.kafka.common.network.NetworkReceive#readFrom",
    )
    kinds = frozenset({FaultKind.LEFT_OVER})
    needs_whole = False  # the body fits, but the bytes after it may be skipped because they are not a frame

    def check(self, body: Body, error: DecodeError) -> Iterator[Violation]:
        """Yield four bytes after the body that are a size."""
        end = len(body.data)
        following = int.from_bytes(body.data[body.end :], signed=True)
        least = _MIN_REQUEST if body.side == REQUEST else _MIN_RESPONSE
        if end - body.end == SIZE_PREFIX and least <= following <= _REQUEST_MOST:
            yield Violation(
                f"a size of {body.end}",
                f"{end}, 4 more: the size of the next frame follows the body, {following}",
                start=body.end, end=end, side=body.side,
            )  # fmt: skip


class SizeOffByOne(ConnectionRule):
    """A frame's size must not be off by one.

    The int32 before each frame says how many bytes follow it. Here one byte follows the body, or the
    body lacks its last one, and what follows is no frame. With that byte moved to where it belongs the body
    is whole, and a frame begins after it. From here on the receiver reads one byte off: it waits for a
    large frame that never comes, or closes the connection.

    Example: a size of 31 before a request of 30 bytes.

    What to do: write the length of header and body. Look at optional bytes, such as the tag section of a
    header, that are counted and not written, or written and not counted.
    """

    code = "FRM008"
    name = "size-off-by-one"
    cites = (
        "spec/000 Common Request and Response Structure",
        "org.apache.kafka.common.network.NetworkReceive#readFrom",
    )
    needs = "the connection without a hole"
    needs_start = True

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """Yield the first such frame, because later frames are read from wrong positions."""
        found, tcp = view.misplaced_end, view.info.tcp
        if found is None or not found.stated or (tcp is not None and tcp.gaps):
            return
        yield Violation("the length of header and body", found.stated, who=found.who)
