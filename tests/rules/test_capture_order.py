"""What was captured in part, or in another order than it was sent, proves nothing."""

from kdissect.engine.analyzer import Analyzer
from kdissect.history.fact import is_answered_first
from kdissect.history.history import History
from kdissect.model.packets.packet import Packet
from kdissect.rules.judge import Judge
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk
from tests.rules.scripted_connection import ScriptedConnection
from tests.support.run import exchanges_of

JOIN = {"group_id": "g", "protocol_type": "consumer", "protocols": [{"name": "range"}]}
JOINED = {"generation_id": 1, "leader": "m", "member_id": "m", "members": []}


def said(packets: list[Packet]) -> set[str]:
    judge = Judge()
    analyzer = Analyzer()
    for packet in packets:
        for event in analyzer.feed(packet):
            judge.add(event)
    for event in analyzer.close():
        judge.add(event)
    judge.finish()
    return {one.code for one in judge.findings.all()}


def joins(*, is_captured: bool) -> list[Packet]:
    """Return a JoinGroup whose answer lacks the member id."""
    talk = ScriptedConnection().exchange("JoinGroup", 5, JOIN, JOINED)
    if is_captured:
        talk.ask("JoinGroup", 5, JOIN, id_=7)
    return talk.answer("JoinGroup", 5, JOINED | {"member_id": ""}, id_=7).close()


def test_a_response_without_its_request_has_no_body_that_is_judged() -> None:
    assert "GRP029" in said(joins(is_captured=True))
    packets = joins(is_captured=False)
    (*_, orphan) = exchanges_of(packets)
    assert (orphan.request, orphan.api_key) == (None, 11)
    assert "GRP029" not in said(packets)


def answered_before_it_was_asked(by_clock: bool) -> Exchange:
    exchange = Talk().ask(3, 9, {"topics": []}, {})
    asked, answer = exchange.request, exchange.response
    assert asked is not None
    assert answer is not None
    if by_clock:
        answer.time_ns = asked.end_time_ns - 1
    else:
        answer.first_ref = asked.last_ref - 1
    return exchange


def test_an_answer_before_its_request_shows_another_order() -> None:
    assert not is_answered_first(Talk().ask(3, 9, {"topics": []}, {}))
    for by_clock in (True, False):
        exchange, history = answered_before_it_was_asked(by_clock), History()
        history.add(exchange)
        assert is_answered_first(exchange)
        assert history.is_holed("set")
