"""Opens the records of one direction.

Rules:
- Records are numbered from 0 for each key. The number is part of the authenticated data (RFC 8446 section
  5.3,
  RFC 5246 section 6.2.3.3).
- `open` returns None if the tag or MAC does not fit, and does not count the record then: the caller decides.
- Between calls the state is plain and can be pickled: ciphers are built again if they are missing.
"""

import hmac
from typing import Any, NamedTuple, Protocol

from kdissect.tls.schedule import MAC_BYTES, Keys, keys_13, next_secret
from kdissect.tls.suites import Bulk, Suite
from kdissect.tls.tls_record import Record

_EXPLICIT_NONCE = 8  # bytes before the ciphertext, RFC 5288 section 3
_BLOCK = 16  # bytes of an AES block, and of CBC's initialisation vector


class Plain(NamedTuple):
    """An opened record. The content's bytes begin `offset` bytes after the record's header."""

    kind: int
    content: bytes
    offset: int


class Protection(Protocol):
    """One direction's keys."""

    number: int
    """Of the next record."""
    overhead: int | None
    """Bytes a record is longer than its content, or None if that depends on the content."""

    def open(self, record: Record) -> Plain | None:
        """Return the record's content, without counting it, or None if it is not authentic."""


def _aead(suite: Suite, key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import aead  # an extra

    if suite.bulk is Bulk.GCM:
        return aead.AESGCM(key)
    if suite.bulk is Bulk.CCM:
        return aead.AESCCM(key, tag_length=suite.tag_bytes)
    return aead.ChaCha20Poly1305(key)


def _decrypt(cipher: Any, nonce: bytes, data: bytes, associated: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag  # an extra

    try:
        opened: bytes = cipher.decrypt(nonce, data, associated)
    except (InvalidTag, ValueError):  # ValueError: shorter than a tag
        return None
    return opened


def _xor_number(nonce: bytes, number: int) -> bytes:
    return (int.from_bytes(nonce) ^ number).to_bytes(len(nonce))


class _Keyed:
    """Common part of all protections. `cipher` does not survive pickling."""

    def __init__(self, suite: Suite, keys: Keys) -> None:
        self.suite = suite
        self.keys = keys
        self.number = 0
        self._cipher: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cipher": None}

    @property
    def cipher(self) -> Any:
        """The cipher of the key, made on first use."""
        if self._cipher is None:
            self._cipher = _aead(self.suite, self.keys.key)
        return self._cipher


class Aead13(_Keyed):
    """TLS 1.3, RFC 8446 section 5.2: the type is after the content, followed by zeros."""

    def __init__(self, suite: Suite, secret: bytes) -> None:
        super().__init__(suite, keys_13(suite, secret))
        self._secret = secret
        self.overhead: int | None = suite.tag_bytes + 1

    def open(self, record: Record) -> Plain | None:
        """See `Protection`."""
        nonce = _xor_number(self.keys.nonce, self.number)
        opened = _decrypt(self.cipher, nonce, record.body, record.header)
        if opened is None:
            return None
        content = opened.rstrip(b"\0")
        return Plain(content[-1], content[:-1], 0) if content else None

    def updated(self) -> "Aead13":
        """Return the protection after a KeyUpdate."""
        return Aead13(self.suite, next_secret(self.suite, self._secret))


class Aead12(_Keyed):
    """TLS 1.2 with GCM or CCM (RFC 5288, RFC 6655) or ChaCha20 (RFC 7905, whose nonce is not sent)."""

    def __init__(self, suite: Suite, keys: Keys) -> None:
        super().__init__(suite, keys)
        self._explicit = 0 if suite.bulk is Bulk.CHACHA else _EXPLICIT_NONCE
        self.overhead: int | None = self._explicit + suite.tag_bytes

    def open(self, record: Record) -> Plain | None:
        """See `Protection`."""
        body, skip = record.body, self._explicit
        length = len(body) - skip - self.suite.tag_bytes
        if length < 0:
            return None
        nonce = self.keys.nonce + body[:skip] if skip else _xor_number(self.keys.nonce, self.number)
        associated = self.number.to_bytes(8) + record.header[:3] + length.to_bytes(2)
        opened = _decrypt(self.cipher, nonce, body[skip:], associated)
        return None if opened is None else Plain(record.kind, opened, skip)


class Cbc12(_Keyed):
    """TLS 1.2 with CBC, RFC 5246 section 6.2.3.2; `mac_last`: RFC 7366 "Encrypt-then-MAC"."""

    overhead: int | None = None

    def __init__(self, suite: Suite, keys: Keys, mac_last: bool) -> None:
        super().__init__(suite, keys)
        self._mac_last = mac_last
        self._mac_bytes = MAC_BYTES[suite.mac]

    def open(self, record: Record) -> Plain | None:
        """See `Protection`."""
        body, tag = record.body, b""
        if self._mac_last:
            body, tag = body[: -self._mac_bytes], body[-self._mac_bytes :]
            if not self._is_authentic(record, body, tag):
                return None
        if len(body) < 2 * _BLOCK or len(body) % _BLOCK:
            return None
        padded = self._decrypted(body)
        content = padded[: -padded[-1] - 1]
        if not self._mac_last:
            content, tag = content[: -self._mac_bytes], content[-self._mac_bytes :]
            if not self._is_authentic(record, content, tag):
                return None
        return Plain(record.kind, content, _BLOCK)

    def _decrypted(self, body: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # an extra

        decryptor = Cipher(algorithms.AES(self.keys.key), modes.CBC(body[:_BLOCK])).decryptor()
        return decryptor.update(body[_BLOCK:]) + decryptor.finalize()

    def _is_authentic(self, record: Record, data: bytes, tag: bytes) -> bool:
        head = self.number.to_bytes(8) + record.header[:3] + len(data).to_bytes(2)
        return hmac.compare_digest(hmac.digest(self.keys.mac_key, head + data, self.suite.mac), tag)


def protection_12(suite: Suite, keys: Keys, mac_last: bool) -> Protection:
    """Return the protection of a TLS 1.2 suite."""
    return Cbc12(suite, keys, mac_last) if suite.bulk is Bulk.CBC else Aead12(suite, keys)
