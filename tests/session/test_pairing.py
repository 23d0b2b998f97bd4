"""Requests and responses are paired from their headers, whatever their bodies hold."""

import struct

import pytest

from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange, State
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.run import connections_of, exchanges_of, kinds

HEARTBEAT, METADATA, PRODUCE = 12, 3, 0
HEARTBEAT_BODY = (
    b"\0\1g" + struct.pack(">i", 1) + b"\0\1m"
)  # group_id, generation_id, member_id (Heartbeat v0)
OK = b"\0\0"  # error_code


def produce(acks: int) -> bytes:
    """Produce v0 body with one topic and one empty partition."""
    return struct.pack(">hii", acks, 1000, 1) + b"\0\1t" + struct.pack(">iii", 1, 0, 0)


def heartbeats(*ids: int) -> bytes:
    return b"".join(request(HEARTBEAT, 0, i, HEARTBEAT_BODY) for i in ids)


def test_pipelined_requests_pair_in_order() -> None:
    talk = Conversation().handshake().client(heartbeats(1, 2, 3))
    talk.broker(response(1, OK) + response(2, OK) + response(3, OK)).fin(CLIENT).fin(BROKER)
    found = exchanges_of(talk.packets)
    assert [(e.ordinal, e.correlation_id, e.state) for e in found] == [
        (i, i + 1, State.COMPLETE) for i in range(3)
    ]
    assert all(e.latency_ns == 1_000_000 for e in found)
    assert all(
        e.request and e.request.first_ref == 4 and e.response and e.response.last_ref == 5 for e in found
    )


def test_response_out_of_order_is_paired_and_named() -> None:
    talk = Conversation().handshake().client(heartbeats(1, 2)).broker(response(2, OK)).broker(response(1, OK))
    found = exchanges_of(talk.packets)
    assert [(e.correlation_id, e.state) for e in found] == [(2, State.COMPLETE), (1, State.COMPLETE)]
    assert kinds(found[0]) == {"out_of_order_response"}
    assert kinds(found[1]) == set()


def test_a_request_that_is_passed_over_is_named() -> None:
    talk = (
        Conversation().handshake().client(heartbeats(1, 2, 3)).broker(response(2, OK)).fin(CLIENT).fin(BROKER)
    )
    found = sorted(exchanges_of(talk.packets), key=lambda e: e.ordinal)
    assert [kinds(e) for e in found] == [{"passed_over"}, {"out_of_order_response"}, set()]


@pytest.mark.parametrize("silent", [b"", request(PRODUCE, 0, 9, produce(0))], ids=["none", "one"])
def test_a_request_for_no_answer_in_front_takes_no_loss_from_those_behind(silent: bytes) -> None:
    talk = Conversation().handshake().client(silent + heartbeats(1, 2, 3))
    talk.lose(BROKER, response(7, OK)).broker(response(1, OK)).broker(response(3, OK)).fin(CLIENT).fin(BROKER)
    found = {e.correlation_id: kinds(e) for e in exchanges_of(talk.packets)}
    assert (found[1], found[2], found[3]) == (set(), {"gap"}, set())


def test_reused_correlation_id_pairs_first_with_first() -> None:
    talk = Conversation().handshake().client(heartbeats(7, 7)).broker(response(7, OK)).broker(response(7, OK))
    found = exchanges_of(talk.packets)
    assert [(e.ordinal, e.state) for e in found] == [(0, State.COMPLETE), (1, State.COMPLETE)]
    assert kinds(found[1]) == {"reused_correlation_id"}


def produced(partition: int) -> bytes:
    """Produce v0 response body: one topic, one partition."""
    return struct.pack(">i", 1) + b"\0\1t" + struct.pack(">iihq", 1, partition, 0, 7)


def test_acks_0_under_an_id_that_is_used_again_takes_no_answer() -> None:
    """As pykafka 2.8.0 does: every request has the id 0, and some want no answer."""
    talk = Conversation().handshake()
    for partition in range(3):
        talk.client(request(PRODUCE, 0, 0, produce(0), b"pykafka"))
        talk.client(request(PRODUCE, 0, 0, produce(1), b"pykafka")).broker(response(0, produced(partition)))
        talk.client(request(HEARTBEAT, 0, 0, HEARTBEAT_BODY, b"pykafka")).broker(response(0, OK))
    found = sorted(exchanges_of(talk.packets), key=lambda e: e.ordinal)
    assert [(e.api_key, str(e.state)) for e in found] == 3 * [
        (PRODUCE, "no_response_expected"),
        (PRODUCE, "complete"),
        (HEARTBEAT, "complete"),
    ]
    assert not any(e.all_anomalies() for e in found)
    assert all(answer_fits(e) for e in found if e.response)


def test_a_body_that_fits_the_next_request_of_the_id_alone_is_paired_with_it() -> None:
    talk = Conversation().handshake().client(request(PRODUCE, 0, 0, produce(1)))  # its answer never comes
    for _ in range(3):
        talk.client(request(HEARTBEAT, 0, 0, HEARTBEAT_BODY)).broker(response(0, OK))
        talk.client(request(PRODUCE, 0, 0, produce(1))).broker(response(0, produced(0)))
    found = sorted(exchanges_of(talk.packets), key=lambda e: e.ordinal)
    assert [str(e.state) for e in found] == ["unanswered"] + 6 * ["complete"]
    assert all(answer_fits(e) for e in found[1:])
    assert "paired_again" in kinds(found[0]) and "paired_again" in kinds(found[1])
    assert all("paired_again" not in kinds(e) for e in found[2:])


