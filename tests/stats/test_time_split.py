"""Where the time of exchanges went: packets with known times, and a way of known length and losses."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.stats.times.time_split import PARTS
from tests.stats.truth import told
from tests.support.console import CAPTURES
from tests.support.messages.traffic import (
    ACK,
    BROKER,
    CLIENT,
    PSH,
    STEP_NS,
    SYN,
    Conversation,
    request,
    response,
)
from tests.support.packets.pcaps import write_pcap

MS = 1_000_000
FAR = "kafka44_java_far"
AT_CLIENT, AT_BROKER = (str(CAPTURES / "taps" / f"{FAR}.{end}.pcapng") for end in ("client", "broker"))
WAY = json.loads((CAPTURES / "taps" / f"{FAR}.truth.json").read_text())["way"]
GROUP = b"\0\1g" + bytes(4) + b"\0\1m"  # group, generation, member: Heartbeat v1 and v2


def throttled(throttle_ms: int) -> bytes:
    """Return a Heartbeat response without an error."""
    return throttle_ms.to_bytes(4) + b"\0\0"


class Timed(Conversation):
    """Packets at times in milliseconds after the first."""

    def at(self, ms: float, side: int, data: bytes = b"", flags: int = PSH | ACK) -> "Timed":
        self.now = 1_700_000_000_000_000_000 + int(ms * MS) - STEP_NS
        self.packet(side, data, flags)
        return self

    def again(self, ms: float, side: int, data: bytes) -> "Timed":
        """Return what was sent last comes once more."""
        self._next[side] -= len(data)
        return self.at(ms, side, data)

    def opened(self) -> "Timed":
        """20 ms to the broker and back, 1 ms to the client."""
        return self.at(0, CLIENT, flags=SYN).at(20, BROKER, flags=SYN | ACK).at(21, CLIENT, flags=ACK)


def split(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], talk: Conversation, *options: str
) -> dict[str, dict[str, float]]:
    """Return the rows of the split by their API, in milliseconds, without what is 0."""
    path = write_pcap(tmp_path / "timed.pcap", talk.packets)
    assert main(["stats", path, "--split", "--format", "json", *options]) == 0
    found = json.loads(capfd.readouterr().out)["split"]
    for row in (*found["rows"], found["total"]):
        assert row["time_ns"] == sum(row[f"{part}_ns"] for part in PARTS)
    return {
        row["api"]: {name: value / MS for name, value in row.items() if name.endswith("_ns") and value}
        for row in found["rows"]
    }


def metadata(talk: Timed, at: float, number: int = 1, took: float = 30) -> Timed:
    """Return a question and its answer."""
    talk.at(at, CLIENT, request(3, 1, number, b"\0\0\0\0"))
    return talk.at(at + took, BROKER, response(number, bytes(12)))


def test_network_broker_and_client(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = metadata(metadata(Timed().opened(), 22), 102, 2)
    assert split(tmp_path, capfd, talk) == {
        "Metadata": {"time_ns": 61, "network_ns": 41, "broker_ns": 20, "client_ns": 49}
    }


def test_throttle_that_the_broker_waits_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = metadata(Timed().opened(), 22).at(102, CLIENT, request(12, 1, 2, GROUP))
    found = split(tmp_path, capfd, talk.at(232, BROKER, response(2, throttled(100))))
    assert found["Heartbeat"] == {
        "time_ns": 131, "network_ns": 21, "throttle_ns": 100, "broker_ns": 10, "client_ns": 49,
    }  # fmt: skip


def test_throttle_that_the_client_waits_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = (
        Timed().opened().at(22, CLIENT, request(12, 2, 1, GROUP)).at(52, BROKER, response(1, throttled(100)))
    )
    found = split(tmp_path, capfd, metadata(talk, 202, 2))
    assert found["Heartbeat"] == {"time_ns": 30, "network_ns": 20, "broker_ns": 10}
    assert found["Metadata"] == {
        "time_ns": 131, "network_ns": 21, "throttle_ns": 100, "broker_ns": 10, "client_ns": 49,
    }  # fmt: skip


def test_retransmission(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = request(3, 1, 2, b"\0\0\0\0")
    talk = metadata(Timed().opened(), 22).at(102, CLIENT, asked).again(302, CLIENT, asked)
    talk.at(332, BROKER, response(2, bytes(12)))
    found = split(tmp_path, capfd, metadata(talk, 402, 3))
    assert found["Metadata"] == {
        "time_ns": 292, "network_ns": 62, "retransmission_ns": 200, "broker_ns": 30, "client_ns": 118,
    }  # fmt: skip
    assert main(["inspect", str(tmp_path / "timed.pcap"), "-e", "delay_ns,rtt_ns", "--no-header"]) == 0
    assert capfd.readouterr().out.split() == ["0", "21000000", "200000000", "21000000", "0", "21000000"]


def test_retransmission_that_the_answer_did_not_wait_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = request(3, 1, 2, b"\0\0\0\0")
    talk = metadata(Timed().opened(), 22).at(102, CLIENT, asked).again(302, CLIENT, asked)
    found = split(tmp_path, capfd, talk.at(310, BROKER, response(2, bytes(12))))
    assert "retransmission_ns" not in found["Metadata"]


def test_retransmission_of_an_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answer = response(1, bytes(12))
    talk = Timed().opened().at(22, CLIENT, request(3, 1, 1, b"\0\0\0\0")).at(52, BROKER, answer)
    found = split(tmp_path, capfd, metadata(talk.again(252, BROKER, answer), 302, 2))
    assert found["Metadata"] == {
        "time_ns": 261, "network_ns": 41, "retransmission_ns": 200, "broker_ns": 20, "client_ns": 49,
    }  # fmt: skip


def test_frames_that_take_time_to_pass(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answer = response(1, bytes(12))
    talk = Timed().opened().at(22, CLIENT, request(3, 1, 1, b"\0\0\0\0"))
    talk.at(52, BROKER, answer[:9]).at(59, BROKER, answer[9:])
    assert split(tmp_path, capfd, talk)["Metadata"] == {"time_ns": 37, "network_ns": 27, "broker_ns": 10}


def test_way_that_no_acknowledgment_shows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = Timed()
    found = split(tmp_path, capfd, metadata(metadata(talk, 22), 102, 2))
    assert found["Metadata"] == {"time_ns": 60, "unknown_ns": 60, "client_ns": 50}


def test_requests_under_way_at_a_time_have_no_pause(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    talk = Timed().opened()
    for number in (1, 2):
        talk.at(21 + number, CLIENT, request(3, 1, number, b"\0\0\0\0"))
    for number in (1, 2):
        talk.at(51 + number, BROKER, response(number, bytes(12)))
    # The second waits 29 for the response before it, 9 of them at the broker, which answers it 1 later.
    parts = {"network_ns": 40, "in_line_ns": 9, "broker_ns": 11}
    assert split(tmp_path, capfd, talk)["Metadata"] == {"time_ns": 60, **parts}


def test_a_request_in_line_for_less_than_the_way_is_still_under_way(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    talk = Timed().opened()
    for number, at in ((1, 22), (2, 45)):
        talk.at(at, CLIENT, request(3, 1, number, b"\0\0\0\0"))
    for number, at in ((1, 52), (2, 95)):
        talk.at(at, BROKER, response(number, bytes(12)))
    # The first: 20 for the way, 10 at the broker. The second: 20 for the way, 7 of them in line, 30 there.
    parts = {"network_ns": 40, "broker_ns": 40}
    assert split(tmp_path, capfd, talk)["Metadata"] == {"time_ns": 80, **parts}


def test_time_in_line_is_not_the_brokers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = Timed().opened()
    for number in range(1, 41):
        at = 100 * number
        for place in (0, 1, 2):
            talk.at(at + place, CLIENT, request(3, 1, 3 * number + place, b"\0\0\0\0"))
        for place in (0, 1, 2):
            talk.at(at + 50 + place, BROKER, response(3 * number + place, bytes(12)))
    path = write_pcap(tmp_path / "line.pcap", talk.packets)
    assert main(["stats", str(path), "--by", "api", "--format", "json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert row["latency_ns"]["sum"] == 120 * 50 * MS
    # The first of three waits 50 for the broker, the second and the third 1 each: 49 of their 50 are in line.
    assert row["broker_ns"]["sum"] == 40 * (50 + 1 + 1) * MS


def test_filter_leaves_pauses_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = metadata(Timed().opened(), 22).at(102, CLIENT, request(12, 2, 2, GROUP))
    talk.at(132, BROKER, response(2, throttled(0)))
    found = split(tmp_path, capfd, metadata(talk, 202, 3), "-Y", "api == Metadata")
    assert found == {"Metadata": {"time_ns": 61, "network_ns": 41, "broker_ns": 20, "client_ns": 69}}


def facts(capfd: pytest.CaptureFixture[str], path: str, *options: str) -> Any:
    """Return the split of a file."""
    assert main(["stats", path, "--split", "--format", "json", *options]) == 0
    return json.loads(capfd.readouterr().out)["split"]


@pytest.mark.parametrize("at_broker", [False, True])
def test_length_of_the_way(at_broker: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """The process between both ends held each packet for half of the round trip: error under 10 %."""
    path = AT_BROKER if at_broker else AT_CLIENT
    expected = WAY["round_trip_ms"] * MS
    assert main(["connections", path, "--format", "json"]) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert len(rows) == 4
    for row in rows:
        assert row["rtt_ns"] == pytest.approx(expected, rel=0.1)
        assert row["captured_near"] == ("broker" if at_broker else "client")
    found = facts(capfd, path, "--by", "client_id")
    assert found["captured_near"] == {"broker" if at_broker else "client": 4}
    assert found["round_trips"] == {"handshake": 4}


def test_both_ends_agree_on_the_broker(capfd: pytest.CaptureFixture[str]) -> None:
    """What no loss held up took the broker as long as the capture at its side saw."""
    ways = []
    for path in (AT_CLIENT, AT_BROKER):
        assert (
            main(["inspect", path, "-Y", "exchange", "-e", "client_id,correlation_id,latency_ns,rtt_ns"]) == 0
        )
        lines = [line.split("\t") for line in capfd.readouterr().out.splitlines()[1:]]
        ways.append({(one[0], one[1]): (int(one[2]), int(one[3])) for one in lines})
    far, near = ways
    assert len(far) == len(near) == 36
    held = [key for key in far if far[key][0] - near[key][0] > 100 * MS]
    assert len(held) == 4  # a request was lost once, an answer three times
    others = far.keys() - set(held)
    network = sum(far[key][0] - near[key][0] for key in others)
    assert network == pytest.approx(sum(far[key][1] for key in others), rel=0.1)


def test_losses_are_laid_on_what_they_held_up(capfd: pytest.CaptureFixture[str]) -> None:
    lost = WAY["lost"]
    took = {
        by: [one["again_ns"] - one["at_ns"] for one in lost if one["by"] == by] for by in ("client", "broker")
    }
    assert main(["inspect", AT_CLIENT, "-Y", "delay > 0ms && api == InitProducerId", "-e", "delay_ns"]) == 0
    (delay,) = capfd.readouterr().out.split()[1:]
    assert int(delay) == pytest.approx(took["client"][0], rel=0.1)
    found = facts(capfd, AT_BROKER)["total"]
    assert found["retransmission_ns"] == pytest.approx(sum(took["broker"]), rel=0.1)


def test_parts_of_a_recorded_capture_add_up(capfd: pytest.CaptureFixture[str]) -> None:
    """To the time from first to last byte, where nothing overlaps, and the time between."""
    document = told(capfd, "stats", "kafka44_java_groups", "--split", "--by", "api,client_id")
    found = document["split"]
    for name in ("exchanges", "time_ns", "client_ns", "pauses"):
        assert sum(row[name] for row in found["rows"]) == found["total"][name]
    assert found["total"]["exchanges"] == document["total"]["states"]["complete"]
    assert set(found["captured_near"]) == {"both"}
