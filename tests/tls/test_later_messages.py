"""What Python's OpenSSL does not do on request: key updates, sealed here by other code."""

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from tests.tls.listener import Listener, Secrets
from tests.tls.openssl import CLIENT, SERVER, Peers

KEY_UPDATE = bytes.fromhex("1800000100")  # RFC 8446 section 4.6.3: update_not_requested
HANDSHAKE, DATA = 22, 23


def expand(secret: bytes, label: bytes, length: int) -> bytes:
    label = b"tls13 " + label
    info = length.to_bytes(2) + bytes([len(label)]) + label + b"\0"
    return HKDFExpand(hashes.SHA384(), length, info).derive(secret)


def record_13(secret: bytes, number: int, kind: int, content: bytes, padding: int = 0) -> bytes:
    nonce = int.from_bytes(expand(secret, b"iv", 12)) ^ number
    inner = content + bytes([kind]) + bytes(padding)
    header = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2)
    return header + AESGCM(expand(secret, b"key", 32)).encrypt(nonce.to_bytes(12), inner, header)


def test_key_update(tmp_path: Path) -> None:
    talk = Peers(tmp_path, ssl.TLSVersion.TLSv1_3).talk([(CLIENT, b"hello"), (SERVER, b"there")])
    assert talk.suite == "TLS_AES_256_GCM_SHA384"
    lines = [line.split() for line in talk.key_log.decode().splitlines() if line[:1] != "#"]
    secret = bytes.fromhex(next(words[2] for words in lines if words[0] == "SERVER_TRAFFIC_SECRET_0"))
    wire = talk.wire[:-1] if talk.wire[-1][0] == SERVER else talk.wire  # not the server's close_notify
    listener = Listener(Secrets(talk.key_log)).hear(wire)
    protection = listener.tls.sides[SERVER].protection
    assert protection is not None
    listener.hear([(SERVER, record_13(secret, protection.number, HANDSHAKE, KEY_UPDATE))])
    for turn in range(3):
        secret = expand(secret, b"traffic upd", 48)
        padded = record_13(secret, 0, DATA, f"after update {turn} ".encode(), padding=turn * 100)
        listener.hear([(SERVER, padded), (SERVER, record_13(secret, 1, HANDSHAKE, KEY_UPDATE))])
    assert listener.sinks[SERVER].text == b"thereafter update 0 after update 1 after update 2 "
    assert listener.noted == []


def test_a_renegotiation_whose_hello_is_malformed_costs_what_follows(tmp_path: Path) -> None:
    talk = Peers(tmp_path, ssl.TLSVersion.TLSv1_2, "AES256-GCM-SHA384").talk([(CLIENT, b"hello" * 20)])
    wire = talk.wire[:-1]
    while len(wire[-1][1]) < 40:  # close_notify
        wire.pop()
    listener = Listener(Secrets(talk.key_log)).hear(wire)
    protection = listener.tls.sides[CLIENT].protection
    assert protection is not None
    hello = b"\x01\x00\x00\x02hi"
    number, fixed = protection.number, protection.keys.nonce  # type: ignore[attr-defined]
    explicit = number.to_bytes(8)
    associated = explicit + b"\x16\x03\x03" + len(hello).to_bytes(2)
    sealed = AESGCM(protection.keys.key).encrypt(fixed + explicit, hello, associated)  # type: ignore[attr-defined]
    body = explicit + sealed
    listener.hear([(CLIENT, b"\x16\x03\x03" + len(body).to_bytes(2) + body)]).end()
    assert listener.sinks[CLIENT].text == b"hello" * 20
    assert listener.info.why is not None
    assert listener.info.why.startswith("malformed handshake: ")


@pytest.mark.parametrize(
    ("version", "suite", "why"),
    [
        (0x0303, 0x0005, "cipher suite 0x0005 is not supported"),
        (0x0302, 0xC013, "TLS 1.1 is not supported"),
        (0x0303, 0x1301, "cipher suite TLS_AES_128_GCM_SHA256 is not supported"),  # of TLS 1.3 alone
    ],
)
def test_what_is_not_supported_says_so(version: int, suite: int, why: str) -> None:
    hello = b"\x03\x03" + bytes(32) + b"\0" + b"\x00\x02\xc0\x13" + b"\x01\x00"
    answer = version.to_bytes(2) + bytes(range(32)) + b"\0" + suite.to_bytes(2) + b"\0"
    wire = [(CLIENT, _handshake(1, hello)), (SERVER, _handshake(2, answer))]
    listener = Listener(Secrets(b"", may_grow=True)).hear(wire).end()
    assert listener.info.why == why


def _handshake(kind: int, body: bytes) -> bytes:
    message = bytes([kind]) + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message
