"""`-Y` on the commands that count: what is left out, and that they learn from everything."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kdissect.cli import COMMANDS, command_of, main
from tests.support.commands import commands_without_captures
from tests.support.console import CAPTURES

Facts = dict[str, Any]
Run = Callable[..., Facts]

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
TRANSACTIONS = CAPTURES / "kafka44_java_transactions.pcapng"
PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"
GENERATIONS = CAPTURES / "kafka28_java_generations_early.pcapng"
ERRORS = CAPTURES / "kafka44_java_errors.pcapng"
# Tables hold everything, so that they can be joined; what is wanted of them is a query's business. A recorder
# keeps everything, and its conditions are filters.
WITHOUT_FILTER = {"tables", "pipeline", "record", "mcp"}
FILTERED = sorted(COMMANDS.keys() - commands_without_captures() - WITHOUT_FILTER)
NEEDED = {
    "upgrade": ("--target", "4.0"),
    "extract": ("-o", "-"),
    "diff": (str(GROUPS),),
}


@pytest.fixture
def facts(capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command and returns its JSON document."""

    def call(command: str, *arguments: object, code: int = 0) -> Facts:
        capfd.readouterr()
        assert main([command, *map(str, arguments), "--format", "json"]) == code
        captured = capfd.readouterr()
        assert captured.err == "" or captured.err.endswith(" takes no exchange\n")
        found: Facts = json.loads(captured.out)
        return found

    return call


@pytest.mark.parametrize("command", FILTERED)
def test_every_command_that_reads_exchanges_has_the_filter(
    command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    needed = NEEDED.get(command, ())
    assert main([command, str(GROUPS), *needed, "-Y", "api == Prodce"]) == 2
    assert "column 8: no API 'Prodce'; did you mean Produce?" in capfd.readouterr().err


@pytest.mark.parametrize("command", sorted({*FILTERED} - {"tui"}))  # which judges as it reads
def test_no_command_reads_a_stream_twice(
    command: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kdissect.cli.options.filter_option.is_live", lambda _: True)
    source = "-" if command == "live" else str(GROUPS)
    needed = NEEDED.get(command, ())
    assert main([command, source, *needed, "-Y", "has finding"]) == 2
    captured = capfd.readouterr()
    assert "reads its inputs twice" in captured.err
    assert captured.out == ""


def test_the_others_have_none() -> None:
    for command in commands_without_captures() - {"tap"}:  # which has the filter of `live`
        assert not hasattr(command_of(command), "add_filter")


def everything_of(command: str) -> tuple[object, ...]:
    return (TRANSACTIONS, *NEEDED.get(command, ()))


@pytest.mark.parametrize(
    "command",
    [
        "stats",
        "topics",
        "groups",
        "producers",
        "fetch-sessions",
        "logins",
        "changes",
        "access",
        "offsets",
        "delay",
        "mirror",
        "upgrade",
    ],
)
def test_a_filter_that_takes_all_changes_nothing(command: str, facts: Run) -> None:
    arguments = everything_of(command)
    assert facts(command, *arguments, "-Y", "number > 0") == facts(command, *arguments)


def test_stats_count_what_is_taken(facts: Run) -> None:
    found = facts("stats", ERRORS, "-Y", "error == TOPIC_AUTHORIZATION_FAILED and api != Metadata")
    everything = facts("stats", ERRORS, "--by", "error,api")
    rows = {(row["error"], row["api"]): row["exchanges"] for row in everything["rows"]}
    expected = {
        api: count
        for (error, api), count in rows.items()
        if error == "TOPIC_AUTHORIZATION_FAILED" and api != "Metadata"
    }
    assert expected
    assert {row["api"]: row["exchanges"] for row in found["rows"]} == expected
    assert found["total"]["exchanges"] == sum(expected.values())


def test_stats_go_with_the_other_options(facts: Run) -> None:
    both = facts("stats", GROUPS, "--api", "Fetch", "-Y", "number <= 100")
    fetches = facts("stats", GROUPS, "-Y", "api == Fetch and number <= 100")
    assert both == fetches
    assert 0 < both["total"]["exchanges"] < facts("stats", GROUPS, "--api", "Fetch")["total"]["exchanges"]


def test_stats_learn_groups_from_what_is_left_out(facts: Run) -> None:
    found = facts("stats", GROUPS, "--by", "group", "-Y", "api == Fetch")
    everything = facts("stats", GROUPS, "--by", "group", "--api", "Fetch")
    assert found == everything
    assert {"cooperative", "eager", "static"} <= {row["group"] for row in found["rows"]}


def test_topics_count_what_is_taken(facts: Run) -> None:
    everything = facts("topics", PRODUCE)
    found = facts("topics", PRODUCE, "-Y", "api == Produce")
    assert found["not_seen"] == everything["not_seen"]
    written = {topic["topic"]: topic["written"] for topic in everything["topics"] if topic["writers"]}
    assert {topic["topic"]: topic["written"] for topic in found["topics"]} == written
    assert not any(topic["readers"] for topic in found["topics"])
    few = facts("topics", PRODUCE, "-Y", "api == Produce and request.acks == 0")
    assert [topic["topic"] for topic in few["topics"]] == ["acks-0"]
    (topic,) = few["topics"]
    assert topic["written"]["unconfirmed"] == 4


def test_topics_learn_names_and_groups_from_what_is_left_out(facts: Run) -> None:
    """Fetch 13 and later name topics by id alone: only Metadata tells the names."""
    found = facts("topics", GROUPS, "-Y", "api == Fetch and version >= 13")
    everything = {topic["topic"]: topic for topic in facts("topics", GROUPS)["topics"]}
    assert found["topics"]
    for topic in found["topics"]:
        assert topic["readers"] == everything[topic["topic"]]["readers"]
        assert topic["partition_count"] == everything[topic["topic"]]["partition_count"]
        assert topic["writers"] == []
    assert any(reader["groups"] for topic in found["topics"] for reader in topic["readers"])


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("group == eager", ["eager"]),
        ("api == LeaveGroup", ["cooperative", "eager"]),
        ("api == JoinGroup and request.group_instance_id", ["static"]),
        ("api == Fetch and client_id ~ '^coop'", ["cooperative"]),
        ("api == FindCoordinator and response.coordinators.key == static", ["static"]),
        ("api == CreateTopics", []),
    ],
)
def test_groups_that_an_exchange_is_about(expression: str, names: list[str], facts: Run) -> None:
    everything = {group["group"]: group for group in facts("groups", GROUPS)["groups"]}
    found = facts("groups", GROUPS, "-Y", expression)["groups"]
    assert [group["group"] for group in found] == names
    assert [everything[name] for name in names] == found  # told whole, whatever was left out


