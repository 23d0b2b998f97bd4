"""Bytes that come after their gap was given up: their frames take their place, or the bytes are reported."""

import itertools
from tempfile import NamedTemporaryFile

import pytest

from kdissect.capture.files import open_captures
from kdissect.engine.analyzer import Analyzer
from kdissect.model.endpoint import Ports
from kdissect.model.limits import Limits, in_force, use
from kdissect.model.packets.packet import Packet
from kdissect.net.streams.repair import GRACE_FEW_PACKETS, QUIET_GRACE_NS
from kdissect.session.exchange import Exchange, State
from tests.native.packets import extracted
from tests.session.test_framing import BODY, HEARTBEAT, OK, facts
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.run import connections_of, exchanges_of

BIG = request(HEARTBEAT, 0, 1, b"\x0b\xb8" + b"g" * 3000)


class Talk(Conversation):
    """`hide` takes packets out of the capture, `show` puts them in where it is now."""

    def ask(self, number: int) -> "Talk":
        self.client(request(HEARTBEAT, 0, number, BODY))
        return self

    def answer(self, number: int) -> "Talk":
        self.broker(response(number, OK))
        return self

    def hide(self, count: int = 1) -> list[Packet]:
        hidden = self.packets[-count:]
        del self.packets[-count:]
        return hidden

    def give_up(self) -> "Talk":
        """Return both sides acknowledge all, for as long as a hole of a quiet connection is waited for."""
        for side in itertools.islice(itertools.cycle((CLIENT, BROKER)), 2 + GRACE_FEW_PACKETS):
            self.wait(QUIET_GRACE_NS).packet(side)
        return self

    def show(self, packets: list[Packet]) -> "Talk":
        self.packets += packets
        return self


def begun() -> Talk:
    talk = Talk()
    talk.handshake()
    return talk.ask(0).answer(0)


def ended(talk: Talk) -> list[Packet]:
    return talk.fin(CLIENT).fin(BROKER).packets


def assert_whole(late: Talk, count: int, parts: int = 1) -> None:
    """All requests are answered, in their order; nothing is said but that something came late."""
    packets = ended(late)
    found = exchanges_of(packets)
    assert facts(found) == facts(exchanges_of(sorted(packets, key=lambda packet: packet.time_ns)))
    assert [(e.ordinal, e.state) for e in sorted(found, key=lambda e: e.ordinal)] == [
        (at, State.COMPLETE) for at in range(count)
    ]
    assert not any(exchange.all_anomalies() for exchange in found)
    assert_extracted(packets)
    (connection,) = connections_of(packets)
    assert connection.anomaly_counts == {"late_segment": 1}
    assert connection.tcp is not None
    assert (connection.tcp.gaps, connection.tcp.gap_bytes, connection.tcp.out_of_order) == (0, 0, parts)


def assert_extracted(packets: list[Packet]) -> None:
    """`extract` finds the frames in the packets in which they came."""
    plain = [(number, *packet[1:5]) for number, packet in enumerate(packets, 1)]
    for options in ((), ("--redact=secrets",)):
        code, written = extracted([plain], *options)
        assert code == 0
        with NamedTemporaryFile(suffix=".pcapng") as file:
            file.write(written)
            file.flush()
            again = exchanges_of(open_captures([file.name]).packets())
        found = exchanges_of(packets)
        assert sorted(pair(e) for e in again) == sorted(pair(e) for e in found)


def pair(exchange: Exchange) -> tuple[bytes, bytes]:
    """Return bytes of a request and of its answer."""
    frames = exchange.request, exchange.response
    return frames[0].data if frames[0] else b"", frames[1].data if frames[1] else b""


def test_answer() -> None:
    talk = begun().ask(1).answer(1)
    late = talk.hide()
    assert_whole(talk.give_up().show(late).ask(2).answer(2), 3)


def test_request_that_was_not_answered_yet() -> None:
    talk = begun().ask(1)
    late = talk.hide()
    assert_whole(talk.give_up().show(late).answer(1).ask(2).answer(2), 3)


def test_request_before_one_that_was_captured() -> None:
    talk = begun().ask(1)
    late = talk.hide()
    assert_whole(talk.ask(2).give_up().show(late).answer(1).answer(2), 3)


def test_end_of_one_frame_and_the_next() -> None:
    talk = begun()
    talk.client(BIG[:2000]).client(BIG[2000:] + request(HEARTBEAT, 0, 2, BODY))
    late = talk.hide()
    assert_whole(talk.give_up().show(late).answer(1).answer(2), 3)


