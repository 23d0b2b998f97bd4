"""SASL phases, principals, lifetimes."""

import pytest

from kdissect.history.connections.sasl_login import SaslFact, SaslHistory, SaslPhase
from kdissect.history.connections.token_faults import plain_fault
from kdissect.history.history import History
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed, kinds

HANDSHAKE, AUTHENTICATE, API_VERSIONS, METADATA = 17, 36, 18, 3
PLAIN = b"\0alice\0secret"


def handshake(talk: Talk, mechanism: str = "PLAIN", version: int = 1, error: int = 0) -> Exchange:
    listed = ["PLAIN"] if error else ["PLAIN", mechanism]
    return talk.ask(HANDSHAKE, version, {"mechanism": mechanism}, {"error_code": error, "mechanisms": listed})


def authenticate(
    talk: Talk, token: bytes = PLAIN, error: int = 0, lifetime: int = 0, reply: bytes = b""
) -> Exchange:
    answer = {
        "error_code": error, "error_message": None, "auth_bytes": reply, "session_lifetime_ms": lifetime,
    }  # fmt: skip
    return talk.ask(AUTHENTICATE, 2, {"auth_bytes": token}, answer)


def other(talk: Talk, at: int | None = None) -> Exchange:
    return talk.ask(METADATA, 1, {"topics": None}, {}, at=at)


def test_plain_authenticates_in_one_round_and_again() -> None:
    talk, machine = Talk(), SaslHistory()
    facts = feed(
        machine, handshake(talk), authenticate(talk), other(talk), handshake(talk), authenticate(talk),
        other(talk),
    )  # fmt: skip
    assert kinds(facts) == ["handshake", "authenticated", "handshake", "reauthenticated"]
    assert (facts[1].seen, facts[3].seen) == ("alice", "alice")
    (known,) = machine.connections
    assert (known.phase, known.principal, known.authentications) == (SaslPhase.AUTHENTICATED, "alice", 2)
    assert b"secret" not in known.first_token


def test_a_login_in_offered_versions_is_taken_by_the_history() -> None:
    talk, history = Talk(), History()
    keys = (API_VERSIONS, HANDSHAKE, AUTHENTICATE, METADATA)
    rows = [{"api_key": key, "min_version": 0, "max_version": 9} for key in keys]
    offer = talk.ask(API_VERSIONS, 3, {}, {"error_code": 0, "api_keys": rows})
    each = [offer, other(talk), handshake(talk), authenticate(talk), other(talk)]
    for exchange in each:
        exchange.bodies()  # exchanges of settled kinds are recognised by their decoded bodies
    facts = [fact for exchange in each for fact in history.add(exchange)]
    assert kinds(facts) == ["offered", "handshake", "authenticated"]


def test_scram_takes_two_rounds() -> None:
    talk, machine = Talk(), SaslHistory()
    first = feed(
        machine,
        handshake(talk, "SCRAM-SHA-256"),
        authenticate(talk, b"n,,n=bob,r=x", reply=b"r=xy,s=c2E=,i=4096"),
    )
    assert kinds(first) == ["handshake"]
    assert brief(feed(machine, authenticate(talk, b"c=biws,r=xy,p=p", reply=b"v=1"))) == [
        ("authenticated", None, "bob")
    ]


def test_a_bearer_refused_in_a_token_is_not_authenticated() -> None:
    talk, machine = Talk(), SaslHistory()
    refused = authenticate(talk, b"n,,\1auth=Bearer x\1\1", reply=b"{}")
    assert kinds(feed(machine, handshake(talk, "OAUTHBEARER"), refused)) == ["handshake"]
    assert kinds(feed(machine, authenticate(talk, b"\1", error=58))) == ["failed"]


