"""The facts about a connection's TLS, while it lasts and afterwards."""

from collections import Counter

from kdissect.tls.certificate import Certificate

# Reasons of `TlsInfo.why`.
UNFINISHED = "the handshake did not finish"
NO_HANDSHAKE = "the handshake is not in the capture"
HOLE = "bytes of the handshake are missing from the capture"
NO_RECORD = "its bytes are not TLS records"
NO_SERVER_HELLO = "no ServerHello before the data"
NO_KEY_LOG = "no key log"
NO_SECRETS = "the key log has no secrets for the connection's client random"
NO_SECRETS_OF_RENEGOTIATION = "the key log has no secrets for a renegotiation"
WRONG_SECRETS = "the secrets in the key log do not fit the connection"
NOTHING_OPENS = "no record opens with the secrets in the key log"
_OF_KEYS = frozenset({NO_KEY_LOG, NO_SECRETS, NO_SECRETS_OF_RENEGOTIATION, WRONG_SECRETS, NOTHING_OPENS})
_LACKS = "the key log lacks "
# Sessions of renegotiations that are remembered: no client of Kafka renegotiates.
_LATER_SESSIONS = 16
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}


class TlsInfo:
    """One connection's TLS. None and empty for what was not visible.

    `why` says why the connection stays opaque, or became so; None while it is read. `alerts` counts them by
    sender and description. `close_notify` is the sender of the first alert that ends the connection, and its
    time in nanoseconds.
    """

    __slots__ = (
        "alerts",
        "alpn",
        "bad_records",
        "certificate",
        "client_certificate",
        "client_random",
        "close_notify",
        "group",
        "is_decrypted",
        "is_resumed",
        "later_sessions",
        "offered_groups",
        "offered_versions",
        "session_id",
        "sni",
        "suite",
        "version",
        "why",
    )

    def __init__(self) -> None:
        self.client_random: bytes | None = None
        self.session_id = b""
        """The server's, by which some key logs name sessions of TLS 1.2."""
        self.later_sessions: tuple[tuple[bytes, bytes], ...] = ()
        """Client random and session id of each renegotiation."""
        self.version: str | None = None
        self.suite: str | None = None
        self.sni: str | None = None
        self.alpn: str | None = None
        self.group: str | None = None
        """The group of the key exchange. None without one, as with a resumed session of TLS 1.2."""
        self.offered_groups: tuple[str, ...] = ()
        self.offered_versions: tuple[str, ...] = ()
        """Of the client, in the order of its preference."""
        self.certificate: Certificate | None = None
        """The server's."""
        self.client_certificate: Certificate | None = None
        self.is_resumed = False
        self.is_decrypted = False
        """Whether any application data could be read."""
        self.bad_records = 0
        """Records that did not open, though their keys were known."""
        self.alerts: Counter[tuple[str, str]] = Counter()
        self.close_notify: tuple[str, int] | None = None
        self.why: str | None = None

    @property
    def certificates(self) -> tuple[str, ...]:
        """Names in the server's certificate: subject, then alternatives."""
        return () if self.certificate is None else self.certificate.names

    @property
    def client_certificates(self) -> tuple[str, ...]:
        """Names in the client's certificate."""
        return () if self.client_certificate is None else self.client_certificate.names

    @property
    def sessions(self) -> tuple[tuple[bytes, bytes], ...]:
        """Client random and session id of each handshake: a key log has its secrets under one of them."""
        first = () if self.client_random is None else ((self.client_random, self.session_id),)
        return (*first, *self.later_sessions)

    def add_session(self, client_random: bytes, session_id: bytes) -> None:
        """Remember a renegotiation."""
        if len(self.later_sessions) < _LATER_SESSIONS:
            self.later_sessions = (*self.later_sessions, (client_random, session_id))


def version_name(code: int) -> str:
    """Return the name of a protocol version."""
    return VERSIONS.get(code, f"TLS 0x{code:04x}")


def lacks(labels: tuple[str, ...]) -> str:
    """Return the reason for a key log that has some secrets of a connection, but not these labels."""
    return f"{_LACKS}{' and '.join(labels)} for this connection"


def not_supported(what: str) -> str:
    """Return the reason for a version or a cipher suite that cannot be decrypted, even with the secrets."""
    return f"{what} is not supported"


def is_about_keys(why: str) -> bool:
    """Return whether another key log could open a connection that stays encrypted for this reason."""
    return why in _OF_KEYS or why.startswith(_LACKS)
