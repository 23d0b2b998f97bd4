"""One row for each TCP connection: names, types and meanings, for JSON and tables."""

from operator import attrgetter
from typing import TYPE_CHECKING

from kdissect.engine.exchange_rows import PROCESS_FIELDS, PROXIED_FIELD, Row, RowField, behind_ends_row
from kdissect.engine.times import rfc3339
from kdissect.net.streams.round_trips import captured_near
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.tls.tls_info import TlsInfo

_ENDS = ("client", "broker")
CONNECTION_FIELDS = (
    RowField("number", "int64", "1-based number of the row in this output, for presentation only"),
    RowField("connection", "string", "identity of the connection: 16 hex digits"),
    RowField("capture_set", "string", "the set of files the connection was captured in"),
    RowField(
        "same_as",
        "string",
        "the connection that is this one, captured elsewhere, and counted instead",
    ),
    RowField(
        "probably_same_as",
        "string",
        "the connection of a tap that is probably this one, which is TLS that cannot be read",
    ),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of the broker"),
    PROXIED_FIELD,
    *PROCESS_FIELDS,
    RowField("kind", "string", "`kafka`, or what else was recognised: `tls`, `http`, `ssh` ..."),
    RowField("client_id", "string", "client id of the first request that has one"),
    RowField("software", "string", "name and version the client gave in ApiVersions"),
    RowField("principal", "string", "user the client authenticated as, where the mechanism shows it"),
    RowField("mechanism", "string", "SASL mechanism"),
    RowField("start", "string", "time of the first packet, RFC 3339 with nanoseconds"),
    RowField("start_ns", "int64", "this time in nanoseconds since 1970 UTC"),
    RowField("duration_ns", "int64", "from the first packet to the last"),
    RowField("middle_start", "bool", "whether the capture began after the connection did"),
    RowField("exchanges", "int64", "exchanges on the connection"),
    RowField("unanswered", "int64", "requests without a response that was expected"),
    RowField("packets", "int64", "TCP segments in both directions"),
    RowField("client_bytes", "int64", "payload bytes from the client, as captured"),
    RowField("broker_bytes", "int64", "payload bytes from the broker, as captured"),
    RowField("gaps", "int64", "holes in the streams: bytes that were not captured"),
    RowField("gap_bytes", "int64", "bytes in these holes"),
    RowField("retransmissions", "int64", "segments sent again"),
    RowField("out_of_order", "int64", "segments that came behind later ones"),
    RowField("duplicates", "int64", "packets captured twice"),
    RowField("zero_windows", "int64", "zero windows: segments that ask the other side to stop sending"),
    RowField("resets", "int64", "segments with RST"),
    RowField(
        "rtt_ns",
        "int64",
        "round trip between client and broker: the shortest on either side of the capture, added up. Null: "
        "not both are known",
    ),
    RowField(
        "captured_near",
        "string",
        "`client`, `broker`, `between` them, or `both` on one host. Null: not known",
    ),
    RowField(
        "delayed_ns", "int64", "how long retransmissions held a direction up, as far as the capture shows it"
    ),
    RowField(
        "round_trips", "struct", "from the capture to either end and back, in nanoseconds. Null: not known"
    ),
    *(
        field
        for end in _ENDS
        for field in (
            RowField(f"round_trips.{end}_ns", "int64", f"the shortest until the {end} acknowledged anything"),
            RowField(
                f"round_trips.{end}_handshake",
                "bool",
                "whether the handshake shows it. If not, the true one may be shorter: an end may wait "
                "with an "
                "acknowledgment",
            ),
        )
    ),
    RowField("tls", "struct", "what carries the connection, where that is TLS, else null"),
    RowField("tls.version", "string", "`TLS 1.2`, `TLS 1.3` ..."),
    RowField("tls.suite", "string", "cipher suite, by its IANA name"),
    RowField("tls.group", "string", "group of the key exchange, such as `x25519` or `X25519MLKEM768`"),
    RowField(
        "tls.post_quantum",
        "bool",
        "whether the key exchange resists a quantum computer (ML-KEM). Null: no group, or an unknown one",
    ),
    RowField("tls.offered_groups", "list<string>", "groups that the client offered, the preferred one first"),
    RowField("tls.offered_versions", "list<string>", "versions that the client offered"),
    RowField("tls.client_random", "string", "by which a key log names the session: 64 hex digits"),
    RowField("tls.sni", "string", "host name the client asked for"),
    RowField("tls.alpn", "string", "application protocol agreed on, or the protocols offered"),
    RowField("tls.certificates", "list<string>", "names in the server's certificate, where that is visible"),
    RowField("tls.issuer", "string", "issuer of the server's certificate"),
    RowField("tls.valid_from", "string", "from when the server's certificate is valid, RFC 3339"),
    RowField("tls.valid_until", "string", "until when it is valid"),
    RowField("tls.client_certificates", "list<string>", "names in the client's certificate"),
    RowField("tls.client_valid_until", "string", "until when the client's certificate is valid"),
    RowField("tls.resumed", "bool", "whether a session of TLS 1.2 was resumed"),
    RowField("tls.decrypted", "bool", "whether application data could be read"),
    RowField(
        "tls.why", "string", "why the connection is opaque, or opaque from some point on. Null otherwise"
    ),
    RowField("tls.bad_records", "int64", "records that do not open though their keys are known"),
    RowField("tls.alerts", "struct", "how many alerts of each kind, by `client` or `server`"),
    RowField("closed", "struct", "how the connection ended. Null while it is open"),
    RowField(
        "closed.by",
        "string",
        "who closed first: `client`, `broker`, or null if the capture does not show it",
    ),
    RowField("closed.how", "string", "`fin`, `rst`, `idle`, `reused` or `capture_end`"),
    RowField("anomalies", "struct", "how many anomalies of each kind"),
)


