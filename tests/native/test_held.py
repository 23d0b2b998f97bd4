"""Connections that are lent to the compiled engine tell what they tell in Python, whatever is said."""

import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kdissect.model.limits import Limits
from kdissect.session import handover
from kdissect.session.exchange import Exchange
from tests.native import packets as asked
from tests.support.messages.traffic import BROKER, CLIENT, frame, request, response
from tests.support.python_side import PythonSide

# Metadata, Heartbeat, ApiVersions, SaslHandshake, SaslAuthenticate, ControlledShutdown, what nobody knows.
KINDS = st.sampled_from(
    [
        (3, 1), (3, 1), (3, 1), (3, 9), (3, 12), (12, 4), (18, 3), (18, 0), (17, 0), (17, 1), (36, 2), (7, 0),
        (3, 99), (999, 0),
    ]
)  # fmt: skip
IDS = st.integers(0, 6) | st.sampled_from((-1, -(1 << 31), (1 << 31) - 1))
CLIENT_IDS = st.sampled_from([b"me", b"me", b"me", b"me", b"you", b"", None, b"\xff\xfe"])
TAGS = st.sampled_from([b"", b"\0", b"\0", b"\1\5\1x", b"\1"])
BODIES = st.sampled_from([b"", b"\0\0\0\0", b"\0\5PLAIN", b"\0\0\1", bytes(90)]) | st.binary(max_size=20)
ANSWERS = st.sampled_from([b"\0\0", b"\0\0\0\0\0\0", b"\0\x23\0\0\0\0", b"\1\0\0", b""]) | st.binary(
    max_size=12
)
TEXTS = st.sampled_from([b"", b"t", b"txn", b"t" * 130])
ACKS = st.sampled_from((0, 0, 0, 1, -1))
RAW = st.sampled_from((b"\xff\xff\xff\xff", b"\0\0\1\0", b"\x7f\xff\xff\xff", b"\0\0\0", b"\0"))
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def produces(draw: st.DrawFn) -> bytes:
    """Produce requests of all layouts, also cut inside of what stands before acks."""
    version, text, is_null = draw(st.integers(0, 13)), draw(TEXTS), draw(st.booleans())
    acks = struct.pack(">h", draw(ACKS))
    if version < 3:
        body = acks
    elif version < 9:
        body = (b"\xff\xff" if is_null else len(text).to_bytes(2) + text) + acks
    else:
        size = len(text) + 1
        length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        body = b"\0" + (b"\0" if is_null else length + text) + acks
    whole = request(0, version, draw(IDS), body + bytes(8), draw(CLIENT_IDS))[4:]
    return frame(whole[: draw(st.sampled_from([len(whole)] * 3 + [draw(st.integers(0, len(whole)))]))])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    key, version = draw(KINDS)
    whole = request(key, version, draw(IDS), draw(TAGS) + draw(BODIES), draw(CLIENT_IDS))[4:]
    return frame(whole[: draw(st.sampled_from([len(whole)] * 5 + [9, 10, 3, 0]))])


ANSWER = st.builds(lambda number, more: frame(struct.pack(">i", number) + more), IDS, ANSWERS)
SIZES = st.sampled_from((1, 3, 7, 20, 60, 1448, 1448, 1448))
ASKED = st.lists(produces() | requests() | requests() | RAW, min_size=1, max_size=4).map(b"".join)
ANSWERED = st.lists(ANSWER | RAW | st.binary(max_size=5), min_size=1, max_size=4).map(b"".join)
# Who says what, cut into segments of this size.
SAID = st.tuples(st.just(CLIENT), ASKED, SIZES) | st.tuples(st.just(BROKER), ANSWERED, SIZES)
LIMITS = st.sampled_from(
    [
        Limits(), Limits(), Limits(connection_pending_requests=3), Limits(connection_pending_bytes=150),
        Limits(pending_requests=4), Limits(pending_bytes=200), Limits(frame_size=200),
    ]
)  # fmt: skip


