"""What is known of a connection's TLS while it lasts, and afterwards."""

from collections import Counter

# Two of the reasons of `TlsInfo.why`: no key would help.
UNFINISHED = "the handshake did not finish"
NO_HANDSHAKE = "the handshake is not in the capture"
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}


class TlsInfo:
    """One connection's TLS. None and empty for what was not visible.

    `why` says why the connection stays opaque, or became so; None while it is read. `alerts` counts them by
    sender and description.
    """

    __slots__ = (
        "alerts",
        "alpn",
        "bad_records",
        "certificates",
        "client_certificates",
        "client_random",
        "is_decrypted",
        "is_resumed",
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
        self.version: str | None = None
        self.suite: str | None = None
        self.sni: str | None = None
        self.alpn: str | None = None
        self.certificates: tuple[str, ...] = ()
        """Names in the server's own certificate: subject, then alternatives."""
        self.client_certificates: tuple[str, ...] = ()
        self.is_resumed = False
        self.is_decrypted = False
        """Whether any application data could be read."""
        self.bad_records = 0
        """Records that did not open, though their keys were known."""
        self.alerts: Counter[tuple[str, str]] = Counter()
        self.why: str | None = None


def version_name(code: int) -> str:
    """The name of a protocol version."""
    return VERSIONS.get(code, f"0x{code:04x}")
