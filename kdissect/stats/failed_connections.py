"""The reasons why connections failed, as in `connections --problems`: one row for each."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.times import rfc3339
from kdissect.history.connections.connection_problems import ANNOUNCING, ConnectionProblem, ConnectionProblems
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Reason
from kdissect.stats.refusals import REFUSING_APIS, Refusals


class Diagnosis:
    """Diagnosis of connections. `add` takes events, `finish` ends them. Each returns the connections that
    failed.

    A connection is reported once, when it is over, or at the end of the input if its end is not known to
    speak Kafka before.
    """

    def __init__(self) -> None:
        self._problems = ConnectionProblems()
        self._refusals = Refusals()

    def add(self, event: Event, is_wanted: bool = True) -> list[ConnectionProblem]:
        """Take the analyzer's next event; `is_wanted`: of a connection that ends, whether to report it."""
        info = event.connection
        if info.same_as is not None:
            return []
        if isinstance(event, Exchange):
            # Hot, once an exchange: nearly all have no fact to learn.
            if event.api_key in ANNOUNCING:
                self._problems.feed(ExchangeView(event))
            elif event.api_key in REFUSING_APIS:
                self._refusals.add(event)
            return []
        event = self._refusals.add(event)
        if isinstance(event, ConnectionClosed):
            if not is_wanted:
                self._problems.forget(info)
                event = event._replace(problem=None)
            return self._problems.close(event)
        return []

    def finish(self) -> list[ConnectionProblem]:
        """End the input."""
        return self._problems.finish()


REASONS = {
    Reason.REFUSED: "the SYN was answered with RST: no process listened there then",
    Reason.NO_ANSWER: "the client sent its SYN again, and received no answer",
    Reason.PROBE: "the client connected and closed, as health checks do: no byte but a PROXY header came",
    Reason.CLOSED_AT_ONCE: "the broker closed before it answered anything but ApiVersions and SASL",
    Reason.PROXY_REFUSED: "the broker closed after a PROXY header, without a byte or with a TLS alert",
    Reason.UNANSWERED: "the client closed, and the broker had not sent a byte",
    Reason.HTTP: "the client speaks HTTP, where Kafka is spoken",
    Reason.TLS_TO_PLAINTEXT: "the client speaks TLS, and the broker closed without a byte",
    Reason.PLAINTEXT_TO_TLS: "the client speaks plaintext, and the broker answers with a TLS alert",
    Reason.FOREIGN_ANSWER: "the client speaks Kafka, and the answer is another protocol's",
    Reason.TLS_REFUSED: "one end ended the TLS handshake with an alert, or the broker without one",
    Reason.TLS_LEFT: "the client closed within the TLS handshake without an alert: it may have stopped",
    Reason.CERTIFICATE_NAME: "the client did, and the certificate does not name the address it asked for",
    Reason.CERTIFICATE_EXPIRED: "one end did, and the other end's certificate is not valid at that time",
    Reason.MECHANISM_REFUSED: "the broker does not have the SASL mechanism",
    Reason.LOGIN_REFUSED: "the broker refused the login",
    Reason.WRONG_CLUSTER: "the client expects another cluster or node there, and the broker refused it",
    Reason.ADVERTISED_UNREACHED: "refused or no answer, at an address that a broker named to the client",
    Reason.ADVERTISED_UNTRIED: "the client received addresses again and again, and did not try any of them",
}

PROBLEM_FIELDS = (
    RowField("number", "int64", "1-based number of the row in this output, for presentation only"),
    RowField("connection", "string", "identity of the connection: 16 hex digits"),
    RowField("capture_set", "string", "the set of files the connection was captured in"),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of who was connected to"),
    RowField("client_id", "string", "client id of the first request that has one"),
    RowField("start", "string", "time of the first packet, RFC 3339 with nanoseconds"),
    RowField("start_ns", "int64", "this time in nanoseconds since 1970 UTC"),
    RowField("duration_ns", "int64", "from the first packet to the close, or to the last packet"),
    RowField("reason", "string", "why it failed: one of the reasons below"),
    RowField("kafka", "bool", "whether the end connected to is known to speak Kafka"),
    RowField("sentence", "string", "what the packets show"),
    RowField("file", "string", "the input with the first of the packets. Null if it cannot be read again"),
    RowField("packets", "list<int64>", "numbers of the connection's packets in that input, 100 at most"),
)


def problem_row(number: int, found: ConnectionProblem, refs: Sequence[int], files: Sequence[str]) -> Row:
    """Return the row of a connection. `refs` are references of its packets, `files` the inputs by file
    index.
    """
    info, problem = found.connection, found.problem
    file = ref_file(refs[0]) if refs else -1
    return {
        "number": number,
        "connection": info.id,
        "capture_set": info.capture_set,
        "client": info.client_text,
        "broker": info.broker_text,
        "client_id": info.client_id,
        "start": rfc3339(info.start_ns),
        "start_ns": info.start_ns,
        "duration_ns": problem.age_ns,
        "reason": str(problem.reason),
        "kafka": found.is_kafka,
        "sentence": problem.fact,
        "file": files[file] if file >= 0 else None,
        "packets": [ref_number(ref) for ref in refs if ref_file(ref) == file],
    }