@pytest.fixture(autouse=True)
def lent_at_once(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand connections over whenever it is possible."""
    monkeypatch.setattr(handover, "FEW_TAKEN", 0)


def in_order(number: int) -> list[tuple[int, bytes, int]]:
    """Return requests of one kind and their answers."""
    asked = b"".join(request(3, 1, 10 + at, b"\0\0\0\0", b"me") for at in range(number))
    return [
        (CLIENT, asked, 1448),
        (BROKER, b"".join(response(10 + at, b"\0" * 8) for at in range(number)), 7),
    ]


def among_silent(number: int) -> list[tuple[int, bytes, int]]:
    """Return the same one by one, with Produces before and behind each that ask for no answer."""
    said = []
    for at in range(number):
        one, other = (request(0, 0, 100 + 2 * at + more, bytes(14), b"me") for more in (0, 1))
        said.append((CLIENT, one + request(3, 1, 10 + at, b"\0\0\0\0", b"me") + other, 1448))
        said.append((BROKER, response(10 + at, b"\0" * 8), 1448))
    return said


@pytest.mark.exhaustive
@SETTINGS
@given(said=st.lists(SAID, max_size=12), limits=LIMITS, cuts=st.lists(st.integers(1, 9), max_size=4))
@example([(CLIENT, request(0, 0, number, bytes(14)), 1448) for number in range(9)], Limits(), [])
@example([(CLIENT, request(3, 1, 1, b"", None) * 3, 1448)], Limits(), [])
@example([*in_order(3), *in_order(80), *in_order(2)], Limits(), [5])
def test_any_talk(python_side: PythonSide, said: Any, limits: Limits, cuts: list[int]) -> None:
    right = python_side.call(asked.told_of_talk, said, limits, cuts)
    assert asked.told_of_talk(said, limits, cuts) == right


@pytest.mark.parametrize("most", [2_500_000, 1_500_000, 1 << 40])
@pytest.mark.parametrize("lost", [(), (7,), (30, 40)])
def test_large_frames_are_counted(python_side: PythonSide, most: int, lost: tuple[int, ...]) -> None:
    answers = response(1, bytes(3_000_000)) + response(2, b"\0" * 8)
    said = [*in_order(1), (CLIENT, request(3, 1, 1) + request(3, 1, 2), 1448), (BROKER, answers, 60_000)]
    limits = Limits(frame_bytes=most)
    right = python_side.call(asked.told_of_talk, said, limits, [], lost)
    assert asked.told_of_talk(said, limits, [], lost) == right


@pytest.mark.parametrize("lost", [(), (9,), (10,), (12,), (10, 15), (11, 14)])
@pytest.mark.parametrize("out_of_order", [(), (2, 0, 1), (1, 2, 0)])
def test_answers_among_requests_without_one(
    python_side: PythonSide, lost: tuple[int, ...], out_of_order: tuple[int, ...]
) -> None:
    more = [(BROKER, response(60 + at, b"\0" * 8), 1448) for at in out_of_order]
    asked_first = [(CLIENT, request(3, 1, 60 + at, b"\0\0\0\0", b"me"), 1448) for at in out_of_order]
    said = [*in_order(2), *among_silent(4), *asked_first, *among_silent(1)[:1], *more, *among_silent(6)]
    right = python_side.call(asked.told_of_talk, said, Limits(), [], lost)
    assert asked.told_of_talk(said, Limits(), [], lost) == right


@pytest.mark.parametrize("said", [[*in_order(2), *in_order(50)], [*in_order(2), *among_silent(20)]])
def test_most_exchanges_are_those_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, said: list[tuple[int, bytes, int]]
) -> None:
    """Or the tests above compare one way with itself."""
    made: list[int] = []

    def of_row(info: Any, ordinal: int, *_row: object) -> Exchange:
        made.append(ordinal)
        return Exchange(info, ordinal)

    monkeypatch.setattr(Exchange, "of_row", of_row)
    asked.told_of_talk(said, Limits(), [])
    assert len(made) > 90  # twice: in blocks, and packet by packet


def test_a_connection_is_in_one_place(native: Any) -> None:
    (analyzer,) = asked.analyzers(asked.talk([*in_order(2)]), Limits())
    held = next(one.held for one in analyzer._flows.values())
    assert held.is_lent
    state, _ = held.take_back()
    held.lend(state, can_end=True)
    with pytest.raises(ValueError, match="lent already"):
        held.lend(state, can_end=True)
    connection = next(iter(analyzer._flows.values()))
    assert connection.tcp.health[0].packets > 2  # who asks has it taken back
    assert not held.is_lent
    for call in (held.take_back, lambda: held.taken, lambda: held.last_time_ns):
        with pytest.raises(ValueError, match="not lent"):
            call()


def test_what_waits_is_what_waited(python_side: PythonSide) -> None:
    """Handed over and back, a conversation holds what it held."""
    for more in ([], [(CLIENT, request(0, 0, 90, bytes(14)) + request(3, 1, 91), 1448)]):
        said = [*in_order(4), (CLIENT, request(3, 1, 50) + request(3, 1, 51)[:9], 1448), *more]
        assert asked.held_of_talk(said) == python_side.call(asked.held_of_talk, said)
