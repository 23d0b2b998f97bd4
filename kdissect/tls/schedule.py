"""Keys from secrets: the PRF of TLS 1.2 (RFC 5246 section 5) and HKDF of TLS 1.3 (RFC 8446 section 7.1)."""

import hmac
from typing import NamedTuple

from kdissect.tls.suites import Bulk, Suite

AEAD_NONCE = 12  # bytes, RFC 5116 section 4
FIXED_NONCE = 4  # bytes of it that TLS 1.2 derives for GCM and CCM, RFC 5288 section 3
MAC_BYTES = {"": 0, "sha1": 20, "sha256": 32, "sha384": 48}


class Keys(NamedTuple):
    """The keys that protect one direction's records."""

    key: bytes
    nonce: bytes
    mac_key: bytes = b""


def prf(secret: bytes, label: bytes, seed: bytes, length: int, hash_name: str) -> bytes:
    """P_hash of RFC 5246 section 5, over label and seed."""
    seed = label + seed
    block, output = seed, b""
    while len(output) < length:
        block = hmac.digest(secret, block, hash_name)
        output += hmac.digest(secret, block + seed, hash_name)
    return output[:length]


def expand_label(secret: bytes, label: bytes, length: int, hash_name: str) -> bytes:
    """HKDF-Expand-Label with an empty context; `length` at most one hash."""
    full = b"tls13 " + label
    info = length.to_bytes(2) + bytes([len(full)]) + full + b"\0"
    return hmac.digest(secret, info + b"\1", hash_name)[:length]


def keys_12(suite: Suite, master: bytes, client_random: bytes, server_random: bytes) -> tuple[Keys, Keys]:
    """Return the client's and the server's keys: the key block of RFC 5246 section 6.3."""
    mac = MAC_BYTES[suite.mac]
    nonce = {Bulk.CHACHA: AEAD_NONCE, Bulk.CBC: 0}.get(suite.bulk, FIXED_NONCE)
    sizes = (mac, mac, suite.key_bytes, suite.key_bytes, nonce, nonce)
    block = prf(master, b"key expansion", server_random + client_random, sum(sizes), suite.hash)
    parts = []
    for size in sizes:
        parts.append(block[:size])
        block = block[size:]
    return Keys(parts[2], parts[4], parts[0]), Keys(parts[3], parts[5], parts[1])


def keys_13(suite: Suite, secret: bytes) -> Keys:
    """Return the keys of one traffic secret, RFC 8446 section 7.3."""
    key = expand_label(secret, b"key", suite.key_bytes, suite.hash)
    return Keys(key, expand_label(secret, b"iv", AEAD_NONCE, suite.hash))


def secret_bytes(suite: Suite) -> int:
    """Return the length of a suite's secrets in TLS 1.3: that of its hash, RFC 8446 section 7.1."""
    return MAC_BYTES[suite.hash]


def next_secret(suite: Suite, secret: bytes) -> bytes:
    """Return the traffic secret after a KeyUpdate, RFC 8446 section 7.2."""
    return expand_label(secret, b"traffic upd", len(secret), suite.hash)