def test_end_of_an_answer_and_the_next() -> None:
    """The first is done without its end by then: the next one is put back, the end is reported."""
    talk = begun().ask(1).ask(2)
    talk.broker(response(1, OK)[:8]).broker(response(1, OK)[8:] + response(2, OK))
    late = talk.hide()
    talk.give_up().show(late)
    found = {e.correlation_id: e for e in exchanges_of(ended(talk))}
    assert [found[at].state for at in range(3)] == [State.COMPLETE] * 3
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts["late_segment"] == 2


@pytest.mark.parametrize("mss", [100, 1460])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_part_of_a_frame_under_way(mss: int, at: int) -> None:
    talk = begun()
    talk.client(BIG[:-10], mss)
    count = -(-(len(BIG) - 10) // mss)
    late = [talk.packets.pop(at - count)]
    talk.give_up().show(late).client(BIG[-10:])
    assert_whole(talk.answer(1).ask(2).answer(2), 3)


def test_hole_that_several_packets_fill() -> None:
    talk = begun()
    talk.client(BIG, 1000)
    late = talk.hide(3)
    talk.give_up().show(late[1:]).show(late[:1])
    assert_whole(talk.answer(1).ask(2).answer(2), 3, 3)


def test_two_holes_of_one_frame() -> None:
    talk = begun()
    talk.client(BIG[:-10], 500)
    late = [talk.packets.pop(-5), talk.packets.pop(-2)]
    talk.give_up()
    talk.show(late[:1]).wait(1000).show(late[1:]).client(BIG[-10:]).answer(1).ask(2).answer(2)
    found = exchanges_of(ended(talk))
    assert [e.state for e in found] == [State.COMPLETE] * 3
    assert not any(exchange.all_anomalies() for exchange in found)
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts == {"late_segment": 2}


def test_answer_behind_which_another_was_given() -> None:
    talk = begun().ask(1).ask(2).answer(1)
    late = talk.hide()
    talk.answer(2).give_up().show(late)
    found = {e.correlation_id: e.state for e in exchanges_of(ended(talk))}
    assert found == {0: State.COMPLETE, 1: State.UNANSWERED, 2: State.COMPLETE}
    assert_dropped(talk)


def test_request_whose_answer_was_taken_for_an_orphan() -> None:
    talk = begun().ask(1)
    late = talk.hide()
    talk.answer(1).give_up().show(late).ask(2).answer(2)
    found = {e.correlation_id: e.state for e in exchanges_of(ended(talk))}
    assert found == {0: State.COMPLETE, 1: State.ORPHAN_RESPONSE, 2: State.COMPLETE}
    assert_dropped(talk)


def test_a_part_of_a_hole() -> None:
    talk = begun()
    talk.client(request(HEARTBEAT, 0, 1, BODY), 8)
    late = talk.hide(3)
    talk.give_up().show(late[:2])
    (connection,) = connections_of(ended(talk))
    assert connection.anomaly_counts["late_segment"] == 2
    assert_dropped(talk)


def assert_dropped(talk: Talk) -> None:
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts["gap"] == connection.anomaly_counts["late_segment"] - (
        connection.anomaly_counts["late_segment"] > 1
    )
    assert connection.tcp is not None and connection.tcp.gaps == 1
    details = [one.detail for one in connection.anomalies if one.kind == "late_segment"]
    assert details and all(detail.endswith("came after the gap was closed") for detail in details)


def test_what_is_held_is_bounded() -> None:
    """With no room for what is behind a hole, bytes that come late are dropped and reported."""
    before = in_force()
    use(Limits(out_of_order_bytes=100))
    try:
        talk = begun()
        talk.client(BIG[:-10], 100)
        late = [talk.packets.pop(-20)]
        talk.give_up().show(late).client(BIG[-10:]).answer(1)
        (connection,) = connections_of(ended(talk))
    finally:
        use(before)
    assert connection.anomaly_counts["late_segment"] == 1
    assert connection.tcp is not None and connection.tcp.gaps == 1


def test_gaps_that_nobody_fills_hold_nothing() -> None:
    """Those that were seen before the connection was known to be Kafka, and those that are filled no more."""
    talk = Talk()
    talk.handshake().ask(0)
    talk.hide()
    talk.answer(0).ask(1).answer(1).ask(2)
    talk.hide()
    packets = ended(talk.answer(2).ask(3).answer(3).give_up())
    analyzer = Analyzer(Ports([9092]))
    for packet in packets:
        analyzer.feed(packet)
    analyzer.close()
    assert analyzer._store.torn_bytes == 0