def answer_fits(exchange: Exchange) -> bool:
    body = exchange.bodies()[1]
    return body is not None and body.fits


def test_who_closed_is_told_where_no_answer_was_expected() -> None:
    talk = Conversation().handshake().client(request(PRODUCE, 0, 1, produce(0))).fin(BROKER)
    (found,) = exchanges_of(talk.packets)
    assert found.state is State.NO_RESPONSE_EXPECTED
    assert found.close is not None and (found.close.by, found.close.how) == ("broker", "fin")


def test_who_cut_an_answer_is_told() -> None:
    talk = Conversation().handshake().client(heartbeats(1, 2)).broker(response(1, OK))
    talk.broker(response(2, OK)[:9]).rst(BROKER)
    whole, cut = exchanges_of(talk.packets)
    assert whole.close is None and not whole.all_anomalies()
    assert kinds(cut) == {"cut_frame"}
    assert cut.close is not None and (cut.close.by, cut.close.how) == ("broker", "rst")


def test_duplicate_and_orphan_responses() -> None:
    talk = (
        Conversation().handshake().client(heartbeats(1)).broker(response(1, OK) * 2).broker(response(99, OK))
    )
    found = exchanges_of(talk.packets)
    assert [e.state for e in found] == [State.COMPLETE, State.ORPHAN_RESPONSE, State.ORPHAN_RESPONSE]
    assert "duplicate_response" in kinds(found[1])
    assert "orphan_response" in kinds(found[2])
    assert [e.ordinal for e in found] == [0, FIRST_ORPHAN_ORDINAL, FIRST_ORPHAN_ORDINAL + 1]


def test_orphan_of_an_api_seen_on_the_connection_is_inferred() -> None:
    body = struct.pack(">ii", 0, 0) + b"\0\1c" + struct.pack(">iii", 1, 0, 0)
    talk = Conversation().handshake().client(heartbeats(1) + request(10, 0, 2, b"\0\1g"))
    talk.broker(response(1, OK)).broker(
        response(2, b"\0\0" + struct.pack(">i", 1) + b"\0\1h" + struct.pack(">i", 9092))
    )
    talk.broker(response(50, b"\0\0" + struct.pack(">i", 3) + b"\0\4host" + struct.pack(">i", 9092)))
    talk.broker(response(51, body))
    orphan, unknown = exchanges_of(talk.packets)[2:]
    assert (orphan.api_key, orphan.api_version, kinds(orphan)) == (10, 0, {"orphan_response", "inferred_api"})
    assert (unknown.api_key, kinds(unknown)) == (None, {"orphan_response"})


def test_acks_0_expects_no_response() -> None:
    talk = (
        Conversation()
        .handshake()
        .client(request(PRODUCE, 0, 1, produce(0)) + heartbeats(2))
        .broker(response(2, OK))
    )
    found = exchanges_of(talk.packets)
    assert [(e.correlation_id, e.state) for e in found] == [
        (1, State.NO_RESPONSE_EXPECTED),
        (2, State.COMPLETE),
    ]
    assert not found[1].all_anomalies()


def test_acks_0_that_is_answered_is_paired_with_an_anomaly() -> None:
    talk = (
        Conversation().handshake().client(request(PRODUCE, 0, 1, produce(0))).broker(response(1, b"\0\0\0\0"))
    )
    (found,) = exchanges_of(talk.packets)
    assert (found.state, kinds(found)) == (State.COMPLETE, {"unexpected_response"})


def test_acks_0_alone_does_not_pile_up() -> None:
    talk = Conversation().handshake()
    for i in range(100):
        talk.client(request(PRODUCE, 0, i, produce(0)))
    found = exchanges_of(talk.packets)
    assert [e.ordinal for e in found] == list(range(100))
    assert {e.state for e in found} == {State.NO_RESPONSE_EXPECTED}


def test_unanswered_says_who_closed_how_and_when() -> None:
    talk = Conversation().handshake().client(heartbeats(1)).wait(5_000_000).rst(BROKER)
    (found,) = exchanges_of(talk.packets)
    assert found.state is State.UNANSWERED
    assert found.close is not None and found.request is not None
    assert (found.close.by, found.close.how) == ("broker", "rst")
    assert found.close.time_ns - found.request.end_time_ns == 6_000_000


def test_capture_end_is_nobodys_close() -> None:
    (found,) = exchanges_of(Conversation().handshake().client(heartbeats(1)).packets)
    assert found.close is not None and (found.close.by, found.close.how) == (None, "capture_end")


def test_unknown_api_and_version_do_not_cost_the_pair() -> None:
    talk = Conversation().handshake().client(heartbeats(7)).broker(response(7, OK))
    talk.client(request(10000, 3, 1, b"?") + request(METADATA, 99, 2, b"??"))
    talk.broker(response(1, b"x") + response(2, b"y"))
    found = exchanges_of(talk.packets)[1:]
    assert [(e.api_key, e.api_version, e.state) for e in found] == [
        (10000, 3, State.COMPLETE),
        (METADATA, 99, State.COMPLETE),
    ]
    assert [kinds(e) for e in found] == [{"unknown_api"}, {"unknown_version"}]


def test_connection_counts_agree_with_its_exchanges() -> None:
    talk = Conversation().handshake().client(heartbeats(1, 2)).broker(response(1, OK)).fin(BROKER).fin(CLIENT)
    (connection,) = connections_of(talk.packets)
    assert connection.states == {"complete": 1, "unanswered": 1}
    assert (connection.exchanges, connection.client_id, str(connection.kind)) == (2, "test", "kafka")
    assert connection.close is not None and connection.close.by == "broker"
