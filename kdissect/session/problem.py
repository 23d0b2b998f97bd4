"""The reason why a connection failed, as far as its own packets show it.

Rules:
- It is determined once, when a connection is over. It stores no state while the connection lasts.
- A reason needs the beginning of the connection, and that no byte of it is missing.
- That a SYN got no answer is proven by the SYN that was sent again, with no other packet after it: a client
  with an answer that the capture lacks would have gone on. One SYN alone is no proof.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.stream import CloseKind
from kdissect.schema.protocol_messages import api_name
from kdissect.session.info import ConnectionInfo, ConnectionKind

if TYPE_CHECKING:
    from kdissect.net.streams.tcp import TcpConnection
    from kdissect.session.detection.proxy_header import ProxyHeader
    from kdissect.tls.certificate import Certificate
    from kdissect.tls.tls_info import TlsInfo

# APIs before the work of a connection: SaslHandshake, ApiVersions, SaslAuthenticate.
_PRELIMINARY = frozenset({17, 18, 36})
# Alerts by which a client refuses a certificate with another name: OpenSSL sends the first, Java the second,
# some close without any (RFC 8446 section 6.2 leaves it open).
_NAME_ALERTS = ("bad_certificate", "certificate_unknown", "")
# Java sends certificate_unknown for a certificate that is not valid any more, OpenSSL an alert of its own.
_DATE_ALERTS = (*_NAME_ALERTS, "certificate_expired")
_CLIENT, _BROKER = "client", "broker"
# The alert of Java's TLS to bytes that are no TLS record (sun.security.ssl: "Unsupported or unrecognized SSL
# message"). A listener that accepted the header ends a handshake that it does not like with another alert.
_NOT_TLS = "internal_error"


class Reason(StrEnum):
    """The reason why a connection failed. Names are output: add freely, never rename."""

    REFUSED = "refused"  # RST to the SYN
    NO_ANSWER = "no_answer"  # the SYN was sent again, and nothing came
    PROBE = "probe"  # the client connected and closed without a byte, but for a PROXY protocol header
    CLOSED_AT_ONCE = "closed_at_once"  # by the broker, before it answered anything but ApiVersions and SASL
    PROXY_REFUSED = "proxy_refused"  # by the broker: the first thing that it got is a PROXY protocol header
    UNANSWERED = "unanswered"  # the client closed, the broker never sent a byte
    HTTP = "http"
    TLS_TO_PLAINTEXT = "tls_to_plaintext"
    PLAINTEXT_TO_TLS = "plaintext_to_tls"
    FOREIGN_ANSWER = "foreign_answer"  # of another protocol than Kafka and TLS
    TLS_REFUSED = "tls_refused"  # one end ended the handshake with an alert, or the broker without
    TLS_LEFT = "tls_left"  # the client closed within the handshake without an alert: it may have stopped
    CERTIFICATE_NAME = "certificate_name"  # the client did, and the certificate names another address
    CERTIFICATE_EXPIRED = "certificate_expired"  # one end did, and the other's certificate is not valid then
    MECHANISM_REFUSED = "mechanism_refused"  # SASL
    LOGIN_REFUSED = "login_refused"
    WRONG_CLUSTER = "wrong_cluster"  # ApiVersions refused: the client expects another cluster or node
    # refused or no answer, at an address that a broker advertised
    ADVERTISED_UNREACHED = "advertised_unreached"
    ADVERTISED_UNTRIED = "advertised_untried"  # advertised again and again, and no connection to it


class Problem(NamedTuple):
    """One reason, the evidence of the packets in words, and the time from the first packet to the end.

    `by` is the end that ended a TLS handshake, `client` or `broker`, None for other reasons.
    """

    reason: Reason
    fact: str
    age_ns: int = 0
    by: str | None = None


def problem_of(info: ConnectionInfo, tcp: TcpConnection) -> Problem | None:
    """Return why a connection that is over failed, or None for one that did not, or may not have."""
    if info.middle_start or tcp.initiator != info.client_direction:
        return None
    if info.tcp is None or info.tcp.gaps or any(side.snapped_bytes for side in tcp.health):
        return None
    found = _reason_of(info, tcp)
    return None if found is None else found._replace(age_ns=_age_ns(info))


def _reason_of(info: ConnectionInfo, tcp: TcpConnection) -> Problem | None:
    if info.kind is ConnectionKind.NO_DATA:
        return _of_silence(info, tcp)
    if info.kind is ConnectionKind.TLS:
        return None if info.tls is None else _of_tls(info, info.tls)
    if info.kind is ConnectionKind.KAFKA:
        return _of_kafka(info)
    if info.kind in (ConnectionKind.HTTP, ConnectionKind.HTTP2):
        return Problem(Reason.HTTP, f"the client speaks {protocol_name(info.kind)}")
    return None


def _of_silence(info: ConnectionInfo, tcp: TcpConnection) -> Problem | None:
    """Return the problem of a connection without a byte."""
    client, broker = tcp.health[info.client_direction], tcp.health[1 - info.client_direction]
    _, _, is_accepted = tcp.span(1 - info.client_direction)
    closed_by = tcp.closed_by
    if closed_by is None:
        is_alone = not broker.packets and client.packets == client.retransmissions + client.duplicates + 1
        if client.retransmissions and is_alone:
            return Problem(Reason.NO_ANSWER, "the client sent its SYN again, and no answer came")
        return None
    direction, how, _ = closed_by
    if direction is None:
        return None
    is_clients = direction == info.client_direction
    if not is_accepted:
        is_refused = how is CloseKind.RST and not is_clients and broker.packets == broker.resets
        return Problem(Reason.REFUSED, "the SYN was answered with RST") if is_refused else None
    if info.proxy is not None:
        if not is_clients:
            return _proxy_refused(info.proxy, how, "")
        told = f"the client sent a {_header(info.proxy)} and closed ({how}) without more"
        return Problem(Reason.PROBE, told)
    if is_clients:
        return Problem(Reason.PROBE, f"the client connected and closed ({how}) without a byte")
    return Problem(Reason.CLOSED_AT_ONCE, f"the broker closed ({how}) before any byte")


def _header(proxy: ProxyHeader) -> str:
    return f"PROXY header (v{proxy.version}{', LOCAL' if proxy.is_local else ''})"


def _proxy_refused(proxy: ProxyHeader, how: CloseKind, asked: str) -> Problem:
    """Return the problem of a broker that closed without a byte. `asked` is the content after the header."""
    behind = f"a {_header(proxy)}{asked and f' and {asked}'}"
    told = f"PROXY header refused: the broker closed ({how}) without a byte after {behind}"
    return Problem(Reason.PROXY_REFUSED, f"{told}, as a listener does that expects no header")


def _proxy_before_tls(proxy: ProxyHeader, alert: str) -> Problem:
    """Return the problem of a broker whose first bytes are an alert, without a handshake before it."""
    told = f"PROXY header refused: the broker answered with the TLS alert {alert} to a {_header(proxy)}"
    return Problem(
        Reason.PROXY_REFUSED, f"{told} and a TLS ClientHello, as a TLS listener does that expects no header"
    )


def _of_tls(info: ConnectionInfo, tls: TlsInfo) -> Problem | None:
    if tls.is_decrypted or tls.client_random is None or info.tcp is None or info.close is None:
        return None
    if info.tcp.broker_bytes:
        return _of_handshake(info, tls)
    if info.close.by != _BROKER:
        return None
    if info.proxy is not None:
        return _proxy_refused(info.proxy, info.close.how, "a TLS ClientHello")
    name = "" if tls.sni is None else f" (for {tls.sni})"
    closed = f"the broker closed ({info.close.how}) without a byte, as a plaintext listener does"
    return Problem(Reason.TLS_TO_PLAINTEXT, f"the client speaks TLS{name}, and {closed}")


def _of_handshake(info: ConnectionInfo, tls: TlsInfo) -> Problem | None:
    """Return the problem of a handshake that one end broke off, with an alert or without."""
    from kdissect.tls.tls_info import UNFINISHED  # loaded if there is TLS

    alerts = [(sender, name) for sender, name in tls.alerts if name != "close_notify"]
    if alerts:
        sender, name = alerts[0]
        who, how = _CLIENT if sender == "client" else _BROKER, f"with {name}"
        if who == _BROKER and name == _NOT_TLS and info.proxy is not None and tls.suite is None:
            return _proxy_before_tls(info.proxy, name)
    elif tls.why == UNFINISHED and info.close is not None and info.close.by is not None:
        who, how, name = info.close.by, f"by closing ({info.close.how})", ""
    else:
        return None
    told = f"the {who} ended the TLS handshake {how}"
    dates = _wrong_dates(tls.certificate if who == _CLIENT else tls.client_certificate, info.start_ns)
    if dates and name in _DATE_ALERTS:
        return Problem(Reason.CERTIFICATE_EXPIRED, f"{told}; {dates}", by=who)
    wanted, certificate = tls.sni or info.broker.host, tls.certificates
    is_about_name = who == _CLIENT and name in _NAME_ALERTS and certificate
    if is_about_name and not names_address(certificate, wanted):
        named = ", ".join(certificate[1:] or certificate)
        told = f"{told}; the certificate names {named}, not {wanted}"
        return Problem(Reason.CERTIFICATE_NAME, told, by=who)
    return Problem(Reason.TLS_REFUSED if name or who == _BROKER else Reason.TLS_LEFT, told, by=who)


def _wrong_dates(certificate: Certificate | None, time_ns: int) -> str:
    """Return when a certificate is valid, empty if it is valid at a time or was not visible."""
    if certificate is None or certificate.valid_from_ns <= time_ns <= certificate.valid_until_ns:
        return ""
    from kdissect.tls.certificate import date_text  # loaded if there is TLS

    if certificate.valid_until_ns < time_ns:
        return f"the certificate was valid until {date_text(certificate.valid_until_ns)}"
    return f"the certificate is valid from {date_text(certificate.valid_from_ns)} on"


def names_address(certificate: tuple[str, ...], address: str) -> bool:
    """Return whether a certificate (subject, then alternative names) covers a host name or an IP address.

    RFC 9525 section 6.3: a wildcard replaces the whole leftmost label. Without alternatives the common name
    counts, as it does for Java.
    """
    subject, *alternatives = certificate
    if not alternatives:
        parts = (part.partition("=") for part in subject.split(","))
        alternatives = [value for key, _, value in parts if key.strip() == "CN"]
    wanted = address.lower().rstrip(".")
    _, _, domain = wanted.partition(".")
    return any(name.lower() in (wanted, f"*.{domain}" if domain else wanted) for name in alternatives)


def _of_kafka(info: ConnectionInfo) -> Problem | None:
    for anomaly in info.anomalies:
        if anomaly.kind is AnomalyKind.TLS_ALERT and info.tls is None:
            name = anomaly.detail.removeprefix("server sent ")
            told = f"the client speaks plaintext, and the broker answered with the TLS alert {name}"
            return Problem(Reason.PLAINTEXT_TO_TLS, told)
        if anomaly.kind is AnomalyKind.FOREIGN_BYTES:
            is_clients = anomaly.direction == info.client_direction
            return Problem(Reason.HTTP if is_clients else Reason.FOREIGN_ANSWER, anomaly.detail)
    if info.tls is not None and info.tls.alerts and not info.complete:
        refused = _of_handshake(info, info.tls)
        if refused is not None:
            return refused
    if info.tls is not None and info.tls.why is not None:
        return None  # read in part: the answers may be in what was not read
    return _of_unanswered(info)


def _of_unanswered(info: ConnectionInfo) -> Problem | None:
    """Return the problem of requests without any answer, except for ApiVersions and SASL."""
    close, tcp = info.close, info.tcp
    if not info.unanswered or info.no_response_expected or close is None or tcp is None:
        return None
    kinds = tuple(info.api_versions_seen)
    work = [kind for kind in kinds if kind[0] not in _PRELIMINARY]
    if info.complete > len(kinds) - len(work) or info.orphan_response:
        return None
    api, version = (work or kinds or [(-1, -1)])[0]
    asked = f"{api_name(api) or f'API {api}'} v{version}" if api >= 0 else "its first request"
    if close.by == _BROKER and info.proxy is not None and not tcp.broker_bytes:
        return _proxy_refused(info.proxy, close.how, asked)
    if close.by == _BROKER:
        return Problem(Reason.CLOSED_AT_ONCE, f"the broker closed ({close.how}) without an answer to {asked}")
    if close.by == _CLIENT and not tcp.broker_bytes and not info.complete:
        return Problem(Reason.UNANSWERED, f"the client closed ({close.how}) without an answer to {asked}")
    return None


def _age_ns(info: ConnectionInfo) -> int:
    """Return the time from the first packet to the close, or to the last packet if neither end closed."""
    close = info.close
    return (info.end_ns if close is None or close.by is None else close.time_ns) - info.start_ns


_PROTOCOLS = {
    ConnectionKind.HTTP: "HTTP",
    ConnectionKind.HTTP2: "HTTP/2",
    ConnectionKind.SSH: "SSH",
    ConnectionKind.TLS: "TLS",
    ConnectionKind.ZOOKEEPER: "ZooKeeper",
}


def protocol_name(kind: ConnectionKind) -> str:
    """Return the usual name of a protocol."""
    return _PROTOCOLS.get(kind, str(kind))
