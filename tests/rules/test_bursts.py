"""A burst of garbage, or a size that is wrong, is one finding: what is read behind it is no other fault.

Each burst changes a recorded connection without faults. One process and two stages come to the same.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import cache

import pytest

from kdissect.api import Dissection
from kdissect.model.finding import Finding, Severity
from kdissect.report.json import report_json
from kdissect.report.junit import report_junit
from kdissect.report.sarif import report_sarif
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.session.exchange import Exchange
from tests.mutation.talk import Line, Talk, judged
from tests.rules.scripted_connection import findings
from tests.stages.test_judges import at_once, in_stages
from tests.support.console import CAPTURES
from tests.support.messages.traffic import BROKER, CLIENT
from tests.support.verdicts import verdict_of

NAMES = ("kafka44_aiokafka_groups.pcapng", "kafka44_franz_groups.pcapng", "kafka44_rdkafka_groups.pcapng")
AT, TOLD = 6, 24  # the exchange that is changed, of so many
ENDS = {CLIENT: "client", BROKER: "broker"}
Burst = Callable[[Talk, Line], None]


def of_bytes(garbage: bytes) -> Burst:
    """Return bytes that belong to no frame."""

    def change(talk: Talk, line: Line) -> None:
        talk.insert_behind(line, Line(line.side, garbage, line.at_ns, line.exchange, bare=True))

    return change


def of_size(off: int) -> Burst:
    """Return a size that differs from the length of the frame."""

    def change(_: Talk, line: Line) -> None:
        line.size = len(line.content) + off

    return change


BURSTS = {
    "three bytes": of_bytes(b"\x00\x01\x02"),
    "bytes of no size": of_bytes(b"\xa5" * 20),
    "text": of_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "empty frames": of_bytes(bytes(12)),
    "counts itself": of_size(4),
    "too large": of_size(50),
    "too small": of_size(-3),
    "negative": lambda _, line: setattr(line, "size", -5),
}


@cache
def recorded(name: str) -> tuple[Exchange, ...]:
    """Return the first exchanges of a connection without a fault."""
    found: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in Dissection(CAPTURES / name):
        found[exchange.connection.id].append(exchange)
    for exchanges in found.values():
        first = [one for one in exchanges if one.request is not None and one.response is not None][:TOLD]
        if len(first) == TOLD and not faults(Talk(first)):
            return tuple(first)
    raise AssertionError(name)


def faults(talk: Talk) -> list[Finding]:
    """Return what is no mere information."""
    return [one for one in judged(talk).findings.all() if one.severity is not Severity.INFO]


def with_burst(name: str, side: int, burst: Burst) -> Talk:
    """Return a recorded connection with one burst."""
    talk = Talk(recorded(name))
    burst(talk, talk.line(AT, side))
    return talk


@pytest.mark.parametrize("burst", BURSTS)
@pytest.mark.parametrize("side", [CLIENT, BROKER], ids=ENDS.get)
@pytest.mark.parametrize("name", NAMES)
def test_a_burst_is_one_finding(name: str, side: int, burst: str) -> None:
    talk = with_burst(name, side, BURSTS[burst])
    (found,) = faults(talk)
    assert found.party.role == ENDS[side]
    assert verdict_of(judged(talk), pieces=False) == verdict_of(judged(talk, guards=False), pieces=False)


@pytest.mark.parametrize("burst", BURSTS)
@pytest.mark.parametrize("side", [CLIENT, BROKER], ids=ENDS.get)
def test_stages_find_the_same(side: int, burst: str) -> None:
    packets = with_burst(NAMES[0], side, BURSTS[burst]).packets()
    assert in_stages(packets) == at_once(packets)


@pytest.mark.parametrize("side", [CLIENT, BROKER], ids=ENDS.get)
def test_faults_behind_a_frame_that_is_wrong_in_itself_count(side: int) -> None:
    """The frames behind it are sound: the second is a fault of its own."""
    talk = Talk(recorded(NAMES[0]))
    for exchange in (AT, AT + 2):
        talk.line(exchange, side).content += bytes(3)
    assert [(one.code, one.place.exchange) for one in faults(talk)] == [("FRM006", AT), ("FRM006", AT + 2)]


def test_a_response_without_a_request_behind_one_that_fits_counts() -> None:
    talk = Talk(recorded(NAMES[0]))
    orphan = bytes((0, 0, 9, 9)) + talk.line(AT, BROKER).content[4:]
    talk.insert_behind(talk.line(AT, BROKER), Line(BROKER, orphan, talk.line(AT, BROKER).at_ns, AT))
    (found,) = faults(talk)
    assert (found.code, found.party.role) == ("PAI001", "broker")


# what follows a response that is wrong


def cut_off(side: int, closer: int | None, more: int = 0) -> Talk:
    """Return a response that is too short; after it `more` exchanges, and the end."""
    talk = with_burst(NAMES[0], side, BURSTS["too small"])
    talk.cut_behind(talk.line(AT + more, BROKER))
    talk.closer = closer
    return talk


@pytest.mark.parametrize(
    ("closer", "how"),
    [
        (CLIENT, "; the client closes it (fin) 1.0 ms after the response"),
        (BROKER, "; the broker closes it (fin) 1.0 ms after the response"),
        (None, " to the end of the capture"),
    ],
)
def test_a_broken_response_after_which_the_client_is_silent_says_so(closer: int | None, how: str) -> None:
    talk = cut_off(BROKER, closer)
    (found,) = faults(talk)
    assert found.consequence == f"the client sends no more requests on the connection{how}"
    assert in_stages(talk.packets()) == at_once(talk.packets())
    judge = judged(talk)
    verdict = Verdict(judge, quality_of(judge.coverage), ("a.pcap",))
    for report in (report_json, report_sarif, report_junit):
        assert found.consequence in report(verdict)


def out_of_order(talk: Talk) -> None:
    """Answer the next request first."""
    one, other = talk.line(AT, BROKER), talk.line(AT + 1, BROKER)
    asked = talk.line(AT + 1, CLIENT)
    asked.at_ns = talk.line(AT, CLIENT).at_ns
    talk.lines.remove(asked)
    talk.insert_behind(talk.line(AT, CLIENT), asked)
    talk.lines.remove(other)
    talk.lines.insert(talk.lines.index(one), other)
    other.at_ns = one.at_ns


def twice(talk: Talk) -> None:
    """Send a response again."""
    line = talk.line(AT + 1, BROKER)
    talk.insert_behind(line, line.copy())


@pytest.mark.parametrize(("change", "code"), [(out_of_order, "PAI002"), (twice, "PAI003")])
@pytest.mark.parametrize("more", [0, 2])
def test_a_response_in_another_place_says_if_the_client_is_silent(
    change: Callable[[Talk], None], code: str, more: int
) -> None:
    talk = Talk(recorded(NAMES[0]))
    talk.cut_behind(talk.line(AT + 1 + more, BROKER))
    change(talk)
    (found,) = faults(talk)
    assert found.code == code
    assert found.consequence.startswith("the client sends no more requests") == (not more)
    assert in_stages(talk.packets()) == at_once(talk.packets())


def test_a_client_that_goes_on_is_not_silent() -> None:
    for more in (1, 3):
        (found,) = faults(cut_off(BROKER, CLIENT, more))
        assert not found.consequence
    talk = cut_off(BROKER, CLIENT)
    asked = talk.line(AT, CLIENT)
    talk.lines.append(asked.copy(exchange=AT + 1, at_ns=talk.lines[-1].at_ns + 1))  # no response to it
    (found,) = [one for one in faults(talk) if one.code.startswith("BDY")]
    assert not found.consequence


def test_of_bytes_that_are_missing_nobody_knows() -> None:
    packets = cut_off(BROKER, CLIENT).packets()
    at = next(number for number, packet in enumerate(packets) if len(packet.data) > 100)
    judge = findings([*packets[:at], *packets[at + 1 :]])
    assert not any("sends no more requests" in found.consequence for found in judge)