def connection_row(number: int, info: ConnectionInfo) -> Row:
    """Return the row of a connection that is over."""
    tcp, close = info.tcp, info.close
    row: Row = {
        "number": number,
        "connection": info.id,
        "capture_set": info.capture_set,
        "same_as": info.same_as,
        "probably_same_as": info.probably_same_as,
        "client": info.client_text,
        "broker": info.broker_text,
        **behind_ends_row(info),
        "kind": info.kind,
        "client_id": info.client_id,
        "software": info.software,
        "principal": info.principal,
        "mechanism": info.mechanism,
        "start": rfc3339(info.start_ns),
        "start_ns": info.start_ns,
        "duration_ns": info.end_ns - info.start_ns,
        "middle_start": info.middle_start,
        "exchanges": info.exchanges,
        "unanswered": info.unanswered,
    }
    row.update(_NO_TCP if tcp is None else zip(_TCP, _tcp_values(tcp), strict=True))
    row.update(_times(info))
    row["tls"] = None if info.tls is None else _tls(info.tls)
    row["closed"] = None if close is None else {"by": close.by, "how": close.how}
    row["anomalies"] = {str(kind): count for kind, count in info.anomaly_counts.items()}
    return row


def _times(info: ConnectionInfo) -> Row:
    times = None if info.tcp is None else info.tcp.times
    if times is None:
        return dict.fromkeys(("rtt_ns", "captured_near", "delayed_ns", "round_trips"))
    return {
        "rtt_ns": times.trips.round_trip_ns,
        "captured_near": captured_near(times.trips, is_one_host=info.client.host == info.broker.host),
        "delayed_ns": times.delayed_ns,
        "round_trips": {
            name: value
            for end, part in zip(_ENDS, times.trips, strict=True)
            for name, value in ((f"{end}_ns", part.least_ns), (f"{end}_handshake", part.by_handshake))
        },
    }


def _tls(tls: "TlsInfo") -> Row:
    from kdissect.tls.certificate import date_text  # a plaintext capture has no TLS
    from kdissect.tls.groups import is_post_quantum

    server, client = tls.certificate, tls.client_certificate
    return {
        "version": tls.version,
        "suite": tls.suite,
        "group": tls.group,
        "post_quantum": None if tls.group is None else is_post_quantum(tls.group),
        "offered_groups": list(tls.offered_groups),
        "offered_versions": list(tls.offered_versions),
        "client_random": None if tls.client_random is None else tls.client_random.hex(),
        "sni": tls.sni,
        "alpn": tls.alpn,
        "certificates": list(tls.certificates),
        "issuer": None if server is None else server.issuer,
        "valid_from": None if server is None else date_text(server.valid_from_ns),
        "valid_until": None if server is None else date_text(server.valid_until_ns),
        "client_certificates": list(tls.client_certificates),
        "client_valid_until": None if client is None else date_text(client.valid_until_ns),
        "resumed": tls.is_resumed,
        "decrypted": tls.is_decrypted,
        "why": tls.why,
        "bad_records": tls.bad_records,
        "alerts": {f"{who} {name}": count for (who, name), count in tls.alerts.items()},
    }


_TCP = (
    "packets", "client_bytes", "broker_bytes", "gaps", "gap_bytes", "retransmissions", "out_of_order",
    "duplicates", "zero_windows", "resets",
)  # fmt: skip
_tcp_values = attrgetter(*_TCP)
_NO_TCP = dict.fromkeys(_TCP)
