"""Request logs of brokers that were made slow: `why` names the phase, and `stats --split` adds it up."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.stats.times.time_split import PARTS, PHASES
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
