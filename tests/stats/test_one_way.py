"""Each way by itself, of captures from both ends: known lengths, clocks that agree, differ and drift."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.cli import main
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.times import one_way
from kdissect.stats.times.one_way import OneWay
from tests.support.console import CAPTURES
from tests.support.packets.pcaps import pcap_bytes
from tests.support.packets.taps import tap

MS = 1_000_000
TAPS = CAPTURES / "taps"
ENDS = ("client", "broker")
FAR, LOPSIDED = "kafka44_java_far", "kafka44_java_lopsided"
TRUE_MS = {FAR: (20, 20), LOPSIDED: (5, 35)}


def both(name: str) -> list[str]:
    """Return the captures of both ends."""
    return [str(TAPS / f"{name}.{end}.pcapng") for end in ENDS]


def split(capfd: pytest.CaptureFixture[str], paths: list[str], *options: str) -> Any:
    """Return the rows of `stats --split` about one way."""
    assert main(["stats", *paths, "--split", "--by", "client_id", "--format", "json", *options]) == 0
    return json.loads(capfd.readouterr().out)["split"]["one_way"]


def connections(capfd: pytest.CaptureFixture[str], paths: list[str], *options: str) -> Any:
    """Return the rows of `connections --one-way`."""
    assert main(["connections", *paths, "--one-way", "--format", "json", *options]) == 0
    return json.loads(capfd.readouterr().out)["rows"]


@pytest.mark.parametrize("name", TRUE_MS)
@pytest.mark.parametrize("turned", [False, True])
def test_length_of_each_way(name: str, turned: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """The process between both held packets for so long: error under 10 %, whatever is named first."""
    to_broker, to_client = (ms * MS for ms in TRUE_MS[name])
    paths = both(name)[:: -1 if turned else 1]
    rows = connections(capfd, paths, "--clocks-within", "0ms")
    assert len(rows) == 4
    for row in [*rows, *split(capfd, paths, "--clocks-within", "0ms")["rows"]]:
        assert row["shortest_to_broker_ns"] == pytest.approx(to_broker, rel=0.1)
        assert row["shortest_to_client_ns"] == pytest.approx(to_client, rel=0.1)
        assert row["shortest_ns"] == pytest.approx(to_broker + to_client, rel=0.1)
        assert row["to_broker_ns"] + row["to_client_ns"] == row["both_ways_ns"]
        assert row["error_ns"] == 0
    assert {(row["near_client"], row["near_broker"]) for row in rows} == {
        (f"{name}.client", f"{name}.broker")
    }


def test_exchanges_of_both_are_those_of_one(capfd: pytest.CaptureFixture[str]) -> None:
    found = split(capfd, both(FAR))
    complete = [one for one in Dissection(both(FAR)[0]) if one.response is not None]
    assert found["total"]["exchanges"] == sum(row["exchanges"] for row in found["rows"]) == len(complete)
    assert sum(row["exchanges"] for row in connections(capfd, both(FAR))) == len(complete)


@pytest.mark.parametrize("name", TRUE_MS)
def test_losses_are_in_the_mean(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What the lost packets of each side held up, as the process that dropped them knows."""
    lost = json.loads((TAPS / f"{name}.truth.json").read_text())["way"]["lost"]
    total = split(capfd, both(name), "--clocks-within", "0ms")["total"]
    ways = (("client", "to_broker_ns"), ("broker", "to_client_ns"))
    for by, field in ways:
        held_ns = sum(one["again_ns"] - one["at_ns"] for one in lost if one["by"] == by)
        over_ns = (total[field] - total[f"shortest_{field}"]) * total["exchanges"]
        assert held_ns > 200 * MS
        assert over_ns == pytest.approx(held_ns, rel=0.15), by  # with a millisecond here and there


