"""Cases of the reference material about proxies, connection ends, offsets and groups: each right answer."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.console import run

Facts = dict[str, Any]
PROXIED = "192.0.2.7:41234"


@pytest.fixture
def cases(reference: Path) -> Path:
    path = reference / "cases"
    if not path.is_dir():
        pytest.skip("no cases in the reference material")
    return path


def facts(path: Path, command: str, *options: str) -> Any:
    ran = run(command, "--format", "json", *options, path)
    assert ran.code in (0, 1, 4), ran.err
    return json.loads(ran.out)


def listed(path: Path, command: str, *options: str) -> list[Facts]:
    return [json.loads(line) for line in run(command, "--format", "jsonl", *options, path).out.splitlines()]


def codes(path: Path) -> list[str]:
    return [finding["code"] for finding in facts(path, "check")["findings"]]


@pytest.mark.parametrize("name", ["proxy_v1_works", "proxy_v2_works"])
def test_the_client_of_a_proxy(cases: Path, name: str) -> None:
    rows = listed(cases / f"{name}.pcap", "inspect")
    assert [row["api"] for row in rows] == ["ApiVersions", "Metadata", "Produce"]
    assert {row["client_proxied"] for row in rows} == {PROXIED}


def test_connections_with_and_without_a_header(cases: Path) -> None:
    rows = listed(cases / "proxy_mixed.pcap", "inspect")
    counted = Counter((row["connection"], row.get("client_proxied")) for row in rows)
    assert sorted(counted.values()) == [2, 2, 2, 3, 3]
    assert Counter(client for _, client in counted) == {None: 1, PROXIED: 4}
    assert codes(cases / "proxy_mixed.pcap") == []


def test_health_checks_with_a_header(cases: Path) -> None:
    rows = facts(cases / "proxy_v2_probe.pcap", "connections", "--problems")["rows"]
    assert [row["reason"] for row in rows] == ["probe"] * 5
    assert codes(cases / "proxy_v2_probe.pcap") == []


def test_tls_after_a_header(cases: Path) -> None:
    (row,) = listed(cases / "proxy_v2_tls.pcap", "connections")
    assert (row["kind"], row["client_proxied"], row["middle_start"]) == ("tls", PROXIED, False)
    assert row["tls"]["sni"] == "kafka-1.example.com"
    assert row["tls"]["alerts"] == {"server handshake_failure": 1}


def test_a_real_proxy_sends_either_header(cases: Path) -> None:
    rows = listed(cases / "x_proxy_header_real.pcapng", "inspect")
    clients = Counter(row["client_proxied"] for row in rows)
    assert clients == {"127.0.0.1:54350": 3, "127.0.0.1:54276": 3}


def test_gssapi_without_a_handshake(cases: Path) -> None:
    (connection,) = listed(cases / "gssapi_raw_09.pcap", "connections")
    assert (connection["kind"], connection["mechanism"]) == ("kafka", "GSSAPI")
    apis = [row["api"] for row in listed(cases / "gssapi_raw_09.pcap", "inspect") if row["api"]]
    assert apis == ["Metadata", "Produce"]


def test_both_sides_of_a_nat(cases: Path) -> None:
    path = cases / "nat_both_sides.pcap"
    rows = listed(path, "inspect")
    assert facts(path, "stats")["total"]["exchanges"] * 2 == len(rows)
    assert codes(path) == []


@pytest.mark.parametrize("name", ["samsa.pcapng.gz", "eventhubs_v4_reset.pcap"])
def test_both_directions_were_captured(cases: Path, name: str) -> None:
    assert "one direction" not in run("check", cases / name).out


def test_offsets_that_the_broker_assigned(cases: Path) -> None:
    rows = listed(cases / "produce_offsets_real.pcap", "records")
    assert [row["offset"] for row in rows] == list(range(len(rows)))
    assert [row["offset"] for row in rows if not row["raw_offset"]] == [0, 21, 43]


@pytest.mark.parametrize(
    ("name", "said"),
    [("lz4_broken_hc_magic1", "KAFKA-3160"), ("snappy_le_header", "little-endian"),
     ("codecs_real", "lz4: the content's checksum is wrong")],
)  # fmt: skip
def test_records_are_shown_with_a_note(cases: Path, name: str, said: str) -> None:
    ran = run("records", "--format", "jsonl", cases / f"{name}.pcap")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert said in ran.err and rows
    if name == "codecs_real":
        assert sum(row["direction"] == "fetch" for row in rows) == 56


def test_a_reset_of_offsets_is_a_change(cases: Path) -> None:
    rows = facts(cases / "reset_offsets_real.pcap", "changes")["changes"]
    assert sorted(row["detail"] for row in rows) == [f"payments-{partition} to 0" for partition in range(4)]


def test_a_rebalance_lasts_until_there_are_partitions(cases: Path) -> None:
    (group,) = facts(cases / "j_share2.pcapng.gz", "groups")["groups"]
    first, second = group["rebalances"]
    assert first["took_ns"] // 10_000_000 == 511
    assert [cause["cause"] for cause in second["causes"]] == ["assignment_delayed"]


def test_a_group_in_online_migration_is_one(cases: Path) -> None:
    (group,) = facts(cases / "x_group_migration_real.pcapng.gz", "groups")["groups"]
    assert (group["group"], group["generation"], group["rebalance_count"]) == ("gmix", 5, 5)
    assert [row["generation"] for row in group["rebalances"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("target", ["3.9", "4.0"])
def test_streams_groups_break_where_their_api_lacks(cases: Path, target: str) -> None:
    ran = run("upgrade", "--target", target, cases / "streams_group_to_39_real.pcap")
    assert ran.code == 1 and "StreamsGroupHeartbeat" in ran.out


@pytest.mark.parametrize(
    ("name", "jumps", "because"),
    [
        ("zstd_refetch", [(46, 40)] * 5, "nothing on the wire: it asks for the same again"),
        ("interior_corrupt", [(205, 200)] * 4, "nothing on the wire: it asks for the same again"),
        ("partial_v2_only", [(500, 500)] * 5, "no whole batch came: 1,024 of 8,293 bytes"),
    ],
)
def test_each_jump_of_a_position_is_reported(
    cases: Path, name: str, jumps: list[tuple[int, int]], because: str
) -> None:
    rows = facts(cases / f"{name}.pcap", "offsets")["positions"]
    assert [(row["before"], row["after"]) for row in rows] == jumps
    assert {row["because"] for row in rows} == {because}
    (cause,) = (one for one in facts(cases / f"{name}.pcap", "why")["causes"] if one["severity"] == "stops")
    assert cause["id"] == "offset-not-passed"


def test_a_refused_creation_created_nothing(cases: Path) -> None:
    rows = facts(cases / "e_rf.pcapng.gz", "changes")["changes"]
    assert Counter((row["kind"], row["did"], row["error"]) for row in rows) == {
        ("topic", "not created", "INVALID_REPLICATION_FACTOR"): 266
    }


def test_a_client_sent_to_another_cluster_is_a_problem(cases: Path) -> None:
    rows = facts(cases / "misroute.pcapng.gz", "connections", "--problems")["rows"]
    assert Counter(row["reason"] for row in rows) == {"wrong_cluster": 16}


def test_a_reset_of_offsets_is_an_odd_commit(cases: Path) -> None:
    rows = facts(cases / "reset_offsets_real.pcap", "offsets")["commits"]
    assert sorted((row["partition"], row["after"]) for row in rows) == [(n, 0) for n in range(4)]


def test_new_partitions_are_no_trouble(cases: Path) -> None:
    assert facts(cases / "partitions_added_real.pcap", "why")["causes"] == []


def test_a_topic_that_came_back_has_offsets_of_its_own(cases: Path) -> None:
    path = cases / "topic_recreated_real.pcap"
    found = facts(path, "offsets")
    assert not any(found[table] for table in ("positions", "commits", "written_twice"))
    rows = [row for row in facts(path, "topics")["topics"] if row["topic_id"] is not None]
    assert len({row["topic_id"] for row in rows}) == 2
