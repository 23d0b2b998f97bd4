"""`kdissect upgrade` against clients whose versions the recording scripts knew."""

import json
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.history.exchange_view import ExchangeView
from kdissect.schema.acceptance import resolve
from kdissect.session.exchange import Exchange
from kdissect.stats.client import is_follower
from kdissect.stats.upgrade_audit import UpgradeAudit, upgrade_facts
from tests.history.talk import Talk
from tests.stats.truth import Facts, capture, truth

EARLY, LATE = "kafka28_java_generations_early", "kafka28_java_generations_late"
FETCH, METADATA, API_VERSIONS = 1, 3, 18


def audited(capfd: pytest.CaptureFixture[str], name: str, target: str, code: int) -> Facts:
    assert main(["upgrade", capture(name), "--target", target, "--format", "json"]) == code
    found: Facts = json.loads(capfd.readouterr().out)
    return found


def broken(facts: Facts, outcome: str = "breaks") -> set[str]:
    return {row["client_id"] for row in facts["uses"] if row["outcome"] == outcome}


def versions(name: str) -> dict[str, tuple[int, ...]]:
    """Releases of the clients by client id."""
    return {
        row["client_id"]: tuple(int(part) for part in row["version"].split("."))
        for row in truth(name)["clients"]
    }


def test_clients_before_0_11_break_on_4_0(capfd: pytest.CaptureFixture[str]) -> None:
    known, found = versions(EARLY), broken(audited(capfd, EARLY, "4.0", 1))
    for client, version in known.items():
        if client.endswith(("-producer", "-consumer")) and version != (0, 8, 2, 2):
            assert (client in found) == (version < (0, 11)), client
    assert "v0-8-2-2-producer" in found


def test_clients_from_2_1_on_do_not(capfd: pytest.CaptureFixture[str]) -> None:
    """Kafka 4.0 takes clients from 2.1 on (KIP-896)."""
    assert {client for client, version in versions(LATE).items() if version >= (2, 1)}
    assert broken(audited(capfd, LATE, "4.0", 0)) == set()


def test_what_goes_later_is_deprecated(capfd: pytest.CaptureFixture[str]) -> None:
    facts = audited(capfd, EARLY, "3.9", 0)
    assert broken(facts) == set()
    assert broken(facts, "deprecated") == broken(audited(capfd, EARLY, "4.0", 1))


