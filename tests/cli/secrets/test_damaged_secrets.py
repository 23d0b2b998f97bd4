"""Secrets that damage moves to where none belongs, and configs that nobody knows: nothing is shown."""

import struct
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.schema.secrets import MASK
from kdissect.session.exchange import ExchangeKind
from tests.support.messages.planted import SASL_AUTHENTICATE, SASL_HANDSHAKE, SECRET, changes, needles
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, frame, request, response
from tests.support.packets.damaged import damaged, hunt, looks, message_lists, printed, shown
from tests.support.packets.pcaps import pcap_bytes, write_pcap

# Numbers of captures that once showed a secret.
FOUND = (
    14,
    20,
    31,
    36,
    38,
    44,
    66,
    233,
    551,
    748,
    1110,
    1177,
    1211,
    1453,
    25385,
    25471,
    25606,
    1323,
    17533,
    17672,
    42001,
    9044,
    22432,
    27425,
    28565,
    28570,
    7328,
    35924,
    38891,
)
ALL = 50_000
EVERY = 13  # shares no factor with the number of conversations or of looks
PLAIN = b"\0alice\0" + SECRET.encode()
FORMS = (("--format", "tree"), ("--format", "jsonl", "--bodies"), ("--format", "table"))


def masked(path: str) -> str:
    """Return what the forms of `inspect` show; fails where the secret is among it, or is not with
    --show-secrets.
    """
    out = b"".join(printed("inspect", path, *form) for form in FORMS)
    assert not any(needle in out for needle in needles(SECRET)), out.decode()
    bare = b"".join(printed("inspect", path, *form, "--show-secrets") for form in FORMS[:1])
    assert any(needle in bare for needle in needles(SECRET)), bare.decode()
    return out.decode()


def talk(asked: bytes, answered: bytes = b"") -> Conversation:
    """Return a connection with one exchange."""
    made = Conversation().handshake().client(asked)
    return made.broker(answered) if answered else made


def test_an_unknown_tag_near_a_token(tmp_path: Path) -> None:
    body = b"\x01\x01\x33" + bytes([len(SECRET)]) + SECRET.encode()  # no token; one tag, 51
    out = masked(
        write_pcap(tmp_path / "c.pcap", talk(request(SASL_AUTHENTICATE, 2, 1, b"\0" + body)).packets)
    )
    assert "tag 51" in out
    assert MASK in out


def test_a_token_in_the_message_before_it(tmp_path: Path) -> None:
    """A length that is too long makes the error message swallow the token."""
    told = encode_response(SASL_AUTHENTICATE, 1, 1, {"error_message": "", "auth_bytes": SECRET.encode()})
    at = told.index(SECRET.encode()) - 6  # the length of the message
    moved = told[:at] + struct.pack(">h", len(SECRET) + 4) + told[at + 2 :]
    asked = encode_request(SASL_AUTHENTICATE, 1, 1, "me", {"auth_bytes": b"x"})
    path = write_pcap(tmp_path / "c.pcap", talk(asked, moved).packets)
    masked(path)
    printed("extract", "--redact", "-o", str(tmp_path / "r.pcapng"), path)
    assert SECRET.encode() not in (tmp_path / "r.pcapng").read_bytes()


def test_a_token_in_the_client_id(tmp_path: Path) -> None:
    whole = encode_request(SASL_AUTHENTICATE, 1, 1, "me", {"auth_bytes": SECRET.encode()})
    moved = whole[:12] + struct.pack(">h", len(whole) - 14) + whole[14:]
    made = talk(request(18, 0, 0), response(0, bytes(6))).client(moved)
    assert MASK in masked(write_pcap(tmp_path / "c.pcap", made.packets))


def handshaken(mechanism: bytes) -> Conversation:
    """Return a connection in which bare tokens follow."""
    asked = request(SASL_HANDSHAKE, 0, 1, len(mechanism).to_bytes(2) + mechanism)
    return talk(asked, response(1, bytes(6)))


