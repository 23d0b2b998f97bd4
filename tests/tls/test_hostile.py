"""Any bytes: nothing raises, and what was decrypted before stays."""

import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.model.key_log import MAX_LINE, KeyLog
from tests.tls.listener import Listener, Secrets
from tests.tls.openssl import CLIENT, SERVER, Conversation, Peers

LINES = [(CLIENT, b"question" * 50), (SERVER, b"answer" * 3000), (CLIENT, b"more"), (SERVER, b"done")]
_talks: list[Conversation] = []


@pytest.fixture(autouse=True, scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> None:
    versions = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    _talks.extend(Peers(tmp_path_factory.mktemp("tls"), version).talk(LINES) for version in versions)


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_anywhere(data: st.DataObject) -> None:
    talk = _talks[data.draw(st.integers(0, 1))]
    listener = Listener(Secrets(talk.key_log))
    index = data.draw(st.integers(0, len(talk.wire) - 1))
    direction, payload = talk.wire[index]
    at = data.draw(st.integers(0, len(payload) - 1))
    junk = data.draw(st.binary(max_size=40))
    kind = data.draw(st.sampled_from(("replace", "insert", "drop", "gap", "truncate")))
    listener.hear(talk.wire[:index])
    before = listener.sinks[0].text, listener.sinks[1].text
    if kind == "gap":
        listener.hear([(direction, payload[:at])]).miss(direction, len(junk) + 1)
        listener.hear([(direction, payload[at + len(junk) + 1 :])])
    else:
        skip = {"replace": len(junk), "insert": 0, "drop": 5, "truncate": len(payload)}[kind]
        added = b"" if kind in ("drop", "truncate") else junk
        listener.hear([(direction, payload[:at] + added + payload[at + skip :])])
    listener.hear(talk.wire[index + 1 :]).end()
    assert listener.sinks[0].text.startswith(before[0])
    assert listener.sinks[1].text.startswith(before[1])
    # Nothing that was not said comes out: each part stands in what was said.
    for sink, said in zip(listener.sinks, talk.said, strict=True):
        assert all(part in said for part in sink.parts if isinstance(part, bytes))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.binary(min_size=1, max_size=200)), max_size=20))
def test_anything(wire: list[tuple[int, bytes]]) -> None:
    hello = (CLIENT, _talks[0].wire[0][1])
    for start in ([], [hello]):
        listener = Listener(Secrets(_talks[0].key_log, may_grow=True)).hear([*start, *wire]).end()
        assert listener.opaque == 1
        assert listener.info.why


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_key_log(text: bytes, step: int) -> None:
    log = KeyLog()
    for start in range(0, len(text), step):
        log.feed(text[start : start + step])
    log.close()
    whole = KeyLog()
    whole.feed(text)
    whole.close()
    assert (len(log), log.bad_lines) == (len(whole), whole.bad_lines)


def test_key_log_lines() -> None:
    log = KeyLog()
    random = bytes(range(32))
    log.feed(b"# comment\r\nCLIENT_RANDOM " + random.hex().encode() + b" " + b"ab" * 48 + b"\r\nEXPORT")
    log.feed(b"ER_SECRET " + random.hex().encode() + b" 00\nCLIENT_RANDOM xx yy\nnonsense\n\n")
    assert log.find(random) == {"CLIENT_RANDOM": b"\xab" * 48}
    assert log.find(bytes(32)) is None
    assert log.bad_lines == 2


def test_key_log_without_line_ends_is_bounded() -> None:
    log = KeyLog()
    for _ in range(10):
        log.feed(b"A" * MAX_LINE)
    assert log.bad_lines == 1
    assert len(log) == 0
    assert len(log._rest) <= MAX_LINE