@pytest.mark.parametrize(
    ("expression", "producers", "names"),
    [
        ("error == PRODUCER_FENCED", [2], ["ledger-1"]),
        ("api == InitProducerId and client_id == opener", [3], ["ledger-2"]),
        ("batch.producer_id == 1 and api == Produce", [1], []),
        (
            "api == WriteTxnMarkers and request.markers.producer_id in (2, 4)",
            [2, 4],
            ["ledger-1", "ledger-3"],
        ),
        ("api == FindCoordinator and response.coordinators.key == 'ledger-2'", [3], ["ledger-2"]),
        ("api == Fetch", [], []),
    ],
)
def test_producers_that_an_exchange_is_about(
    expression: str, producers: list[int], names: list[str], facts: Run
) -> None:
    everything = facts("producers", TRANSACTIONS)
    found = facts("producers", TRANSACTIONS, "-Y", expression)
    assert [row["producer_id"] for row in found["producers"]] == producers
    assert [row["transactional_id"] for row in found["transactional_ids"]] == names
    assert [row for row in everything["producers"] if row["producer_id"] in producers] == found["producers"]
    told = [row for row in everything["transactional_ids"] if row["transactional_id"] in names]
    assert told == found["transactional_ids"]


def test_batches_without_an_id_are_counted_where_taken(facts: Run) -> None:
    everything = {row["client_id"]: row["batches"] for row in facts("producers", GENERATIONS)["without_id"]}
    found = facts("producers", GENERATIONS, "-Y", "client_id ~ 'v0-1.*producer'")["without_id"]
    expected = {name: count for name, count in everything.items() if name and name.startswith("v0-1")}
    assert {row["client_id"]: row["batches"] for row in found} == {
        name: count for name, count in expected.items() if name.endswith("producer")
    }
    assert 0 < len(found) < len(everything)


