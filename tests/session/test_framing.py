"""Frames are cut by size, whatever the segments; missing bytes cost only what they carried."""

import random
import struct

import pytest

from kdissect.session.exchange import Exchange, State
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.run import connections_of, exchanges_of, kinds

HEARTBEAT = 12
BODY = b"\0\1g" + struct.pack(">i", 1) + b"\0\1m"
OK = b"\0\0"


def facts(found: list[Exchange]) -> list[tuple[object, ...]]:
    """Return what must not depend on how TCP cut the stream."""
    return sorted(
        (
            e.ordinal,
            e.api_key,
            e.correlation_id,
            e.state,
            e.request and e.request.data,
            e.response and e.response.data,
        )
        for e in found
    )


def conversation(count: int = 6) -> tuple[bytes, bytes]:
    return (
        b"".join(request(HEARTBEAT, 0, i, BODY) for i in range(count)),
        b"".join(response(i, OK) for i in range(count)),
    )


@pytest.mark.parametrize("mss", [1, 2, 3, 5, 17, 1460])
def test_segmentation_changes_nothing(mss: int) -> None:
    asked, answered = conversation()
    talk = Conversation().handshake().client(asked, mss).broker(answered, mss).fin(CLIENT).fin(BROKER)
    whole = Conversation().handshake().client(asked).broker(answered).fin(CLIENT).fin(BROKER)
    assert facts(exchanges_of(talk.packets)) == facts(exchanges_of(whole.packets))
    assert len(facts(exchanges_of(talk.packets))) == 6


def test_random_segmentation_changes_nothing() -> None:
    asked, answered = conversation(20)
    expected = facts(exchanges_of(Conversation().handshake().client(asked).broker(answered).packets))
    rng = random.Random(5)
    for _ in range(30):
        talk = Conversation().handshake()
        for side, data in ((CLIENT, asked), (BROKER, answered)):
            at = 0
            while at < len(data):
                size = rng.randint(1, 40)
                talk.packet(side, data[at : at + size], 24)
                at += size
        assert facts(exchanges_of(talk.packets)) == expected


def test_lost_bytes_inside_a_body_cost_neither_pair_nor_position() -> None:
    big = request(HEARTBEAT, 0, 1, b"\0\x64" + b"g" * 3000)
    talk = Conversation().handshake().client(big[:100]).lose(CLIENT, big[100:1000]).client(big[1000:])
    talk.broker(response(1, OK)).client(request(HEARTBEAT, 0, 2, BODY)).broker(response(2, OK))
    found = sorted(exchanges_of(talk.packets), key=lambda e: e.ordinal)
    assert [(e.correlation_id, e.state) for e in found] == [(1, State.COMPLETE), (2, State.COMPLETE)]
    assert found[0].request is not None and found[0].request.data == big[4:100]
    assert kinds(found[0]) == {"cut_frame"}
    assert kinds(found[1]) == set()


def test_a_lost_size_prefix_is_searched_for() -> None:
    lost = request(HEARTBEAT, 0, 1, BODY)
    talk = Conversation().handshake().client(request(HEARTBEAT, 0, 0, BODY)).broker(response(0, OK))
    talk.lose(CLIENT, lost + request(HEARTBEAT, 0, 2, BODY)[:9]).client(request(HEARTBEAT, 0, 2, BODY)[9:])
    talk.broker(response(1, OK)).client(request(HEARTBEAT, 0, 3, BODY)).broker(response(3, OK))
    found = exchanges_of(talk.packets)
    states = {e.correlation_id: e.state for e in found}
    assert states == {0: State.COMPLETE, 1: State.ORPHAN_RESPONSE, 3: State.COMPLETE}
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts["resynchronised"] == 1
    assert connection.anomaly_counts["gap"] == 1


def test_lost_responses_leave_their_requests_unanswered_with_the_reason() -> None:
    talk = Conversation().handshake()
    for i in range(3):
        talk.client(request(HEARTBEAT, 0, i, BODY))
        (talk.lose if i == 1 else talk._data)(BROKER, response(i, OK), *([] if i == 1 else [1460]))
    found = sorted(exchanges_of(talk.packets), key=lambda e: e.ordinal)
    assert [e.state for e in found] == [State.COMPLETE, State.UNANSWERED, State.COMPLETE]
    assert kinds(found[1]) == {"gap"}
    assert kinds(found[2]) == set()


@pytest.mark.parametrize("snap", [96, 128])
def test_a_snap_length_keeps_the_list(snap: int) -> None:
    talk = Conversation().handshake()
    for i in range(4):
        talk.packet(CLIENT, request(HEARTBEAT, 0, i, b"\0\xc8" + b"g" * 200 + BODY[3:]), 24, snap=snap)
        talk.packet(BROKER, response(i, OK + b"x" * 300), 24, snap=snap)
    found = exchanges_of(talk.packets)
    assert [(e.correlation_id, e.state) for e in found] == [(i, State.COMPLETE) for i in range(4)]
    assert all(kinds(e) == {"cut_frame"} for e in found)
    assert all(e.request and len(e.request.data) == snap - 54 - 4 for e in found)


def test_a_bad_size_is_named_and_passed_over() -> None:
    talk = Conversation().handshake().client(request(HEARTBEAT, 0, 0, BODY)).broker(response(0, OK))
    talk.client(b"\xff\xff\xff\xff" + b"\xee" * 20).client(request(HEARTBEAT, 0, 1, BODY)).broker(
        response(1, OK)
    )
    found = exchanges_of(talk.packets)
    assert [(e.correlation_id, e.state) for e in found] == [(0, State.COMPLETE), (1, State.COMPLETE)]
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts["bad_frame_size"] == 1


def test_middle_start_in_the_middle_of_frames() -> None:
    talk = Conversation().client(b"g" * 500).broker(b"r" * 333)
    for i in range(40, 43):
        talk.client(request(HEARTBEAT, 0, i, BODY)).broker(response(i, OK))
    found = exchanges_of(talk.packets)
    assert [(e.correlation_id, e.state) for e in found] == [(i, State.COMPLETE) for i in range(40, 43)]
    (connection,) = connections_of(talk.packets)
    assert connection.middle_start


def test_connection_cut_inside_a_request() -> None:
    talk = Conversation().handshake().client(request(HEARTBEAT, 0, 1, BODY)[:-3]).fin(CLIENT).fin(BROKER)
    (found,) = exchanges_of(talk.packets)
    assert (found.state, kinds(found)) == (State.UNANSWERED, {"cut_frame"})


@pytest.mark.parametrize("kept", [4, 5, 7, 11, 12, 13])
@pytest.mark.parametrize("is_closed", [False, True])
def test_a_header_of_which_bytes_are_missing_is_not_malformed(kept: int, is_closed: bool) -> None:
    talk = Conversation().handshake().client(request(HEARTBEAT, 0, 1, BODY)).broker(response(1, OK))
    talk.client(request(HEARTBEAT, 0, 2, BODY)[:kept])
    if is_closed:
        talk.fin(CLIENT).fin(BROKER)
    _, found = exchanges_of(talk.packets)
    assert kinds(found) == {"cut_frame"}
