"""One row for each connection that came to nothing: names, types and meanings, for JSON and tables alike."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.engine.rows import Row, RowField
from kdissect.engine.times import rfc3339
from kdissect.history.connection_problems import ConnectionProblem
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.session.problem import Reason

REASONS = {
    Reason.REFUSED: "the SYN was answered with RST: nobody listens there",
    Reason.NO_ANSWER: "the client sent its SYN again, and nothing else: no answer came",
    Reason.PROBE: "the client connected and closed without a byte, as health checks do",
    Reason.CLOSED_AT_ONCE: "the broker closed before it answered anything but ApiVersions and SASL",
    Reason.UNANSWERED: "the client closed, and the broker had not sent a byte",
    Reason.HTTP: "the client speaks HTTP, where Kafka is spoken",
    Reason.TLS_TO_PLAINTEXT: "the client speaks TLS, and the broker closed without a byte",
    Reason.PLAINTEXT_TO_TLS: "the client speaks plaintext, and the broker answers with a TLS alert",
    Reason.FOREIGN_ANSWER: "the client speaks Kafka, and the answer is another protocol's",
    Reason.TLS_REFUSED: "one end broke the TLS handshake off, with an alert or without",
    Reason.CERTIFICATE_NAME: "the client did, and the certificate does not name the address it asked for",
    Reason.MECHANISM_REFUSED: "the broker does not have the SASL mechanism",
    Reason.LOGIN_REFUSED: "the broker refused the login",
    Reason.ADVERTISED_UNREACHED: "refused or no answer, at an address that a broker told the client",
    Reason.ADVERTISED_UNTRIED: "the client was told of addresses again and again, and tried none of them",
}

PROBLEM_FIELDS = (
    RowField("number", "int64", "1-based number of the row in this output; presentation only"),
    RowField("connection", "string", "identity of the connection: 16 hex digits"),
    RowField("capture_set", "string", "the set of files the connection was captured in"),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of who was connected to"),
    RowField("client_id", "string", "client id of the first request that has one"),
    RowField("start", "string", "time of the first packet, RFC 3339 with nanoseconds"),
    RowField("start_ns", "int64", "the same in nanoseconds since 1970 UTC"),
    RowField("duration_ns", "int64", "from the first packet to the close, or to the last packet"),
    RowField("reason", "string", "why it came to nothing: one of the reasons below"),
    RowField("kafka", "bool", "whether the end connected to is known to speak Kafka"),
    RowField("sentence", "string", "what the packets show"),
    RowField("file", "string", "the input with the first of the packets; null where it cannot be read again"),
    RowField("packets", "list<int64>", "numbers of the connection's packets in that input, 100 at most"),
)


def problem_row(number: int, found: ConnectionProblem, refs: Sequence[int], files: Sequence[str]) -> Row:
    """The row of a connection; `refs` are references of its packets, `files` the inputs by file index."""
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