def test_fetch_sessions_of_clients_with_a_fetch_that_is_taken(facts: Run) -> None:
    everything = facts("fetch-sessions", GENERATIONS)["clients"]
    found = facts("fetch-sessions", GENERATIONS, "-Y", "request.session_epoch == 0")["clients"]
    assert [row for row in everything if row["client_id"] == "v1-1-1-consumer"] == found
    assert found
    assert facts("fetch-sessions", GENERATIONS, "-Y", "api == Metadata")["clients"] == []


def test_upgrade_judges_what_is_taken(facts: Run) -> None:
    target = (GENERATIONS, "--target", "4.0")
    everything = facts("upgrade", *target, code=1)
    found = facts("upgrade", *target, "-Y", "api == Fetch", code=1)
    assert found["uses"] == [use for use in everything["uses"] if use["api"] == "Fetch"]
    assert found["exchanges"] == sum(use["exchanges"] for use in found["uses"])
    facts("upgrade", *target, "-Y", "api == Metadata", code=0)
    facts("upgrade", *target, "-Y", "api == ShareFetch", code=4)


def test_upgrade_learns_from_what_is_left_out(facts: Run) -> None:
    """That a client asked for versions, and what it was offered, stands in exchanges that are left out."""
    pair = CAPTURES / "kafka28zk_sarama_releases.pcapng"
    everything = facts("upgrade", pair, "--target", "4.0", code=1)["uses"]
    found = facts("upgrade", pair, "--target", "4.0", "-Y", "api != ApiVersions", code=1)["uses"]
    assert found == [use for use in everything if use["api"] != "ApiVersions"]
    assert any(use["asked_for_versions"] and use["offered"] for use in found)


def test_brokers_stay_brokers_when_their_fetches_are_left_out(facts: Run) -> None:
    """A client that replicates is upgraded with its broker, and only its Fetches say that it does."""
    upgraded = CAPTURES / "kafka28_zookeeper_upgrade.pcapng.gz"
    everything = facts("upgrade", upgraded, "--target", "4.0", code=0)["uses"]
    found = facts("upgrade", upgraded, "--target", "4.0", "-Y", "api != Fetch", code=0)["uses"]
    assert found == [use for use in everything if use["api"] != "Fetch"]
    assert {use["outcome"] for use in found} >= {"may_break", "fine"}


def test_logins_with_an_exchange_that_is_taken(facts: Run) -> None:
    refused = CAPTURES / "kafka44_java_refused.pcapng"
    everything = facts("logins", refused)["logins"]
    found = facts("logins", refused, "-Y", "error == SASL_AUTHENTICATION_FAILED")
    assert found["logins"] == [row for row in everything if row["error"] == "SASL_AUTHENTICATION_FAILED"]
    assert {row["count"] for row in found["who"]} == {len(found["logins"])}
    nothing = facts("logins", refused, "-Y", "api == Metadata")
    assert {"who": [], "logins": [], "forgotten": 0}.items() <= nothing.items()


def test_changes_by_an_exchange_that_is_taken(facts: Run) -> None:
    everything = facts("changes", TRANSACTIONS)["changes"]
    found = facts("changes", TRANSACTIONS, "-Y", "api == Metadata")["changes"]
    assert found == [row for row in everything if row["did"] == "created automatically"]
    assert found
    found = facts("changes", TRANSACTIONS, "-Y", "api == CreateTopics")["changes"]
    assert found == [row for row in everything if row["api"] == "CreateTopics"]


def test_offsets_that_an_exchange_shows_that_is_taken(facts: Run) -> None:
    positions = CAPTURES / "kafka44_java_positions.pcapng"
    everything = facts("offsets", positions)
    found = facts("offsets", positions, "-Y", "client_id == wanderer")
    assert found["positions"] == [row for row in everything["positions"] if row["client_id"] == "wanderer"]
    assert not (found["commits"] or found["held"] or found["written_twice"])
    found = facts("offsets", positions, "-Y", "api == OffsetCommit")
    assert found["commits"] == everything["commits"] != []
    assert not found["positions"]
    assert facts("offsets", positions, "-Y", "client_id == waits")["held"] == everything["held"] != []
