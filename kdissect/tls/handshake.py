"""The facts of one connection's handshake so far."""

from enum import Enum, auto

from kdissect.tls.certificate import certificate_in
from kdissect.tls.groups import group_name, is_grease
from kdissect.tls.handshake_messages import Cursor, HandshakeType
from kdissect.tls.hello import (
    ALPN,
    EARLY_DATA,
    TLS_12,
    TLS_13,
    ClientHello,
    ServerHello,
    parse_alpn,
    parse_client_hello,
    parse_exchanged_group,
    parse_extensions,
    parse_server_hello,
)
from kdissect.tls.suites import SUITES, Suite, suite_name
from kdissect.tls.tls_info import NO_HANDSHAKE, TlsInfo, not_supported, version_name
from kdissect.tls.tls_record import ContentType

_CLOSE_NOTIFY = 0
_ALERT_RECORD = 7  # header, level and description, RFC 8446 sections 5.1 and 6
# RFC 8446 section 6, and the alerts of RFC 5246 section 7.2 that it dropped.
_ALERTS = {
    _CLOSE_NOTIFY: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 21: "decryption_failed",
    22: "record_overflow", 30: "decompression_failure", 40: "handshake_failure", 42: "bad_certificate",
    43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired",
    46: "certificate_unknown", 47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied",
    50: "decode_error", 51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security",
    80: "internal_error", 86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation",
    109: "missing_extension", 110: "unsupported_extension", 112: "unrecognized_name",
    113: "bad_certificate_status_response", 115: "unknown_psk_identity", 116: "certificate_required",
    120: "no_application_protocol",
}  # fmt: skip


def alert_in(data: bytes) -> str | None:
    """Return the name of the alert that plaintext begins with, as one record of its own, or None if it is
    none.
    """
    if len(data) < _ALERT_RECORD or data[0] != ContentType.ALERT or data[3:5] != b"\0\2":
        return None
    return _alert_name(data[6])


def _alert_name(code: int) -> str:
    """Return the name of an alert."""
    return _ALERTS.get(code, f"alert {code}")


class EarlyData(Enum):
    """0-RTT data of TLS 1.3 (RFC 8446 section 4.2.10): the client sends it before the server answers."""

    NONE = auto()
    OFFERED = auto()  # the server's decision is not known yet
    ACCEPTED = auto()
    REFUSED = auto()  # the server skips the records, and so must every other reader


