"""SASL tokens: what is told of them, and what never is. Some of the tokens are Apache Kafka's own."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.decoders.payloads.nesting import find, token_jsonable
from kdissect.decoders.payloads.scope import Scope
from tests.decoders.payloads.vectors import decoded, groups

SCRAM = {"mechanism": "SCRAM-SHA-256"}
# RFC 5802 section 5 and RFC 7677 section 3: the exchange that both print.
RFC_7677 = [
    b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
]


def told(token: bytes, show_secrets: bool = False, **facts: Any) -> Any:
    found = decoded("saslToken", token, facts, show_secrets)
    return found and found["value"]


def test_plain() -> None:
    assert told(b"\0alice\0opensesame", mechanism="PLAIN") == {
        "authzid": "", "authcid": "alice", "passwd": "***",
    }  # fmt: skip
    assert told(b"bob\0alice\0opensesame", True, mechanism="plain")["passwd"] == "opensesame"
    assert told(b"\0alice\0opensesame") == told(b"\0alice\0opensesame", mechanism="PLAIN")  # recognised
    for odd in (b"alice\0opensesame", b"\0alice\0open\0sesame", b"opensesame"):
        assert told(odd, mechanism="PLAIN") is None
    assert told(b"\0alice\0opensesame", mechanism="PLAIN", from_client=False) is None


@pytest.mark.parametrize("facts", [SCRAM, {}])
def test_scram_as_printed_in_its_rfc(facts: dict[str, Any]) -> None:
    first, challenge, final = (told(token, **facts) for token in RFC_7677[:3])
    assert first == {
        "channel_binding": "n",
        "authzid": "",
        "username": "user",
        "nonce": "rOprNGfwEbeRWgbNEkqO",
    }
    assert challenge["nonce"] == final["nonce"] == "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert (challenge["salt"], challenge["iterations"], final["proof"]) == ("***", "4096", "***")
    assert told(RFC_7677[3], **facts, from_client=False) == {"verifier": "***"}
    shown = [told(token, True, **SCRAM) for token in RFC_7677]
    assert shown[1]["salt"] == "W22ZaJ0SNY7soEsUEjb6gQ=="
    assert shown[2]["proof"] == "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


def test_scram_as_kafka_writes_it() -> None:
    first = told(groups()["ScramClientFirst"], **SCRAM)
    assert first["username"] == "al=2Cice"
    assert first["nonce"] == "nonce+r=i=1"  # attributes end at commas alone
    assert first["extensions"] == [{"name": "tokenauth", "value": "true"}]  # KIP-48
    challenge = told(groups()["ScramServerFirst"], **SCRAM)
    assert challenge == {"nonce": "nonce+r=i=1server", "salt": "***", "iterations": "4096"}
    assert told(groups()["ScramClientFinal"], **SCRAM)["proof"] == "***"
    assert told(groups()["ScramServerFinal"], **SCRAM) == {"verifier": "***"}
    assert told(groups()["ScramServerError"], **SCRAM) == {"error": "invalid-proof"}


@pytest.mark.parametrize(
    "token",
    [
        b"c=biws,r=x,p=hunter2,p=hunter2", b"n,,n=u,r=x,p=hunter2", b"r=x,hunter2", b"hunter2",
        b"r=x,s=hunter2,s=y",
        b"v=x,s=hunter2",
    ],
)  # fmt: skip
def test_scram_that_hides_secrets_in_odd_places_stays_masked(token: bytes) -> None:
    assert "hunter2" not in json.dumps(token_jsonable(token, SCRAM, show_secrets=False))


def test_scram_has_each_attribute_once() -> None:
    assert told(b"r=x,s=y,i=1", **SCRAM) is not None
    assert told(b"r=x,r=x,s=y,i=1", **SCRAM) is None


def test_oauthbearer() -> None:
    token = groups()["OauthClient"]
    for facts in ({"mechanism": "OAUTHBEARER"}, {}):
        assert told(token, **facts) == {
            "channel_binding": "n", "authzid": "alice", "token": "***",
            "extensions": [{"name": "traceId", "value": "123"}],
        }  # fmt: skip
    assert told(token, True)["token"] == "tok.en.SECRETTOKEN"
    error = told(b'{"status":"invalid_token"}', mechanism="OAUTHBEARER", from_client=False)
    assert error == {"status": "invalid_token"}
    assert told(b"\x01", mechanism="OAUTHBEARER") == {}
    for odd in (
        b"n,,\x01auth=Bearer hunter2",
        b"n,,auth=Bearer hunter2\x01\x01",
        b"n,,\x01x=hunter2\x01\x01",
    ):
        assert "hunter2" not in json.dumps(
            token_jsonable(odd, {"mechanism": "OAUTHBEARER"}, show_secrets=False)
        )


def test_gssapi_shows_the_mechanism_alone() -> None:
    kerberos = bytes.fromhex("06092a864886f712010202")  # RFC 4121 section 1: 1.2.840.113554.1.2.2
    ticket = b"\x01\x00" + b"ticket"
    token = b"\x60" + bytes([len(kerberos + ticket)]) + kerberos + ticket
    expected = {"mechanism": "1.2.840.113554.1.2.2", "token_id": 256, "token": "***"}
    assert told(token, mechanism="GSSAPI") == told(token) == expected
    spnego = bytes.fromhex("06062b0601050502") + b"negotiate"  # RFC 4178 section 3.1: 1.3.6.1.5.5.2
    assert told(b"\x60\x81" + bytes([len(spnego)]) + spnego, mechanism="GSSAPI") == {
        "mechanism": "1.3.6.1.5.5.2", "token": "***",
    }  # fmt: skip
    assert told(b"\x05\x04\x00wrapped", mechanism="GSSAPI") == {"token_id": 0x0504, "token": "***"}
    assert told(b"", mechanism="GSSAPI") is None
    assert told(b"\x60\x82\x01", mechanism="GSSAPI") is None


def test_unknown_mechanisms_stay_masked() -> None:
    assert token_jsonable(b"\0a\0hunter2", {"mechanism": "AWS_MSK_IAM"}, show_secrets=False) == {
        "token": "***"
    }


tokens = st.binary(max_size=60) | st.builds(
    b"".join,
    st.lists(st.sampled_from([b"n", b"y", b",", b"=", b"a", b"r", b"s", b"p", b"\0", b"\1", b"auth=", b"x"])),
)


@settings(max_examples=300, deadline=None)
@given(tokens, st.sampled_from([None, "PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"]), st.booleans())
def test_any_bytes_give_a_tree_that_fills_them(
    token: bytes, mechanism: str | None, from_client: bool
) -> None:
    decoded("saslToken", token, {"mechanism": mechanism, "from_client": from_client})
    assert find("saslToken", b"", 0, 0, Scope()) is None
