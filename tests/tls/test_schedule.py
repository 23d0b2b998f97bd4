"""Key derivation against published vectors."""

from kdissect.tls.schedule import expand_label, keys_13, next_secret, prf
from kdissect.tls.suites import SUITES


def test_keys_of_rfc_8448() -> None:
    # RFC 8448 section 3 "Simple 1-RTT Handshake": {server} derive write traffic keys for handshake data.
    secret = bytes.fromhex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38")
    keys = keys_13(SUITES[0x1301], secret)
    assert keys.key.hex() == "3fce516009c21727d0f2e4e86ee403bc"
    assert keys.nonce.hex() == "5d313eb2671276ee13000b30"


def test_client_keys_of_rfc_8448() -> None:
    secret = bytes.fromhex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21")
    keys = keys_13(SUITES[0x1301], secret)
    assert (keys.key.hex(), keys.nonce.hex()) == (
        "dbfaa693d1762c5b666af5d950258d01",
        "5bd3c71b836e0b76bb73265f",
    )


def test_next_secret_is_one_label_on() -> None:
    secret = bytes(range(48))
    suite = SUITES[0x1302]
    assert next_secret(suite, secret) == expand_label(secret, b"traffic upd", 48, "sha384")


def test_prf_of_tls_12() -> None:
    # The vector for P_SHA256 that implementers of TLS 1.2 exchanged on the IETF's TLS list.
    output = prf(
        bytes.fromhex("9bbe436ba940f017b17652849a71db35"),
        b"test label",
        bytes.fromhex("a0ba9f936cda311827a6f796ffd5198c"),
        100,
        "sha256",
    )
    assert output.hex() == (
        "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0f"
        "a022f7077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff7018734"
        "7b66"
    )