def test_raw_tokens_after_the_old_handshake() -> None:
    talk, machine = Talk(), SaslHistory()
    facts = feed(machine, handshake(talk, version=0), talk.token(PLAIN), other(talk))
    assert kinds(facts) == ["handshake", "authenticated"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("handshake other", SaslFact.REQUEST_BEFORE_END),
        ("handshake handshake", SaslFact.HANDSHAKE_AGAIN),
        ("handshake versions", SaslFact.API_VERSIONS_LATE),
        ("handshake empty", SaslFact.TOKEN_DIFFERS),
        ("authenticate", SaslFact.WITHOUT_HANDSHAKE),
        ("old authenticate", SaslFact.AFTER_RAW_HANDSHAKE),
        ("refused other", SaslFact.USED_AFTER_FAILURE),
        ("handshake wrong other", SaslFact.USED_AFTER_FAILURE),
        ("handshake authenticate scram", SaslFact.MECHANISM_CHANGED),
        ("handshake authenticate handshake bob", SaslFact.PRINCIPAL_CHANGED),
    ],
)
def test_what_differs(steps: str, expected: SaslFact) -> None:
    talk = Talk()
    make = {
        "handshake": lambda: handshake(talk),
        "old": lambda: handshake(talk, version=0),
        "scram": lambda: handshake(talk, "SCRAM-SHA-256"),
        "refused": lambda: handshake(talk, "X", error=33),
        "authenticate": lambda: authenticate(talk),
        "bob": lambda: authenticate(talk, b"\0bob\0pw"),
        "wrong": lambda: authenticate(talk, error=58),
        "other": lambda: other(talk),
        "empty": lambda: authenticate(talk, b"\0alice\0"),
        "versions": lambda: talk.ask(API_VERSIONS, 0, {}, {}),
    }
    facts = feed(SaslHistory(), *[make[step]() for step in steps.split()])
    assert expected in [fact.kind for fact in facts]


def test_a_listener_without_sasl_goes_on() -> None:
    talk = Talk()
    facts = feed(SaslHistory(), handshake(talk, error=34), other(talk), other(talk))
    assert kinds(facts) == ["no_sasl"]


def test_a_session_expires_once() -> None:
    talk, machine = Talk(), SaslHistory()
    facts = feed(
        machine, handshake(talk), authenticate(talk, lifetime=1000), other(talk, at=900),
        other(talk, at=2004), other(talk, at=3000),
    )  # fmt: skip
    assert brief(facts[2:]) == [("session_expired", 1000, 1999)]


def test_without_a_handshake_nothing_is_expected() -> None:
    talk = Talk()
    talk.info.middle_start = True
    assert kinds(feed(SaslHistory(), other(talk), authenticate(talk), other(talk))) == []


def test_an_unknown_mechanism_is_over_when_a_request_is_answered() -> None:
    talk, machine = Talk(), SaslHistory()
    facts = feed(
        machine,
        handshake(talk, "GSSAPI"),
        authenticate(talk),
        authenticate(talk),
        authenticate(talk),
        other(talk),
    )
    assert kinds(facts) == ["handshake", "authenticated"]
    assert facts[1].seen is None


@pytest.mark.parametrize(
    ("client_first", "server_first", "client_final", "wrong"),
    [
        (b"n,,n=bob,r=x", b"r=xy,s=c2E=,i=4096", b"c=biws,r=xy,p=p", None),
        (b"n,,n=bob", b"r=xy,s=c2E=,i=4096", b"c=biws,r=xy,p=p", "no nonce"),
        (b"n,,n=bob,r=x", b"r=zy,s=c2E=,i=4096", b"c=biws,r=zy,p=p", "does not begin"),
        (b"n,,n=bob,r=x", b"r=xy,s=c2E=,i=100", b"c=biws,r=xy,p=p", "iterations"),
        (b"n,,n=bob,r=x", b"r=xy,s=c2E=,i=4096", b"c=biws,r=x,p=p", "another nonce"),
        (b"n,,n=bob,r=x", b"r=xy,s=c2E=,i=4096", b"c=biws,r=xy", "no proof"),
    ],
)
def test_scram_tokens(
    client_first: bytes, server_first: bytes, client_final: bytes, wrong: str | None
) -> None:
    talk = Talk()
    facts = feed(
        SaslHistory(), handshake(talk, "SCRAM-SHA-256"), authenticate(talk, client_first, reply=server_first),
        authenticate(talk, client_final, reply=b"v=1"),
    )  # fmt: skip
    found = [fact.detail for fact in facts if fact.kind is SaslFact.TOKEN_DIFFERS]
    assert not found if wrong is None else wrong in found[0]
    assert not any(b"secret" in str(fact).encode() for fact in facts)


def test_plain_tokens() -> None:
    assert plain_fault(b"\0alice\0secret") is None
    assert plain_fault(b"\0alice") == "1 NULs instead of 2"
    assert plain_fault(b"\0\0secret") == "the user is empty"
