"""Request logs of brokers that were made slow: `why` names the phase, and `stats --split` adds it up."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kdissect.causes.time.late_answers import phases_help, phases_text
from kdissect.cli import main
from kdissect.model.packets.logged import Phases
from kdissect.session.exchange import Exchange
from kdissect.stats.times.time_split import PARTS, PHASES
from kdissect.stats.times.waited import waited_phases
from tests.support.console import CAPTURES

LOGS = CAPTURES / "phases" / "recorded"
# The phase that must have most of the time of the producer's requests.
LONGEST = {
    "slow-disk": "broker_local",
    "slow-follower": "broker_remote",
    "full-request-queue": "broker_queue",
}


def log_of(name: str) -> Path:
    """Return the log of an injection."""
    return LOGS / f"{name}.requests.log.gz"


def printed(capfd: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    """Return what a command prints as JSON."""
    main([*command, "--format", "json"])
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


@pytest.mark.parametrize("name", [*LONGEST, "quota"])
def test_why_names_the_phase_first(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    first, *others = printed(capfd, "why", str(log_of(name)))["causes"]
    truth = json.loads((LOGS / f"{name}.truth.json").read_text())
    assert first["id"] == truth["cause"]
    assert truth["words"] in first["sentence"]
    assert not others


@pytest.mark.parametrize("name", LONGEST)
def test_split_has_the_phases(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    split = printed(capfd, "stats", str(log_of(name)), "--split", "-Y", "client_id == shop && api == Produce")
    (row,) = split["split"]["rows"]
    phases = {phase: row[f"{phase}_ns"] for phase in PHASES}
    assert max(phases, key=lambda phase: phases[phase]) == LONGEST[name]
    assert row["logged"] == row["exchanges"] > 0
    parts = {part: row[f"{part}_ns"] for part in PARTS}
    assert sum(parts.values()) == row["time_ns"]
    assert {part for part, took_ns in parts.items() if took_ns} == {"broker"}
    # The broker rounds each phase to a microsecond, and has their sum as totalTimeMs.
    assert abs(sum(phases.values()) - parts["broker"]) <= 5_000 * row["exchanges"]


def test_wait_of_a_fetch_is_its_remote_time(capfd: pytest.CaptureFixture[str]) -> None:
    split = printed(capfd, "stats", str(log_of("slow-follower")), "--split", "-Y", "api == Fetch")["split"]
    (row,) = split["rows"]
    assert 0 < row["wait_ns"] == row["broker_remote_ns"] < row["time_ns"]
    assert row["unclear_ns"] == row["unknown_ns"] == 0


def test_packets_have_no_phases(capfd: pytest.CaptureFixture[str]) -> None:
    split = printed(capfd, "stats", str(CAPTURES / "kafka44_java_admin.pcapng"), "--split")["split"]
    assert split["total"]["logged"] == 0
    assert {split["total"][f"{phase}_ns"] for phase in PHASES} == {None}


def _even(api_key: int, least: int = 400) -> Phases:
    """Return what counts of phases of 400 ns each, but for the time in the request queue."""
    exchange = SimpleNamespace(
        api_key=api_key, log_line=SimpleNamespace(phases=Phases(least, 400, 400, 400, 400))
    )
    found = waited_phases(cast("Exchange", exchange))
    assert found is not None
    return found


def test_all_phases_have_shares_of_the_time_that_is_waited() -> None:
    assert phases_text(_even(0)) == (
        " The broker logged where it spent its time on them: 25 % in the request queue, 25 % in the broker's"
        " own work on the requests, 25 % waiting for other brokers and 25 % in the response queue."
    )
    assert sum(_even(0)) == 1600


def test_what_a_fetch_waits_for_on_purpose_has_no_share() -> None:
    assert "waiting for other brokers" not in phases_text(_even(1))
    assert sum(_even(1)) == 1200


def test_there_is_advice_if_all_phases_are_equally_long() -> None:
    advice = phases_help(_even(0))
    assert "num.io.threads" in advice
    assert "num.network.threads" in advice


def test_there_is_no_advice_about_short_phases() -> None:
    assert "num.io.threads" not in phases_help(_even(0, 100))


def test_mean_and_shares_are_of_one_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whether the sending is long changes neither."""
    found = []
    for send_ms in (1, 300):
        path = tmp_path / f"{send_ms}.log"
        path.write_text("".join(_line(second, send_ms) for second in range(0, 120, 6)))
        (cause,) = [one for one in printed(capfd, "why", str(path))["causes"] if one["id"] == "slow-broker"]
        found.append((cause["sentence"].partition(" took ")[2], cause["help"]))
    assert found[0] == found[1]
    assert "1.60 s on the mean" in found[0][0]
    assert "sending" not in found[0][0]
    assert found[0][1].strip()


def _line(second: int, send_ms: int) -> str:
    header = {
        "requestApiKey": 0, "requestApiVersion": 9, "correlationId": second + 1, "clientId": "shop",
        "requestApiKeyName": "PRODUCE",
    }  # fmt: skip
    partition = {"index": 0, "recordsSizeInBytes": 100}
    answered = {
        "index": 0, "errorCode": 0, "baseOffset": second, "logAppendTimeMs": -1, "logStartOffset": 0,
        "recordErrors": [], "errorMessage": None,
    }  # fmt: skip
    topics = [{"name": "orders", "partitionData": [partition]}]
    facts = {
        "isForwarded": False, "requestHeader": header,
        "request": {"transactionalId": None, "acks": -1, "timeoutMs": 30000, "topicData": topics},
        "response": {
            "responses": [{"name": "orders", "partitionResponses": [answered]}], "throttleTimeMs": 0,
        },
        "connection": "10.0.0.2:9092-10.0.0.1:48928-0", "totalTimeMs": 1600 + send_ms,
        "requestQueueTimeMs": 400, "localTimeMs": 400, "remoteTimeMs": 400, "throttleTimeMs": 0,
        "responseQueueTimeMs": 400, "sendTimeMs": send_ms, "securityProtocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS", "listener": "PLAINTEXT",
        "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "3.9.2"},
    }  # fmt: skip
    text = json.dumps(facts)
    time = f"10:{second // 60:02}:{second % 60:02}"
    return f"[2026-11-29 {time},{second * 7 + 1:03}] DEBUG Completed request:{text} (kafka.request.logger)\n"
