"""One exchange: a request, its response, and what became of them."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kdissect.decoders.bodies import (
    decode_both,
    decode_request_body,
    decode_response_body,
    request_summarizer,
    response_summarizer,
)
from kdissect.decoders.generated.summary import Summary
from kdissect.decoders.metadata_log import FETCHES, may_fetch_metadata_log
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.frame import Frame, FrameRow, frame_of_row
from kdissect.schema import protocol_messages
from kdissect.schema.secrets import is_secretive
from kdissect.session.info import Close, ConnectionInfo

if TYPE_CHECKING:
    from kdissect.decoders.decoded import Decoded
    from kdissect.model.packets.logged import Logged, Phases

# Orphan responses are numbered from here, so that they sort after every request of their connection.
FIRST_ORPHAN_ORDINAL = 1_000_000_000


def exchange_text(ordinal: int) -> str:
    """Return an exchange by its ordinal in the connection, for people."""
    is_orphan = ordinal >= FIRST_ORPHAN_ORDINAL
    return f"orphan response {ordinal - FIRST_ORPHAN_ORDINAL}" if is_orphan else f"exchange {ordinal}"


NO_SUMMARY = Summary((), (), (), None, True)


Bodies = tuple["Decoded | None", "Decoded | None"]


class DelayOfSide(NamedTuple):
    """A delay: until bytes came again, all later bytes of their sender had to wait."""

    is_by_client: bool
    from_ns: int
    until_ns: int


class State(StrEnum):
    """Result of a request."""

    COMPLETE = "complete"
    NO_RESPONSE_EXPECTED = "no_response_expected"
    UNANSWERED = "unanswered"
    INCOMPLETE = "incomplete"  # the stream ended inside the response
    ORPHAN_RESPONSE = "orphan_response"


class ExchangeKind(StrEnum):
    """Kind of an exchange's frames."""

    KAFKA = "kafka"
    SASL_TOKEN = "sasl_token"  # a raw frame after SaslHandshake v0 (KIP-43): it has no header


# A module's own names are found faster than an enum's members, once an exchange.
_KAFKA, _UNANSWERED = ExchangeKind.KAFKA, State.UNANSWERED
_COMPLETE, _NO_RESPONSE = State.COMPLETE, State.NO_RESPONSE_EXPECTED