def test_clocks_that_nobody_vouches_for(capfd: pytest.CaptureFixture[str]) -> None:
    """The packets allow that one way took all of the time: neither is told, the sum is."""
    found = split(capfd, both(FAR))
    (clocks,) = found["clocks"]
    assert (clocks["told"], clocks["drift"], clocks["contradicted"]) == (False, False, False)
    assert clocks["ahead_least_ns"] == pytest.approx(-20 * MS, rel=0.1)
    assert clocks["ahead_most_ns"] == pytest.approx(20 * MS, rel=0.1)
    for row in found["rows"]:
        assert row["to_broker_ns"] is row["to_client_ns"] is row["error_ns"] is None
        assert row["shortest_ns"] == pytest.approx(40 * MS, rel=0.1)
    assert main(["stats", *both(FAR), "--split"]) == 0
    assert "one way alone is not known; --clocks-within TIME says more" in capfd.readouterr().out


@pytest.mark.parametrize("shift_ms", [-3_600_000, -15, 15, 3_600_000])
def test_clocks_that_differ(shift_ms: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Both ways are free of clocks; what one way is said to be depends on what is said of them."""
    near, far = both(LOPSIDED)
    moved = str(tap(Path(far), tmp_path / "far.pcap", shift_ms * MS))
    plain, found = split(capfd, [near, far]), split(capfd, [near, moved])
    for name in ("exchanges", "both_ways_ns", "shortest_ns"):
        assert plain["total"][name] == found["total"][name]
    (before,), (after,) = plain["clocks"], found["clocks"]
    for bound in ("ahead_least_ns", "ahead_most_ns"):
        assert after[bound] == before[bound] + shift_ms * MS
    assert not after["told"]
    told = split(capfd, [near, moved], "--clocks-within", "1ms")
    is_possible = -35 <= -shift_ms <= 5  # else packets would arrive before they were sent
    assert told["clocks"][0]["contradicted"] is (not is_possible)
    assert (told["total"]["to_broker_ns"] is None) is (not is_possible)


def test_clocks_of_known_error(capfd: pytest.CaptureFixture[str]) -> None:
    """NTP keeps them within a millisecond: each way is told with that error."""
    found = split(capfd, both(FAR), "--clocks-within", "1ms")
    assert found["total"]["error_ns"] == MS
    assert found["total"]["shortest_to_broker_ns"] == pytest.approx(20 * MS, rel=0.1)
    assert split(capfd, both(FAR), "--clocks-within", "10ms")["total"]["error_ns"] is None
    assert main(["stats", *both(FAR), "--split", "--clocks-within", "1ms"]) == 0
    assert "\N{PLUS-MINUS SIGN} 1.00 ms" in capfd.readouterr().out


def seen(capture_set: str, number: int, request_ns: int, response_ns: int, size: int = 20) -> Exchange:
    """Return an exchange as a capture set has it: `near` has the connection that counts."""
    client, broker = Endpoint("10.0.0.1", 50_000), Endpoint("10.0.0.2", 9092)
    info = ConnectionInfo(capture_set, capture_set, client, broker, 0)
    info.same_as = None if capture_set == "near" else "near"
    made = Exchange(info, number, 3, 12, number)
    made.request, made.response = (
        Frame(b"", size, 1, 1, time_ns, time_ns) for time_ns in (request_ns, response_ns)
    )
    return made


def test_short_ways_tell_what_the_clocks_differ_by() -> None:
    """Connections whose ways are short bound the difference for all of their two captures."""
    ways, ahead_ns = OneWay(2), 7_200 * 1000 * MS
    for number, (there_ms, back_ms) in enumerate([(1, 30), (30, 1), (50, 70)]):
        asked_ns, answered_ns = 1000 * number * MS, (1000 * number + 500) * MS
        ways.add(seen("near", number, asked_ns, answered_ns), [(str(number),)])
        far = asked_ns + there_ms * MS + ahead_ns, answered_ns - back_ms * MS + ahead_ns
        ways.add(seen("far", number, *far))
    facts = ways.facts([("0",), ("2",)], ["which"])
    assert facts is not None
    (clocks,) = facts["clocks"]
    assert (clocks["ahead_least_ns"], clocks["ahead_most_ns"]) == (ahead_ns - MS, ahead_ns + MS)
    short, long = facts["rows"]
    assert (long["to_broker_ns"], long["to_client_ns"], long["error_ns"]) == (50 * MS, 70 * MS, MS)
    assert short["to_broker_ns"] == MS
    assert short["error_ns"] == MS


def test_ids_that_come_again_are_not_guessed_at() -> None:
    """Two requests with one correlation id are under way: nobody knows which of the other set's is which."""
    ways = OneWay(2)
    for capture_set, late_ns in (("near", 0), ("far", MS)):
        for asked_ns in (10 * MS, 20 * MS):
            ways.add(seen(capture_set, 1, asked_ns + late_ns, asked_ns + 5 * MS - late_ns), [("all",)])
    assert ways.facts([("all",)], ["which"]) is None


def test_an_id_of_another_exchange_is_none() -> None:
    ways = OneWay(2)
    ways.add(seen("near", 1, 0, 9 * MS), [("all",)])
    ways.add(seen("far", 1, MS, 8 * MS, size=21))
    assert ways.facts([("all",)], ["which"]) is None


def test_what_waits_for_another_capture_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_way, "MAX_ONE_SIDED", 10)
    ways = OneWay(2)
    for capture_set in ("near", "far"):
        for number in range(30):
            ways.add(seen(capture_set, number, number * MS, number * MS + 1), [("all",)])
    assert ways.facts([("all",)], ["which"]) is None  # the ones that could pair were given up
    ways.add(seen("near", 29, 29 * MS, 30 * MS), [("all",)])
    facts = ways.facts([("all",)], ["which"])
    assert facts is not None
    assert facts["total"]["exchanges"] == 1


