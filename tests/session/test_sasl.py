"""SASL phases: raw tokens after SaslHandshake v0, SaslAuthenticate after v1, and the principals they show."""

import base64
import json
import struct

import pytest

from kdissect.session.exchange import ExchangeKind, State
from kdissect.session.sasl import principal_of
from tests.support.messages.traffic import Conversation, frame, request, response
from tests.support.run import connections_of, exchanges_of

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


SCRAM_FIRST, SCRAM_FINAL = b"n,,n=bob,r=abc", b"c=biws,r=abcdef,p=cHJvb2Y="
SERVER_FIRST, SERVER_FINAL = b"r=abcdef,s=c2FsdA==,i=4096", b"v=c2ln"


def scram(version: int) -> Conversation:
    mechanism = b"\0\x0dSCRAM-SHA-256"
    talk = Conversation().handshake().client(request(HANDSHAKE, version, 1, mechanism))
    return talk.broker(response(1, struct.pack(">hi", 0, 1) + mechanism))


def authenticate(talk: Conversation, number: int, token: bytes, answer: bytes, error: int = 0) -> None:
    talk.client(request(AUTHENTICATE, 0, number, struct.pack(">i", len(token)) + token))
    talk.broker(response(number, struct.pack(">hhi", error, -1, len(answer)) + answer))


def test_scram_names_a_principal_after_its_last_round_alone() -> None:
    talk = scram(1)
    authenticate(talk, 2, SCRAM_FIRST, SERVER_FIRST)
    assert connections_of(talk.packets)[0].principal is None
    authenticate(talk, 3, SCRAM_FINAL, SERVER_FINAL)
    assert connections_of(talk.packets)[0].principal == "bob"


@pytest.mark.parametrize(("answer", "error"), [(b"", 58), (b"e=invalid-proof", 0)])
def test_a_scram_login_that_is_refused_names_nobody(answer: bytes, error: int) -> None:
    talk = scram(1)
    authenticate(talk, 2, SCRAM_FIRST, SERVER_FIRST)
    authenticate(talk, 3, SCRAM_FINAL, answer, error)
    assert connections_of(talk.packets)[0].principal is None


def test_raw_tokens_name_a_principal_once_the_last_is_answered() -> None:
    talk = handshake(0).client(frame(PLAIN_TOKEN))
    assert connections_of(talk.packets)[0].principal is None
    talk = scram(0).client(frame(SCRAM_FIRST)).broker(frame(SERVER_FIRST)).client(frame(SCRAM_FINAL))
    assert connections_of(talk.packets)[0].principal is None
    talk.broker(frame(SERVER_FINAL))
    assert connections_of(talk.packets)[0].principal == "bob"


def test_a_refusal_of_another_user_leaves_the_one_who_is_logged_in() -> None:
    talk = scram(1)
    authenticate(talk, 2, SCRAM_FIRST, SERVER_FIRST)
    authenticate(talk, 3, SCRAM_FINAL, SERVER_FINAL)
    mechanism = b"\0\x0dSCRAM-SHA-256"
    talk.client(request(HANDSHAKE, 1, 4, mechanism)).broker(response(4, struct.pack(">hi", 0, 1) + mechanism))
    authenticate(talk, 5, b"n,,n=eve,r=abc", SERVER_FIRST)
    authenticate(talk, 6, SCRAM_FINAL, b"", 58)
    assert connections_of(talk.packets)[0].principal == "bob"