class Handshake:
    """Hellos, names and cipher changes of one handshake. Facts to report go to `info`.

    `is_renegotiation`: of TLS 1.2, inside the protection of the handshake before it (RFC 5746).
    """

    def __init__(self, info: TlsInfo, is_renegotiation: bool = False) -> None:
        self._info = info
        self.is_renegotiation = is_renegotiation
        self.client: int | None = None
        self.client_hello: ClientHello | None = None
        self.server_hello: ServerHello | None = None
        self.changed: set[int] = set()
        """Directions that sent ChangeCipherSpec."""
        self.early_data = EarlyData.NONE
        self.is_asking = False
        """Whether the server has not answered the client's last hello, with a hello or a retry request."""

    @property
    def is_13(self) -> bool:
        """Whether TLS 1.3 was chosen."""
        return self.server_hello is not None and self.server_hello.version == TLS_13

    @property
    def suite(self) -> Suite | None:
        """The suite chosen, if this program knows it."""
        return SUITES.get(self.server_hello.suite) if self.server_hello is not None else None

    @property
    def is_supported(self) -> bool:
        """Whether version and suite can be decrypted."""
        hello, suite = self.server_hello, self.suite
        return (
            hello is not None and suite is not None and hello.version == (TLS_13 if suite.is_13 else TLS_12)
        )

    def is_protected(self, direction: int, kind: int) -> bool:
        """Return whether a record of a type is encrypted, in a direction, by now."""
        if self.is_13 or (self.server_hello is None and not self.is_renegotiation):
            # A ChangeCipherSpec before the ServerHello changes no keys: TLS 1.3 sends it for the sake of
            # middleboxes, RFC 8446 appendix D.4.
            return kind == ContentType.APPLICATION_DATA
        return direction in self.changed and kind != ContentType.CHANGE_CIPHER_SPEC

    def message(self, direction: int, kind: int, body: bytes) -> str | None:
        """Take a message. Return the reason if the connection cannot be followed from here on, else None.

        Raises `ShortMessageError`.
        """
        if kind == HandshakeType.CLIENT_HELLO:
            return self._client_hello(direction, body)
        if kind == HandshakeType.SERVER_HELLO:
            return self._server_hello(body)
        if kind == HandshakeType.ENCRYPTED_EXTENSIONS:
            extensions = parse_extensions(Cursor(body))
            self._info.alpn = parse_alpn(extensions.get(ALPN)) or self._info.alpn
            if self.early_data is EarlyData.OFFERED:
                self.early_data = EarlyData.ACCEPTED if EARLY_DATA in extensions else EarlyData.REFUSED
        elif kind == HandshakeType.CERTIFICATE:
            found = certificate_in(body, self.is_13)
            if direction == self.client:
                self._info.client_certificate = found
            else:
                self._info.certificate = found
        elif kind == HandshakeType.SERVER_KEY_EXCHANGE:
            self._info.group = parse_exchanged_group(body, self._info.suite or "") or self._info.group
        return None

    def change_cipher_spec(self, direction: int) -> None:
        """Take the ChangeCipherSpec of a direction."""
        self.changed.add(direction)

    def alert(self, direction: int, content: bytes, time_ns: int) -> str:
        """Count an alert (RFC 8446 section 6). Return a text for one that is no orderly close."""
        code = content[1] if len(content) > 1 else -1
        name = _alert_name(code)
        sender = "client" if direction == self.client else "server"
        self._info.alerts[sender, name] += 1
        if code == _CLOSE_NOTIFY and self._info.close_notify is None:
            self._info.close_notify = sender, time_ns
        return "" if code == _CLOSE_NOTIFY else f"{sender} sent {name}"

    def _client_hello(self, direction: int, body: bytes) -> str | None:
        info = self._info
        self.client_hello = hello = parse_client_hello(body)
        self.client, self.is_asking = direction, True
        self.early_data = EarlyData.OFFERED if hello.has_early_data else EarlyData.NONE
        if not self.is_renegotiation:
            info.client_random = hello.random
        info.sni, info.alpn = hello.sni, hello.alpn
        info.offered_groups = tuple(group_name(code) for code in hello.groups if not is_grease(code))
        info.offered_versions = tuple(version_name(code) for code in hello.versions if not is_grease(code))
        return None

    def _server_hello(self, body: bytes) -> str | None:
        hello = parse_server_hello(body)
        info, offer = self._info, self.client_hello
        if offer is None:
            return NO_HANDSHAKE
        self.is_asking = False
        info.group = None if hello.group is None else group_name(hello.group)
        if hello.is_retry:
            info.version = version_name(hello.version)
            self.early_data = EarlyData.REFUSED if offer.has_early_data else EarlyData.NONE
            return None
        if self.is_renegotiation:
            info.add_session(offer.random, hello.session_id)
        elif hello.version == TLS_12:
            info.session_id = hello.session_id
        self.server_hello = hello
        if self.early_data is EarlyData.OFFERED and not hello.has_chosen_psk:
            self.early_data = EarlyData.REFUSED  # its keys derive from a PSK
        info.version, info.suite = version_name(hello.version), suite_name(hello.suite)
        if hello.version == TLS_12:
            info.is_resumed = bool(hello.session_id) and hello.session_id == offer.session_id
            info.alpn = hello.alpn
        elif not self.is_13:
            return not_supported(info.version)
        return None if self.is_supported else not_supported(f"cipher suite {info.suite}")