@pytest.mark.parametrize(
    ("target", "fail_on", "code"),
    [("4.0", "breaks", 1), ("4.0", "never", 0), ("3.9", "breaks", 0), ("3.9", "deprecated", 1)],
)
def test_verdict_for_ci(target: str, fail_on: str, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", capture(EARLY), "--target", target, "--fail-on", fail_on]) == code
    assert f"Kafka {target}: " in capfd.readouterr().out


def test_nothing_to_judge_is_not_green(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    assert main(["upgrade", str(empty), "--target", "4.0"]) != 0
    assert main(["upgrade", capture(EARLY), "--target", "7.0"]) == 2
    assert "known are 0.8.0 to" in capfd.readouterr().err


def audit(*exchanges: Exchange) -> dict[str, str]:
    """Outcomes by API."""
    found = UpgradeAudit(resolve("4.0"))
    for exchange in exchanges:
        found.add(exchange)
    return {row["api"]: row["outcome"] for row in upgrade_facts(found)["uses"]}


def offer(talk: Talk, **ranges: tuple[int, int]) -> Exchange:
    rows = [
        {"api_key": int(key[1:]), "min_version": low, "max_version": high}
        for key, (low, high) in ranges.items()
    ]
    return talk.ask(API_VERSIONS, 0, {}, {"error_code": 0, "api_keys": rows})


def fetch(talk: Talk, replica_id: int = -1) -> Exchange:
    body = {"replica_id": replica_id, "max_wait_ms": 1, "min_bytes": 1, "topics": []}
    return talk.ask(FETCH, 2, body, {"throttle_time_ms": 0, "responses": []})


def test_who_used_all_that_was_offered_may_know_more() -> None:
    talk = Talk()
    assert audit(offer(talk, k1=(0, 2)), fetch(talk))["Fetch"] == "may_break"


def test_who_used_less_than_was_offered_breaks() -> None:
    talk = Talk()
    assert audit(offer(talk, k1=(0, 11)), fetch(talk))["Fetch"] == "breaks"


def test_who_never_asked_breaks() -> None:
    assert audit(fetch(Talk()))["Fetch"] == "breaks"


def audit_of(target: str, *exchanges: Exchange) -> dict[str, tuple[str, bool]]:
    """Outcomes by API, and whether the target has the API switched off."""
    found = UpgradeAudit(resolve(target))
    for exchange in exchanges:
        found.add(exchange)
    return {row["api"]: (row["outcome"], row["off_by_default"]) for row in upgrade_facts(found)["uses"]}


@pytest.mark.parametrize(
    ("key", "version", "target", "outcome"),
    [
        (88, 1, "3.9", ("breaks", False)),  # StreamsGroupHeartbeat came with 4.1
        (88, 1, "4.0", ("breaks", False)),
        (88, 0, "4.1", ("breaks", True)),
        (88, 1, "4.2", ("fine", False)),
        (68, 0, "2.8", ("breaks", False)),  # ConsumerGroupHeartbeat
        (68, 0, "3.9", ("breaks", True)),
        (68, 1, "3.9", ("breaks", True)),
        (68, 1, "4.0", ("fine", False)),
        (76, 1, "3.8", ("breaks", False)),  # ShareGroupHeartbeat
        (76, 1, "3.9", ("breaks", True)),
        (76, 1, "4.0", ("breaks", True)),
        (76, 1, "4.1", ("breaks", True)),
        (76, 1, "4.2", ("fine", False)),
        (71, 0, "3.6", ("fine", False)),  # GetTelemetrySubscriptions: clients do without
        (75, 0, "3.6", ("fine", False)),  # DescribeTopicPartitions: clients ask Metadata
        (22, 0, "0.10.2", ("breaks", False)),  # InitProducerId
    ],
)  # fmt: skip
def test_apis_that_a_client_cannot_do_without(
    key: int, version: int, target: str, outcome: tuple[str, bool]
) -> None:
    """Run against stock brokers 3.9.2, 4.0.2 and 4.1.2: they refuse these heartbeats, or close."""
    talk = Talk()
    asks = talk.ask(key, version, {}, None)
    (found,) = (row for api, row in audit_of(target, offer(talk), asks).items() if api != "ApiVersions")
    assert found == outcome


def test_what_is_off_is_reported_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", capture("kafka44_java_kip848"), "--target", "3.9"]) == 1
    (line,) = [row for row in capfd.readouterr().out.splitlines() if "ConsumerGroupHeartbeat" in row]
    assert line.startswith("breaks")
    assert "the target accepts v0-0, off by default" in line


def test_brokers_are_upgraded_themselves() -> None:
    follower = fetch(Talk(), replica_id=2)
    assert is_follower(ExchangeView(follower))
    assert audit(follower)["Fetch"] == "fine"


def test_the_table_has_a_row_for_each_software(capfd: pytest.CaptureFixture[str]) -> None:
    """Clients of one software and version that use the same and fare the same are one row."""
    assert main(["upgrade", capture(EARLY), "--target", "4.0"]) == 1
    rows = [line for line in capfd.readouterr().out.splitlines() if line.startswith("breaks")]
    uses = audited(capfd, EARLY, "4.0", 1)["uses"]
    (row,) = [line for line in rows if "ListOffsets v0" in line]
    assert "v0-10-0-1-consumer, v0-9-0-1-consumer" in row
    broken_uses = [use for use in uses if use["outcome"] == "breaks"]
    assert len(rows) == len(
        {(u["software"], u["principal"], u["api"], u["api_version"]) for u in broken_uses}
    )
    assert len(rows) < len(broken_uses)