def drifting(source: Path, path: Path, part: float) -> str:
    """Return a capture whose clock is faster by a part."""
    packets = list(open_captures([str(source)]).packets())
    first = packets[0].time_ns
    moved = [one._replace(time_ns=one.time_ns + int((one.time_ns - first) * part)) for one in packets]
    path.write_bytes(pcap_bytes(moved, packets[0].link_type))
    return str(path)


def test_clocks_that_drift(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A hundredth of five seconds is more than the way is long: no one difference fits."""
    near, far = both(LOPSIDED)
    found = split(capfd, [near, drifting(Path(far), tmp_path / "far.pcap", 0.03)])
    (clocks,) = found["clocks"]
    assert clocks["drift"]
    assert clocks["ahead_least_ns"] is clocks["ahead_most_ns"] is found["total"]["to_broker_ns"] is None
    assert found["total"]["shortest_ns"] == pytest.approx(40 * MS, rel=0.1)


@pytest.mark.parametrize("keeps", [lambda number: number > 40, lambda number: number % 7])
def test_captures_that_lack_packets(
    keeps: Callable[[int], bool], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    near, far = both(FAR)
    found = split(
        capfd, [near, str(tap(Path(far), tmp_path / "far.pcap", keeps=keeps))], "--clocks-within", "0ms"
    )
    whole = split(capfd, [near, far])
    assert 0 < found["total"]["exchanges"] < whole["total"]["exchanges"]
    assert found["total"]["shortest_to_broker_ns"] == pytest.approx(20 * MS, rel=0.1)


def test_one_capture_has_no_way(capfd: pytest.CaptureFixture[str]) -> None:
    assert split(capfd, both(FAR)[:1]) is None
    assert main(["connections", both(FAR)[0], "--one-way", "--format", "json"]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["rows"] == []
    assert "no exchange is in two captures: name the files of both places" in told.err


def test_a_filter_chooses_rows_and_leaves_the_clocks(capfd: pytest.CaptureFixture[str]) -> None:
    found = split(capfd, both(FAR), "-Y", "client_id == writer")
    assert [row["client_id"] for row in found["rows"]] == ["writer"]
    rows = connections(capfd, both(FAR), "-Y", "client_id == writer")
    assert {row["client_id"] for row in rows} == {"writer"}


@pytest.mark.parametrize("arguments", [["--clocks-within", "5"], ["--clocks-within", "-5ms"], ["--problems"]])
def test_wrong_usage(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["connections", both(FAR)[0], "--one-way", *arguments]) == 2
    assert capfd.readouterr().err.startswith("kdissect")
