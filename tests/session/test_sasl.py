"""SASL phases: raw tokens after SaslHandshake v0, SaslAuthenticate after v1, and the principals they show."""

import base64
import json
import struct

import pytest

from kdissect.session.exchange import ExchangeKind, State
from kdissect.session.sasl import principal_of
from tests.support.run import connections_of, exchanges_of
from tests.support.traffic import Conversation, frame, request, response

HANDSHAKE, AUTHENTICATE, METADATA = 17, 36, 3
PLAIN_TOKEN = b"\0alice\0secret"
MECHANISMS = struct.pack(">hi", 0, 1) + b"\0\5PLAIN"


def handshake(version: int) -> Conversation:
    talk = Conversation().handshake().client(request(HANDSHAKE, version, 1, b"\0\5PLAIN"))
    return talk.broker(response(1, MECHANISMS))


def test_raw_tokens_are_rows_of_their_own() -> None:
    talk = handshake(0).client(frame(PLAIN_TOKEN)).broker(frame(b""))
    talk.client(request(METADATA, 0, 2, b"\0\0\0\0")).broker(response(2, b"\0" * 8))
    found = exchanges_of(talk.packets)
    assert [(e.kind, e.api_key, e.state) for e in found] == [
        (ExchangeKind.KAFKA, HANDSHAKE, State.COMPLETE),
        (ExchangeKind.SASL_TOKEN, None, State.COMPLETE),
        (ExchangeKind.KAFKA, METADATA, State.COMPLETE),
    ]
    assert found[1].request is not None and found[1].request.data == PLAIN_TOKEN
    assert found[1].response is not None and found[1].response.data == b""
    assert not any(e.all_anomalies() for e in found)
    (connection,) = connections_of(talk.packets)
    assert (connection.principal, connection.mechanism) == ("alice", "PLAIN")


def test_authenticate_after_handshake_v1() -> None:
    talk = handshake(1).client(request(AUTHENTICATE, 0, 2, struct.pack(">i", len(PLAIN_TOKEN)) + PLAIN_TOKEN))
    talk.broker(response(2, struct.pack(">hh", 0, -1) + struct.pack(">i", 0)))
    assert [e.api_key for e in exchanges_of(talk.packets)] == [HANDSHAKE, AUTHENTICATE]
    (connection,) = connections_of(talk.packets)
    assert connection.principal == "alice"


def test_refused_authentication_names_no_principal() -> None:
    talk = handshake(1).client(request(AUTHENTICATE, 0, 2, struct.pack(">i", len(PLAIN_TOKEN)) + PLAIN_TOKEN))
    talk.broker(response(2, struct.pack(">hh", 58, -1) + struct.pack(">i", 0)))
    (connection,) = connections_of(talk.packets)
    assert connection.principal is None


JWT = b".".join(
    base64.urlsafe_b64encode(part).rstrip(b"=") for part in (b"{}", json.dumps({"sub": "svc"}).encode(), b"s")
)


@pytest.mark.parametrize(
    ("mechanism", "token", "principal"),
    [
        ("PLAIN", b"\0alice\0secret", "alice"),
        ("PLAIN", b"other\0alice\0secret", "alice"),
        ("PLAIN", b"alice", None),
        ("SCRAM-SHA-256", b"n,,n=bob=2Cthe=3Dbuilder,r=abc", "bob,the=builder"),
        ("SCRAM-SHA-512", b"c=biws,r=abc,p=proof", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer " + JWT + b"\x01\x01", "svc"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer opaque\x01\x01", None),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.!!!.c\x01\x01", None),
        ("GSSAPI", b"`\x82", None),
        (None, b"", None),
    ],
)
def test_principals(mechanism: str | None, token: bytes, principal: str | None) -> None:
    assert principal_of(mechanism, token) == principal