class Exchange:
    """A request paired with its response by the correlation id of the header, before any body is decoded.

    `ordinal` numbers the requests of a connection in stream order from 0. `api_key`, `api_version` and
    `correlation_id` are None if the wire does not show them: SASL tokens, malformed headers, orphan responses
    that could not be inferred. `response_version` differs from `api_version` only for an ApiVersions answer
    that fell back to v0 (KIP-511). `close` is the end of the connection if the request still waited then, or
    expected no answer, or if the end cut its answer. `answered_before_ns` is the time of the previous
    response's last byte on the connection. `client_trip_ns` and `broker_trip_ns` are the shortest paths from
    the capture to either end and back by then, None if the acknowledgments do not show them
    (`net.streams.round_trips`). `delays` are the delays by retransmissions since the exchange before.
    """

    __slots__ = (
        "anomalies",
        "answered_before_ns",
        "api_key",
        "api_version",
        "batches_cache",
        "bodies_cache",
        "broker_trip_ns",
        "client_id",
        "client_trip_ns",
        "close",
        "connection",
        "correlation_id",
        "delays",
        "kind",
        "ordinal",
        "request",
        "request_body_offset",
        "request_summary_cache",
        "response",
        "response_body_offset",
        "state",
    )

    def __init__(
        self,
        connection: ConnectionInfo,
        ordinal: int,
        api_key: int | None = None,
        api_version: int | None = None,
        correlation_id: int | None = None,
        client_id: str | None = None,
        request: Frame | None = None,
        request_body_offset: int = 0,
    ) -> None:
        self.connection = connection
        self.ordinal = ordinal
        self.kind = _KAFKA
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.state = _UNANSWERED
        self.request = request
        self.request_body_offset = request_body_offset
        self.request_summary_cache: Summary | None = None  # asked for when pairing and again when printing
        self.response: Frame | None = None
        self.response_body_offset = 0
        self.bodies_cache: Bodies | None = None  # several readers use them while an exchange is judged
        self.close: Close | None = None
        self.anomalies: list[Anomaly] | None = None  # None instead of []: most exchanges have none
        self.batches_cache: Any = None  # of `engine.record_sets`: histories and rules ask for the same
        self.answered_before_ns: int | None = None
        self.client_trip_ns: int | None = None
        self.broker_trip_ns: int | None = None
        self.delays: Sequence[DelayOfSide] = ()

    @classmethod
    def of_row(
        cls,
        connection: ConnectionInfo,
        ordinal: int,
        api_key: int,
        api_version: int,
        correlation_id: int,
        client_id: str | None,
        request: FrameRow,
        request_body_offset: int,
        response: FrameRow | None,
        response_body_offset: int,
        times: tuple[int | None, int | None, int | None],
        lines: tuple[bytes, bytes | None] | None = None,
    ) -> Self:
        """Make an exchange that the native engine paired, or stored without a response.

        `times` are `answered_before_ns`, `client_trip_ns` and `broker_trip_ns`. `lines` are comments of the
        request log line that each frame was built from.
        """
        # Hot, once an exchange.
        self = cls(
            connection, ordinal, api_key, api_version, correlation_id, client_id, Frame(*request),
            request_body_offset,
        )  # fmt: skip
        if response is None:
            self.state = _NO_RESPONSE
        else:
            self.state = _COMPLETE
            self.response, self.response_body_offset = Frame(*response), response_body_offset
        self.answered_before_ns, self.client_trip_ns, self.broker_trip_ns = times
        if lines is not None:
            self.request = frame_of_row(request, lines[0])
            self.response = None if response is None else frame_of_row(response, lines[1])
        return self

    def __repr__(self) -> str:
        what = f"key={self.api_key} v{self.api_version} {self.state}"
        return f"Exchange({self.connection.id}/{self.ordinal} {what})"

    def note(self, kind: AnomalyKind, detail: str, frame: Frame | None = None) -> None:
        """Attach an anomaly, located at the first packet of `frame`."""
        anomaly = Anomaly(kind, detail, frame.first_ref, frame.time_ns) if frame else Anomaly(kind, detail)
        if self.anomalies is None:
            self.anomalies = []
        self.anomalies.append(anomaly)

    @property
    def is_unknown(self) -> bool:
        """Whether the schema does not know the API or the version."""
        api = None if self.api_key is None else protocol_messages.api(self.api_key)
        return api is None or self.api_version not in api.versions

    @property
    def is_near_secrets(self) -> bool:
        """Whether its frames may hold secrets: by its API, because their kind is unknown, because SASL was
        not over, or because they are of the metadata log.
        """
        return self.is_near_logins or self.is_of_metadata

    @property
    def is_near_logins(self) -> bool:
        """Whether its frames may hold secrets for another reason than the metadata log."""
        is_login = self.ordinal <= self.connection.sasl_until or is_secretive(self.api_key)
        return is_login or self._has_no_header()

    def _has_no_header(self) -> bool:
        """Return whether the request's header does not fit, so that its API is a guess."""
        request, offset = self.request, self.request_body_offset
        if request is None or offset < len(request.data):
            return False
        return offset > len(request.data) or self.client_id is None

    @property
    def is_of_metadata(self) -> bool:
        """Whether it fetches the metadata log, as its decoded topics say, or may fetch it
        (`decoders.metadata_log`).
        """
        return self.api_key in FETCHES and may_fetch_metadata_log(self._summaries())

    def _summaries(self) -> Iterator[tuple[bytes, Summary]]:
        """Yield the captured frames with the summaries of their bodies, empty if a header does not fit."""
        if self.request is not None:
            yield self.request.data, self.request_summary() if self.request_body_offset else NO_SUMMARY
        if self.response is not None:
            yield self.response.data, self.response_summary() if self.response_body_offset else NO_SUMMARY

    def all_anomalies(self) -> list[Anomaly]:
        """Return the anomalies of the exchange and its two frames."""
        found = list(self.anomalies or ())
        for frame in (self.request, self.response):
            if frame is not None and frame.anomalies:
                found += frame.anomalies
        return found

    @property
    def latency_ns(self) -> int | None:
        """First byte of the response minus last byte of the request, in nanoseconds; None without both."""
        if self.request is None or self.response is None:
            return None
        return self.response.time_ns - self.request.end_time_ns

    @property
    def logged(self) -> "Logged | None":
        """The line of a broker's request log that the exchange was built from; None without such a log."""
        frame = self.request or self.response
        return None if frame is None else frame.logged

    @property
    def log_line(self) -> "Logged | None":
        """The line that a broker's request log has of the exchange, which may have been captured, too."""
        frame = self.response or self.request
        return None if frame is None else frame.line or frame.logged

    @property
    def phases(self) -> "Phases | None":
        """The times of an exchange that was built from a broker's request log; None for any other one."""
        logged = self.logged
        return None if logged is None else logged.phases

    @property
    def in_line_ns(self) -> int:
        """Nanoseconds from the last byte of the request until that of the response before on the connection.

        Responses come in the order of their requests (spec/000 Network), so that time before it is not the
        broker's time for this exchange. 0 if no earlier request was open, and without both frames.
        """
        before_ns, request, response = self.answered_before_ns, self.request, self.response
        if before_ns is None or request is None or response is None:
            return 0
        return max(0, min(before_ns, response.time_ns) - request.end_time_ns)

    @property
    def given_up_ns(self) -> int | None:
        """Nanoseconds that the client waited after its request until it ended the connection, or None if it
        did not end it.
        """
        close, request = self.close, self.request
        if close is None or close.by != "client" or request is None:
            return None
        return close.time_ns - request.end_time_ns

    @property
    def rtt_ns(self) -> int | None:
        """Nanoseconds from client to broker and back, or None if a part is not known."""
        client_ns, broker_ns = self.client_trip_ns, self.broker_trip_ns
        return None if client_ns is None or broker_ns is None else client_ns + broker_ns

    @property
    def delay_ns(self) -> int | None:
        """Time for which retransmissions delayed the exchange, from its first byte to its last, or None
        without both frames.
        """
        request, response = self.request, self.response
        if request is None or response is None:
            return None
        return self.delay_within(request.time_ns, response.end_time_ns) if self.delays else 0

    def delay_within(self, from_ns: int, until_ns: int) -> int:
        """Return how much of a time span was taken by retransmissions that concern the exchange."""
        ends = [None if frame is None else frame.end_time_ns for frame in (self.request, self.response)]
        found = [
            (max(delay.from_ns, from_ns), min(delay.until_ns, until_ns))
            for delay in self.delays
            # what was sent before the lost bytes did not wait for them
            if (end_ns := ends[not delay.is_by_client]) is not None and end_ns >= delay.from_ns
        ]
        total, reached = 0, from_ns
        for start_ns, stop_ns in sorted(found):
            total += max(0, stop_ns - max(start_ns, reached))
            reached = max(reached, stop_ns)
        return total

    def request_body(self) -> Any:
        """Return the decoded request body (`kdissect.decoders.generated.values`).

        Raises DecodeError if the bytes do not fit.
        """
        if self.request is None or self.api_key is None or self.api_version is None:
            return None
        return decode_request_body(
            self.request.data, self.request_body_offset, self.api_key, self.api_version
        )

    def response_body(self) -> Any:
        """Return the decoded response body. Raises DecodeError if the bytes do not fit."""
        if self.response is None or self.api_key is None or self.api_version is None:
            return None
        return decode_response_body(
            self.response.data, self.response_body_offset, self.api_key, self.api_version
        )

    def bodies(self) -> Bodies:
        """Return the bodies of request and response, whether they fit or not, decoded once until
        `forget_bodies`.

        None if there is no body, if bytes of it are missing, or if the schema does not know it.
        """
        found = self.bodies_cache
        if found is None:
            key, version = self.api_key, self.api_version
            if key is None or version is None:
                return None, None
            found = self.bodies_cache = decode_both(
                self.request, self.request_body_offset, self.response, self.response_body_offset, key, version
            )
        return found

    def forget_bodies(self) -> None:
        """Free the values that `bodies` and `engine.record_sets` cache: values take several times the memory
        of bytes.
        """
        self.bodies_cache = None
        self.batches_cache = None

    def request_summary(self, is_listed: bool = False) -> Summary:
        """Return topics and acks of the request, as far as the captured bytes go. Raises nothing.

        `is_listed`: with groups and rack, for a line of the list.
        """
        summary = None if is_listed else self.request_summary_cache
        if summary is None:
            key, version = self.api_key, self.api_version
            if self.request is None or key is None or version is None:
                return NO_SUMMARY
            summarize = request_summarizer(key, version, is_listed)
            summary = summarize(self.request.data, self.request_body_offset)
            if not is_listed:
                self.request_summary_cache = summary
        return summary

    def response_summary(self, is_listed: bool = False) -> Summary:
        """Return error codes and topics of the response, as far as the captured bytes go. Raises nothing.

        `is_listed`: with groups and throttle time, for a line of the list.
        """
        key, version = self.api_key, self.api_version
        if self.response is None or key is None or version is None:
            return NO_SUMMARY
        return response_summarizer(key, version, is_listed)(self.response.data, self.response_body_offset)
