"""Why a connection came to nothing: what proves a reason, and what is close to it and proves none."""

from collections.abc import Iterable

import pytest

from kdissect.engine.analyzer import Analyzer
from kdissect.model.packets.packet import Packet
from kdissect.session.events import ConnectionClosed
from kdissect.session.problem import names_address
from tests.rules.fixtures.connections import ALERT, INTERNAL_ERROR, client_hello, plaintext, server_hello
from tests.rules.scripted_connection import SOFTWARE, VERSIONS, ScriptedConnection, findings
from tests.support.messages.traffic import ACK, BROKER, CLIENT, RST, SYN, Conversation, request, response

RETRY_NS = 10**9


def reason(packets: Iterable[Packet]) -> str | None:
    """Of the one connection there is."""
    analyzer = Analyzer()
    events = [event for packet in packets for event in analyzer.feed(packet)] + analyzer.close()
    (problem,) = (event.problem for event in events if isinstance(event, ConnectionClosed))
    return None if problem is None else str(problem.reason)


def syns(count: int) -> Conversation:
    """Return a SYN, and again the same."""
    talk = Conversation()
    for _ in range(count):
        talk._next[CLIENT] = 1000  # the same number each time
        talk.packet(CLIENT, flags=SYN).wait(RETRY_NS)
    return talk


def test_no_answer_takes_a_second_syn() -> None:
    assert reason(syns(1).packets) is None
    assert reason(syns(2).packets) == "no_answer"


def test_a_copy_of_a_syn_is_no_second_one() -> None:
    """One packet captured at two places has one IP identification."""
    (syn,) = syns(1).packets
    assert reason([syn, syn._replace(ref=2, time_ns=syn.time_ns + 1000)]) is None


def test_a_client_that_goes_on_was_answered() -> None:
    """One direction was captured."""
    talk = syns(2).packet(CLIENT, flags=ACK).client(request(18, 0, 1))
    assert reason(talk.packets) is None


def test_refused() -> None:
    talk = Conversation().packet(CLIENT, flags=SYN)
    assert reason(talk.packet(BROKER, flags=RST | ACK).packets) == "refused"
    assert reason(Conversation().packet(CLIENT, flags=SYN).packet(CLIENT, flags=RST).packets) is None
    assert reason(Conversation().handshake().rst(BROKER).packets) == "closed_at_once"


@pytest.mark.parametrize(("closer", "expected"), [(CLIENT, "probe"), (BROKER, "closed_at_once")])
def test_without_a_byte(closer: int, expected: str) -> None:
    whole = Conversation().handshake().fin(closer).fin(1 - closer).packets
    assert reason(whole) == expected


def test_bytes_that_were_not_captured_may_have_been_an_answer() -> None:
    talk = Conversation().handshake().client(request(18, 0, 1)).lose(BROKER, response(1, bytes(9)))
    talk.client(request(3, 0, 2, bytes(4))).fin(BROKER)
    assert reason(talk.packets) is None


def test_snapped_packets_prove_nothing() -> None:
    packets = Conversation().handshake().client(client_hello(None)).fin(BROKER).packets
    assert reason(packets) == "tls_to_plaintext"
    assert reason([packet._replace(data=packet.data[:54]) for packet in packets]) is None


def test_an_open_connection_came_to_nothing_yet() -> None:
    assert reason(Conversation().handshake().client(client_hello(None)).packets) is None
    assert reason(Conversation().handshake().packets) is None


def test_a_server_that_speaks_tls_is_no_plaintext_port() -> None:
    talk = Conversation().handshake().client(client_hello(None)).broker(server_hello()).fin(BROKER)
    assert reason(talk.packets) == "tls_refused"


def test_a_client_that_closes_within_its_handshake_may_just_stop() -> None:
    talk = Conversation().handshake().client(client_hello(None)).broker(server_hello()).fin(CLIENT)
    assert reason(talk.packets) == "tls_left"


def asked(*answered: int, closer: int = BROKER) -> list[Packet]:
    """Return requests of Metadata, of which some are answered."""
    talk = ScriptedConnection(negotiate=False).exchange("ApiVersions", 3, SOFTWARE, VERSIONS)
    for number in (2, 3):
        talk.ask("Metadata", 12, {"topics": None})
        if number in answered:
            talk.answer("Metadata", 12, {})
    return talk.close(closer)


def test_closed_at_once_is_before_any_answer() -> None:
    assert reason(asked()) == "closed_at_once"
    assert reason(asked(2)) is None
    assert reason(asked(closer=CLIENT)) is None  # ApiVersions was answered: it may have had enough


def test_unanswered() -> None:
    talk = Conversation().handshake().client(request(18, 0, 1))
    assert reason(talk.packet(BROKER).fin(CLIENT).fin(BROKER).packets) == "unanswered"


@pytest.mark.parametrize("name", ["internal_error", "handshake_failure", "alert 255"])
def test_a_tls_alert_is_no_frame_of_the_broker(name: str) -> None:
    code = {"internal_error": INTERNAL_ERROR, "handshake_failure": 40}.get(name, 255)
    packets = plaintext(ALERT + bytes([2, code]))
    assert reason(packets) == "plaintext_to_tls"
    (found,) = [finding for finding in findings(packets) if finding.severity != "info"]
    assert found.code == "CON002"
    assert found.seen.endswith(f"the TLS alert {name}")


def test_http_is_no_frame_of_the_broker() -> None:
    packets = plaintext(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert reason(packets) == "foreign_answer"
    assert "FRM001" not in {finding.code for finding in findings(packets)}


def test_a_bad_size_behind_an_answer_is_one() -> None:
    talk = ScriptedConnection().send(BROKER, ALERT + bytes([2, INTERNAL_ERROR]))
    assert "FRM001" in {finding.code for finding in findings(talk.close(BROKER))}


@pytest.mark.parametrize(
    ("certificate", "address", "expected"),
    [
        (("CN=x", "a.example"), "a.example", True),
        (("CN=x", "a.example"), "A.Example.", True),
        (("CN=x", "*.example"), "a.example", True),
        (("CN=x", "*.example"), "a.b.example", False),
        (("CN=x", "*.example"), "example", False),
        (("CN=a.example", "b.example"), "a.example", False),  # alternatives count alone
        (("O=y,CN=a.example",), "a.example", True),
        (("CN=x", "10.0.0.2"), "10.0.0.2", True),
        (("CN=x", "a.example"), "10.0.0.2", False),
    ],
)
def test_names(certificate: tuple[str, ...], address: str, expected: bool) -> None:
    assert names_address(certificate, address) is expected
