"""With a filter, exchanges that it does not accept are no symptoms, but still evidence against causes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.diagnostics import OK
from tests.support.console import CAPTURES

RECORDED = CAPTURES / "faults" / "recorded"
REPORTED = Path(__file__).with_name("cases")
FEATURES = REPORTED / "x_features_not_finalized_real.pcapng.gz"


def _causes(capfd: pytest.CaptureFixture[str], path: Path, expression: str) -> dict[str, Any]:
    assert main(["why", str(path), "--all", "--json", "-Y", expression]) == OK
    return {one["id"]: one for one in json.loads(capfd.readouterr().out)["causes"]}


@pytest.mark.parametrize("variant", [1, 2])
def test_a_version_that_worked_before_was_removed(variant: int, capfd: pytest.CaptureFixture[str]) -> None:
    path = RECORDED / f"version-removed-by-upgrade-{variant}.pcapng.gz"
    found = _causes(capfd, path, "state == unanswered")
    assert "version-removed-by-upgrade" in found
    assert "version-refused" not in found


def test_requests_are_counted_and_succeed_whatever_the_filter(capfd: pytest.CaptureFixture[str]) -> None:
    fenced = _causes(capfd, REPORTED / "fenced_rejoin_loop.pcap.gz", "errors")
    assert "13 of 15 ConsumerGroupHeartbeat requests" in fenced["requests-fail"]["sentence"]
    telemetry = _causes(capfd, REPORTED / "telemetry_loop.pcap.gz", "errors")
    assert "No later request" not in telemetry["requests-fail"]["sentence"]


def test_a_partition_without_a_leader_shows_in_errors_alone(capfd: pytest.CaptureFixture[str]) -> None:
    found = _causes(capfd, RECORDED / "broker-restarted-1.pcapng.gz", "errors")
    assert "The replica on node 2 is offline" in found["partition-offline"]["sentence"]


@pytest.mark.parametrize("expression", ["errors", "api == Produce or errors"])
@pytest.mark.parametrize("name", ["broker-restarted-1", "version-removed-by-upgrade-1", "slow-broker-1"])
def test_the_progress_of_a_reader_needs_its_fetches(
    name: str, expression: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found = _causes(capfd, RECORDED / f"{name}.pcapng.gz", expression)
    assert not {"stuck-consumer", "lag-slow-consumer"} & set(found)


def test_a_version_that_is_offered_is_not_missing(capfd: pytest.CaptureFixture[str]) -> None:
    assert "version-refused" not in _causes(capfd, FEATURES, "api == Produce or errors")
