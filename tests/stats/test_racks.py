"""Three brokers in three racks (kafka44_java_racks): who reads where, and what a missing replica does."""

import pytest

from tests.stats.truth import told, truth

NAME = "kafka44_java_racks"
_PER_NODE = 10  # ports of a node lie that far from those of the next (captures/record/spec.py)


def test_who_has_a_rack_reads_from_its_replica(capfd: pytest.CaptureFixture[str]) -> None:
    rows = told(capfd, "stats", NAME, "--api", "Fetch", "--by", "client_id,broker")["rows"]
    fetched: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        port = int(row["broker"].rpartition(":")[2])
        fetched.setdefault(row["client_id"], []).append((row["exchanges"], port))
    most = {client: max(found)[1] for client, found in fetched.items()}
    leader = most["in-no-rack"]
    assert [most[f"in-rack-{node}"] - most["in-rack-1"] for node in (1, 2, 3)] == [
        0,
        _PER_NODE,
        2 * _PER_NODE,
    ]
    assert len(fetched["in-no-rack"]) == 1
    for node in (1, 2, 3):  # the leader tells who asks it first
        assert {port for _, port in fetched[f"in-rack-{node}"]} == {leader, most[f"in-rack-{node}"]}


def test_another_replica_is_no_jump(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "offsets", NAME)
    assert (facts["positions"], facts["gaps"]) == ([], [])


def test_who_wants_all_replicas_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    (met,) = truth(NAME)["errors"]
    rows = told(capfd, "stats", NAME, "--api", "Produce", "--by", "client_id,error")["rows"]
    refused = {row["client_id"]: row["exchanges"] for row in rows if row["error"] == "NOT_ENOUGH_REPLICAS"}
    assert [*refused] == [met["client_id"]]
    assert refused[met["client_id"]] > 1  # it tries again until its patience is over


def test_who_is_told_of_another_replica_does_not_spin(capfd: pytest.CaptureFixture[str]) -> None:
    """The leader names it at once, without records (KIP-392)."""
    assert told(capfd, "stats", NAME)["total"]["empty_early"] == 0
    assert all(row["empty_early"] == 0 for row in told(capfd, "fetch-sessions", NAME)["clients"])
