"""Groups of the key exchange: names by number.

Numbers and names: IANA "TLS Supported Groups" registry. Hybrids of an elliptic curve and ML-KEM stay secret
if one of the two is broken, as by a quantum computer (draft-ietf-tls-ecdhe-mlkem).
"""

_NAMES = {
    0x0013: "secp192r1", 0x0015: "secp224r1", 0x0016: "secp256k1", 0x0017: "secp256r1", 0x0018: "secp384r1",
    0x0019: "secp521r1", 0x001A: "brainpoolP256r1", 0x001B: "brainpoolP384r1", 0x001C: "brainpoolP512r1",
    0x001D: "x25519", 0x001E: "x448", 0x001F: "brainpoolP256r1tls13", 0x0020: "brainpoolP384r1tls13",
    0x0021: "brainpoolP512r1tls13", 0x0029: "curveSM2", 0x0100: "ffdhe2048", 0x0101: "ffdhe3072",
    0x0102: "ffdhe4096", 0x0103: "ffdhe6144", 0x0104: "ffdhe8192", 0x0200: "MLKEM512", 0x0201: "MLKEM768",
    0x0202: "MLKEM1024", 0x11EB: "SecP256r1MLKEM768", 0x11EC: "X25519MLKEM768", 0x11ED: "SecP384r1MLKEM1024",
    0x11EE: "curveSM2MLKEM768", 0x6399: "X25519Kyber768Draft00", 0x639A: "SecP256r1Kyber768Draft00",
}  # fmt: skip
_POST_QUANTUM = ("MLKEM", "Kyber")


def group_name(code: int) -> str:
    """Return the name of a group, or its number if this program does not know it."""
    return _NAMES.get(code, f"0x{code:04x}")


def is_post_quantum(name: str) -> bool | None:
    """Return whether a group resists a quantum computer; None for one that this program does not know."""
    if name.startswith("0x"):
        return None
    return any(part in name for part in _POST_QUANTUM)


def is_grease(code: int) -> bool:
    """Return whether a number means nothing: clients add such ones so that servers skip them (RFC 8701)."""
    return code & 0x0F0F == 0x0A0A and code >> 8 == code & 0xFF
