"""A connection whose first frame is broken is Kafka's where another proved the broker, earlier or later."""

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.rules.judge import Judge
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import BROKER, CLIENT, START_NS, Conversation, request, response
from tests.support.packets.broken_frames import BODY, BROKEN, HEARTBEAT, OK, PORT, SECOND, broken, healthy
from tests.support.packets.pcaps import write_pcap
from tests.support.run import connections_of


def judged(path: str) -> tuple[dict[int, str], set[str]]:
    """Kind of each connection by the client's port, and codes of findings about broken ones."""
    judge, kinds = Judge(), {}
    for event in Dissection(path).events():
        judge.add(event)
        if isinstance(event, ConnectionClosed):
            kinds[event.connection.client.port] = str(event.connection.kind)
    judge.finish()
    return kinds, {finding.code for finding in judge.findings.all()}


@pytest.mark.parametrize("is_later", [False, True])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_first_frame_is_a_finding(name: str, is_later: bool, tmp_path: Path) -> None:
    """`is_later`: the proof comes behind the broken connection."""
    data, code = BROKEN[name]
    first, second = START_NS, START_NS + SECOND
    talks = [broken(data, first), healthy(second)] if is_later else [healthy(first), broken(data, second)]
    packets = talks[0].packets + talks[1].packets
    kinds, codes = judged(write_pcap(tmp_path / "a.pcap", packets))
    assert kinds == {40000: "kafka", 40001: "kafka"}
    assert code in codes


@pytest.mark.parametrize("name", BROKEN)
def test_alone_it_is_nobodys(name: str, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", broken(BROKEN[name][0], START_NS).packets)
    kinds, codes = judged(path)
    assert kinds == {40001: "unknown"} and not codes


def test_a_stream_knows_what_came_earlier() -> None:
    data = BROKEN["version -1"][0]
    before = healthy(START_NS).packets + broken(data, START_NS + SECOND).packets
    after = broken(data, START_NS).packets + healthy(START_NS + SECOND).packets
    assert [str(found.kind) for found in connections_of(before)] == ["kafka", "kafka"]
    assert [str(found.kind) for found in connections_of(after)] == ["unknown", "kafka"]


def test_other_capture_sets_and_ends_prove_nothing(tmp_path: Path) -> None:
    """The same address in another capture set may be another machine."""
    data = BROKEN["version -1"][0]
    write_pcap(tmp_path / "a.pcap", broken(data, START_NS).packets)
    write_pcap(tmp_path / "b.pcap", healthy(START_NS).packets)
    kinds, _ = judged_paths([str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")])
    assert kinds == {40000: "kafka", 40001: "unknown"}
    other = Conversation(ports=(40001, PORT + 1)).handshake().client(data).fin(BROKER).fin(CLIENT)
    kinds, _ = judged(write_pcap(tmp_path / "c.pcap", other.packets + healthy(START_NS + SECOND).packets))
    assert kinds == {40000: "kafka", 40001: "unknown"}


def judged_paths(paths: list[str]) -> tuple[dict[int, str], list[Exchange]]:
    kinds, exchanges = {}, []
    for event in Dissection(paths).events():
        if isinstance(event, ConnectionClosed):
            kinds[event.connection.client.port] = str(event.connection.kind)
        elif isinstance(event, Exchange):
            exchanges.append(event)
    return kinds, exchanges


def test_a_signature_is_believed_before_the_end(tmp_path: Path) -> None:
    """What speaks HTTP to a broker speaks HTTP."""
    talk = (
        Conversation(ports=(40001, PORT))
        .handshake()
        .client(b"GET / HTTP/1.1\r\n\r\n")
        .fin(BROKER)
        .fin(CLIENT)
    )
    kinds, _ = judged(write_pcap(tmp_path / "a.pcap", talk.packets + healthy(START_NS + SECOND).packets))
    assert kinds == {40000: "kafka", 40001: "http"}


def test_only_ports_leave_the_rest_out(tmp_path: Path) -> None:
    other = Conversation(ports=(40002, 9092)).handshake().client(request(HEARTBEAT, 0, 1, BODY))
    other.broker(response(1, OK)).fin(CLIENT).fin(BROKER)
    path = write_pcap(tmp_path / "a.pcap", healthy(START_NS).packets + other.packets)
    seen = {event.connection.client.port for event in Dissection(path, only_ports=[9092]).events()}
    assert seen == {40002}
    assert {event.connection.client.port for event in Dissection(path).events()} == {40000, 40002}
