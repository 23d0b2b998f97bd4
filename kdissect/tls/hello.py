"""ClientHello, ServerHello and ServerKeyExchange (RFC 8446 section 4.1; RFC 5246 section 7.4)."""

from typing import NamedTuple

from kdissect.tls.groups import group_name
from kdissect.tls.handshake_messages import Cursor, ShortMessageError

TLS_12 = 0x0303
TLS_13 = 0x0304
# A ServerHello with this random is a HelloRetryRequest, RFC 8446 section 4.1.3.
RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
# Extensions: IANA "TLS ExtensionType Values".
SERVER_NAME = 0
SUPPORTED_GROUPS = 10
ALPN = 16
ENCRYPT_THEN_MAC = 22  # RFC 7366
PRE_SHARED_KEY = 41
EARLY_DATA = 42
SUPPORTED_VERSIONS = 43
KEY_SHARE = 51
_NAMED_CURVE = 3  # ECCurveType, RFC 8422 section 5.4


class ClientHello(NamedTuple):
    """The offers of a client. `groups` and `versions` are in the order of its preference."""

    random: bytes
    session_id: bytes
    sni: str | None
    alpn: str | None
    has_early_data: bool
    groups: tuple[int, ...]
    versions: tuple[int, ...]


class ServerHello(NamedTuple):
    """The choices of a server. `group` is that of TLS 1.3, None without a key exchange."""

    random: bytes
    session_id: bytes
    version: int
    suite: int
    alpn: str | None
    mac_last: bool
    has_chosen_psk: bool
    group: int | None

    @property
    def is_retry(self) -> bool:
        """Whether it asks for another ClientHello."""
        return self.random == RETRY_RANDOM


def parse_client_hello(body: bytes) -> ClientHello:
    """Parse the body of a ClientHello. Raises `ShortMessageError`."""
    cursor = Cursor(body)
    version = cursor.pull_uint(2)  # the highest one, without supported_versions
    random, session_id = cursor.pull(32), cursor.pull_vector(1)
    cursor.pull_vector(2)  # cipher_suites
    cursor.pull_vector(1)  # legacy_compression_methods
    extensions = parse_extensions(cursor)
    names = parse_alpn(extensions.get(ALPN))
    return ClientHello(
        random,
        session_id,
        _sni(extensions.get(SERVER_NAME)),
        names,
        EARLY_DATA in extensions,
        _numbers(extensions.get(SUPPORTED_GROUPS), 2),
        _numbers(extensions.get(SUPPORTED_VERSIONS), 1) or (version,),
    )


def parse_server_hello(body: bytes) -> ServerHello:
    """Parse the body of a ServerHello. Raises `ShortMessageError`."""
    cursor = Cursor(body)
    version = cursor.pull_uint(2)
    random, session_id = cursor.pull(32), cursor.pull_vector(1)
    suite = cursor.pull_uint(2)
    cursor.pull(1)  # legacy_compression_method
    extensions = parse_extensions(cursor)
    chosen = extensions.get(SUPPORTED_VERSIONS)
    if chosen is not None and len(chosen) == 2:
        version = int.from_bytes(chosen)
    alpn = parse_alpn(extensions.get(ALPN))
    mac_last, has_chosen_psk = ENCRYPT_THEN_MAC in extensions, PRE_SHARED_KEY in extensions
    share = extensions.get(KEY_SHARE, b"")
    group = int.from_bytes(share[:2]) if len(share) >= 2 else None  # RFC 8446 section 4.2.8, also of a retry
    return ServerHello(random, session_id, version, suite, alpn, mac_last, has_chosen_psk, group)


def parse_exchanged_group(body: bytes, suite: str) -> str | None:
    """Return the group in a ServerKeyExchange of TLS 1.2, None for another key exchange than (EC)DHE.

    RFC 8422 section 5.4, RFC 5246 section 7.4.3. Raises `ShortMessageError`.
    """
    cursor = Cursor(body)
    if "_ECDHE_" in suite:
        is_named = cursor.pull_uint(1) == _NAMED_CURVE
        return group_name(cursor.pull_uint(2)) if is_named else None
    if "_DHE_" in suite:
        prime = int.from_bytes(cursor.pull_vector(2))
        return f"DHE {prime.bit_length()} bits"
    return None


def _numbers(data: bytes | None, width: int) -> tuple[int, ...]:
    """Return numbers of two bytes after a length of `width` bytes, none if they are absent or malformed."""
    if not data:
        return ()
    try:
        inner = Cursor(Cursor(data).pull_vector(width))
        return tuple(inner.pull_uint(2) for _ in range(inner.left // 2))
    except ShortMessageError:
        return ()


def parse_extensions(cursor: Cursor) -> dict[int, bytes]:
    """Return extensions by type, if the message has any. Raises `ShortMessageError`."""
    if not cursor.left:
        return {}
    inner = Cursor(cursor.pull_vector(2))
    extensions: dict[int, bytes] = {}
    while inner.left:
        kind = inner.pull_uint(2)
        extensions[kind] = inner.pull_vector(2)
    return extensions


def parse_alpn(data: bytes | None) -> str | None:
    """Return protocol names of RFC 7301 section 3.1, joined by commas, or None if they are absent or
    malformed.
    """
    if data is None:
        return None
    names = []
    try:
        inner = Cursor(Cursor(data).pull_vector(2))
        while inner.left:
            names.append(inner.pull_vector(1).decode("utf-8", "replace"))
    except ShortMessageError:
        return None
    return ",".join(names)


def _sni(data: bytes | None) -> str | None:
    """Return the host name of RFC 6066 section 3."""
    if not data:
        return None
    try:
        inner = Cursor(Cursor(data).pull_vector(2))
        if inner.pull_uint(1) != 0:  # host_name is the only type
            return None
        return inner.pull_vector(2).decode("utf-8", "replace")
    except ShortMessageError:
        return None
