"""Cipher suites: the protection of records, and the hash that derives the keys.

Numbers and names: IANA "TLS Cipher Suites" registry. Defined in RFC 5246 (CBC), 5288 and 5289 (GCM), 6655 and
7251 (CCM), 7905 (ChaCha20), 8446 (TLS 1.3).
"""

from enum import StrEnum
from typing import NamedTuple


class Bulk(StrEnum):
    """Protection of records."""

    GCM = "gcm"
    CCM = "ccm"
    CHACHA = "chacha20"
    CBC = "cbc"


class Suite(NamedTuple):
    """A suite: bytes of the key, hash of the PRF or HKDF, bytes of the tag or hash of the MAC."""

    code: int
    name: str
    bulk: Bulk
    key_bytes: int
    hash: str
    tag_bytes: int = 16
    mac: str = ""
    is_13: bool = False


_TLS13 = (
    (0x1301, "AES_128_GCM_SHA256", Bulk.GCM, 16, "sha256", 16),
    (0x1302, "AES_256_GCM_SHA384", Bulk.GCM, 32, "sha384", 16),
    (0x1303, "CHACHA20_POLY1305_SHA256", Bulk.CHACHA, 32, "sha256", 16),
    (0x1304, "AES_128_CCM_SHA256", Bulk.CCM, 16, "sha256", 16),
    (0x1305, "AES_128_CCM_8_SHA256", Bulk.CCM, 16, "sha256", 8),
)
# Key exchange -> codes of its suites, by what protects the records.
_AES_128_GCM = {
    "RSA": 0x009C, "DHE_RSA": 0x009E, "DHE_DSS": 0x00A2, "ECDHE_ECDSA": 0xC02B, "ECDH_ECDSA": 0xC02D,
    "ECDHE_RSA": 0xC02F, "ECDH_RSA": 0xC031,
}  # fmt: skip
_AES_256_GCM = {exchange: code + 1 for exchange, code in _AES_128_GCM.items()}
_CHACHA = {"ECDHE_RSA": 0xCCA8, "ECDHE_ECDSA": 0xCCA9, "DHE_RSA": 0xCCAA}
_AES_128_CCM = {"RSA": 0xC09C, "DHE_RSA": 0xC09E, "ECDHE_ECDSA": 0xC0AC}
_AES_256_CCM = {exchange: code + 1 for exchange, code in _AES_128_CCM.items()}
_AES_128_CCM_8 = {"RSA": 0xC0A0, "DHE_RSA": 0xC0A2, "ECDHE_ECDSA": 0xC0AE}
_AES_256_CCM_8 = {exchange: code + 1 for exchange, code in _AES_128_CCM_8.items()}
_AES_128_CBC_SHA = {
    "RSA": 0x002F, "DHE_DSS": 0x0032, "DHE_RSA": 0x0033, "ECDH_ECDSA": 0xC004, "ECDHE_ECDSA": 0xC009,
    "ECDH_RSA": 0xC00E, "ECDHE_RSA": 0xC013,
}  # fmt: skip
_AES_256_CBC_SHA = {
    "RSA": 0x0035, "DHE_DSS": 0x0038, "DHE_RSA": 0x0039, "ECDH_ECDSA": 0xC005, "ECDHE_ECDSA": 0xC00A,
    "ECDH_RSA": 0xC00F, "ECDHE_RSA": 0xC014,
}  # fmt: skip
_AES_128_CBC_SHA256 = {
    "RSA": 0x003C, "DHE_DSS": 0x0040, "DHE_RSA": 0x0067, "ECDHE_ECDSA": 0xC023, "ECDH_ECDSA": 0xC025,
    "ECDHE_RSA": 0xC027, "ECDH_RSA": 0xC029,
}  # fmt: skip
_AES_256_CBC_SHA256 = {"RSA": 0x003D, "DHE_DSS": 0x006A, "DHE_RSA": 0x006B}
_AES_256_CBC_SHA384 = {
    "ECDHE_ECDSA": 0xC024, "ECDH_ECDSA": 0xC026, "ECDHE_RSA": 0xC028, "ECDH_RSA": 0xC02A,
}  # fmt: skip
# name after WITH, codes, bulk, key bytes, hash of the PRF, tag bytes, hash of the MAC
_TLS12 = (
    ("AES_128_GCM_SHA256", _AES_128_GCM, Bulk.GCM, 16, "sha256", 16, ""),
    ("AES_256_GCM_SHA384", _AES_256_GCM, Bulk.GCM, 32, "sha384", 16, ""),
    ("CHACHA20_POLY1305_SHA256", _CHACHA, Bulk.CHACHA, 32, "sha256", 16, ""),
    ("AES_128_CCM", _AES_128_CCM, Bulk.CCM, 16, "sha256", 16, ""),
    ("AES_256_CCM", _AES_256_CCM, Bulk.CCM, 32, "sha256", 16, ""),
    ("AES_128_CCM_8", _AES_128_CCM_8, Bulk.CCM, 16, "sha256", 8, ""),
    ("AES_256_CCM_8", _AES_256_CCM_8, Bulk.CCM, 32, "sha256", 8, ""),
    ("AES_128_CBC_SHA", _AES_128_CBC_SHA, Bulk.CBC, 16, "sha256", 0, "sha1"),
    ("AES_256_CBC_SHA", _AES_256_CBC_SHA, Bulk.CBC, 32, "sha256", 0, "sha1"),
    ("AES_128_CBC_SHA256", _AES_128_CBC_SHA256, Bulk.CBC, 16, "sha256", 0, "sha256"),
    ("AES_256_CBC_SHA256", _AES_256_CBC_SHA256, Bulk.CBC, 32, "sha256", 0, "sha256"),
    ("AES_256_CBC_SHA384", _AES_256_CBC_SHA384, Bulk.CBC, 32, "sha384", 0, "sha384"),
)


def _table() -> dict[int, Suite]:
    suites = [
        Suite(code, f"TLS_{name}", bulk, key, hashed, tag, is_13=True)
        for code, name, bulk, key, hashed, tag in _TLS13
    ]
    suites += [
        Suite(code, f"TLS_{exchange}_WITH_{name}", bulk, key, hashed, tag, mac)
        for name, codes, bulk, key, hashed, tag, mac in _TLS12
        for exchange, code in codes.items()
    ]
    return {suite.code: suite for suite in suites}


SUITES = _table()


def suite_name(code: int) -> str:
    """Return the name of a suite, or its number if this program does not know it."""
    suite = SUITES.get(code)
    return suite.name if suite else f"0x{code:04x}"