@pytest.mark.parametrize("mechanism", [b"PLAIN", b"SCRAM-SHA-256", b"MY-OWN"])
def test_a_raw_token_that_reads_like_a_request(mechanism: bytes, tmp_path: Path) -> None:
    made = talk(
        request(SASL_HANDSHAKE, 0, 1, len(mechanism).to_bytes(2) + mechanism), response(1, b"\0\0" + bytes(4))
    )
    made.client(request(18, 0, 2, client_id=SECRET.encode())).broker(frame(b""))
    path = write_pcap(tmp_path / "c.pcap", made.packets)
    masked(path)
    assert [e.kind for e in Dissection(path)][1:] == [ExchangeKind.SASL_TOKEN]


@pytest.mark.parametrize(
    "name", [b"sasl.client.callback.token", b"db.pwd", b"confluent.license", b"a.plugin", b"retention.m\xf3"]
)
def test_the_value_of_a_config_that_nobody_knows(name: bytes, tmp_path: Path) -> None:
    configs = {"name": "N" * len(name), "value": SECRET}
    asked = encode_request(44, 1, 1, "me", changes(configs)).replace(b"N" * len(name), name)
    told = encode_response(44, 1, 1, {})
    path = write_pcap(tmp_path / "c.pcap", talk(asked, told).packets)
    masked(path)
    printed("extract", "--redact", "-o", str(tmp_path / "r.pcapng"), path)
    assert SECRET.encode() not in (tmp_path / "r.pcapng").read_bytes()


def test_the_value_of_a_config_that_kafka_knows(tmp_path: Path) -> None:
    known = [
        {"name": "retention.ms", "value": "86400000"},
        {"name": "kafka.log.LogCleaner", "value": "DEBUG"},
    ]
    asked = encode_request(44, 1, 1, "me", changes(*known))
    path = write_pcap(tmp_path / "c.pcap", talk(asked).packets)
    for form in FORMS[:2]:
        out = printed("inspect", path, *form)
        assert b"86400000" in out
        assert b"DEBUG" in out


def test_a_nonce_that_is_no_text_ends_no_check(tmp_path: Path) -> None:
    """The server's is bytes then, and the client's is text."""
    mechanism = b"SCRAM-SHA-256"
    made = talk(
        request(SASL_HANDSHAKE, 0, 1, len(mechanism).to_bytes(2) + mechanism), response(1, b"\0\0" + bytes(4))
    )
    made.client(frame(b"n,,n=alice,r=abc")).broker(frame(b"r=abc\xff,s=c2FsdA==,i=4096"))
    assert main(["check", write_pcap(tmp_path / "c.pcap", made.packets), "--format", "json"]) in (0, 1)


@pytest.mark.exhaustive
def test_every_conversation_has_one_and_the_search_finds_it(tmp_path: Path) -> None:
    """Else nothing below could fail."""
    for name, messages in message_lists():
        made = Conversation().handshake()
        for side, data in messages:
            (made.client if side == CLIENT else made.broker)(data)
        (tmp_path / "c.pcap").write_bytes(pcap_bytes(made.packets))
        path = str(tmp_path / "c.pcap")
        assert shown(printed("inspect", path, "--format", "tree", "--records", "--show-secrets"), name), name
        assert not shown(printed("inspect", path, "--format", "tree", "--records"), name), name
        assert {side for side, _ in messages} == {CLIENT, BROKER}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("number", FOUND)
def test_what_was_found_is_shown_by_nothing(number: int, tmp_path: Path) -> None:
    assert not list(hunt(number, tmp_path, everything=True))


@pytest.mark.exhaustive
def test_damaged_captures_show_none(tmp_path: Path) -> None:
    """Two damaged captures of each conversation; `python -m fuzz secrets` looks at any number."""
    assert len(message_lists()) > 60
    assert [len(kind) > 10 for kind in looks()] == [True, True]
    found = [leak for number in range(2 * len(message_lists())) for leak in hunt(number, tmp_path)]
    assert not found


def test_damage_is_the_same_for_the_same_number() -> None:
    from tests.support.packets.damaged import chosen

    for number in range(0, 200, 7):
        assert damaged(*chosen(number)[1:3]) == damaged(*chosen(number)[1:3])


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, ALL, 10_000))
def test_many_damaged_captures_show_none(start: int, tmp_path: Path) -> None:
    """A part of 50,000, two looks at each, in turns; `python -m fuzz secrets` looks at all of them."""
    assert not [leak for number in range(start, start + 5000, EVERY) for leak in hunt(number, tmp_path)]
