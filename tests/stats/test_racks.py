"""Three brokers in three racks (kafka44_java_racks): who reads where, and what a missing replica does."""

from typing import Any

import pytest

from kdissect.cli import main
from kdissect.history.exchange_view import ExchangeView
from kdissect.session.exchange import Exchange
from kdissect.stats.racks import SEVERAL, Racks, broker_token, client_token
from tests.history.talk import Talk
from tests.stats.truth import capture, told, truth

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


def test_bytes_by_rack_are_those_between_the_recorded_racks(capfd: pytest.CaptureFixture[str]) -> None:
    by_place = told(capfd, "stats", NAME, "--by", "client_id,broker")["rows"]
    wanted: dict[tuple[str | None, str], int] = {}
    for row in by_place:
        node = int(row["broker"].rpartition(":")[2]) // _PER_NODE % _PER_NODE
        client = row["client_id"]
        key = client.removeprefix("in-") if client.startswith("in-rack-") else None, f"rack-{node}"
        wanted[key] = wanted.get(key, 0) + row["request_bytes"] + row["response_bytes"]
    facts = told(capfd, "stats", NAME, "--by", "client_rack,broker_rack")
    found = {
        (row["client_rack"], row["broker_rack"]): row["request_bytes"] + row["response_bytes"]
        for row in facts["rows"]
    }
    assert found == wanted
    assert sum(found.values()) == facts["total"]["request_bytes"] + facts["total"]["response_bytes"]
    clients = {row["client_id"] for row in truth(NAME)["clients"]}
    without = {client for client in clients if not client.startswith("in-rack-")}
    assert facts["racks"]["without_rack"] == {"client_rack": sorted(without), "broker_rack": []}


def test_who_is_told_to_read_in_its_rack_does(capfd: pytest.CaptureFixture[str]) -> None:
    (row, *more) = told(capfd, "stats", NAME, "--by", "client_rack")["racks"]["told_elsewhere"]
    assert len(more) == 1
    for one in (row, *more):
        assert one["client_id"] == f"in-{one['rack']}"
        assert one["replica_rack"] == one["rack"] != one["broker_rack"]
        assert (one["told"], one["followed"], one["ignored"]) == (1, 1, 0)


def test_racks_compose_with_what_else_is_counted_by(capfd: pytest.CaptureFixture[str]) -> None:
    rows = told(capfd, "stats", NAME, "--by", "topic,client_rack", "-Y", "api == Fetch")["rows"]
    assert {row["client_rack"] for row in rows if row["topic"] == "near"} >= {"rack-1", "rack-2", "rack-3"}
    assert main(["stats", capture(NAME), "--table", "told_elsewhere"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == ["in-rack-2", "in-rack-3"]


METADATA, FETCH, HEARTBEAT = 3, 1, 68
NEAR, FAR = "10.0.0.2", "10.0.0.3"


class Told:
    """A client at two brokers in two racks."""

    def __init__(self) -> None:
        self.racks = Racks()
        self.near, self.far = Talk(broker=NEAR), Talk(broker=FAR)
        self.metadata("a", "b")

    def metadata(self, near: str, far: str) -> None:
        """Add a Metadata response with the racks of the brokers."""
        brokers = [
            {"node_id": node, "host": host, "port": 9092, "rack": rack}
            for node, host, rack in ((1, NEAR, near), (2, FAR, far))
        ]
        answer = {"brokers": brokers, "controller_id": 1, "topics": []}
        self.take(self.near.ask(METADATA, 1, {"topics": []}, answer))

    def take(self, exchange: Exchange) -> str | None:
        """Return the token of its client."""
        view = ExchangeView(exchange)
        self.racks.learn(view)
        return client_token(view)

    def fetch(
        self, talk: Talk, preferred: int = -1, rack: str = "b", names: bool = True, replica: int = -1
    ) -> str | None:
        """Return a Fetch in version 11; one that `names` no partition goes on in its session."""
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
        asked = {
            "replica_id": replica, "max_wait_ms": 1, "min_bytes": 1, "max_bytes": 1000, "isolation_level": 0,
            "session_id": 7, "session_epoch": 1, "rack_id": rack, "forgotten_topics_data": [],
            "topics": [{"topic": "t", "partitions": [partition]}] if names else [],
        }  # fmt: skip
        row = {
            "partition_index": 0, "error_code": 0, "high_watermark": 5, "last_stable_offset": -1,
            "log_start_offset": 0, "aborted_transactions": None, "preferred_read_replica": preferred,
            "records": b"",
        }  # fmt: skip
        answer: dict[str, Any] = {"responses": [{"topic": "t", "partitions": [row]}]}
        return self.take(
            talk.ask(FETCH, 11, asked, {"throttle_time_ms": 0, "error_code": 0, "session_id": 7} | answer)
        )

    def counts(self) -> tuple[int, int, int]:
        (row,) = self.racks.facts((), ())["told_elsewhere"]
        return row["told"], row["followed"], row["ignored"]


@pytest.mark.parametrize("names", [True, False])
def test_who_goes_on_at_the_leader_did_not_do_as_told(names: bool) -> None:
    told_ = Told()
    told_.fetch(told_.near, preferred=2)
    assert told_.counts() == (1, 0, 0)
    told_.fetch(told_.near, preferred=2, names=names)
    assert told_.counts() == (2, 0, 1)
    told_.fetch(told_.far)
    assert told_.counts() == (2, 1, 1)


def test_a_client_of_two_racks_is_in_none_and_a_follower_in_that_of_its_broker() -> None:
    told_ = Told()
    token = told_.fetch(told_.near, rack="a")
    assert told_.racks.namer(("client_rack",))((token,)) == ("a",)
    told_.fetch(told_.near, rack="b")
    assert told_.racks.namer(("client_rack",))((token,)) == (SEVERAL,)
    follower = Told()
    token = follower.fetch(follower.near, rack="", replica=2)
    by = ("client_rack", "broker_rack")
    assert follower.racks.namer(by)((token, broker_token(follower.near.info))) == ("b", "a")


def test_the_rack_of_an_unknown_broker_is_unknown() -> None:
    racks = Racks()
    token = broker_token(Talk().info)
    assert racks.namer(("broker_rack",))((token,)) == (None,)
    assert racks.facts([(token,)], ("broker_rack",))["without_rack"]["broker_rack"] == ["10.0.0.2:9092"]


def test_the_last_word_on_a_rack_counts_also_one_that_was_said_before() -> None:
    told_ = Told()
    for near in ("c", "a"):
        told_.metadata(near, "b")
        assert told_.racks.namer(("broker_rack",))((broker_token(told_.near.info),)) == (near,)


def test_who_is_told_of_another_replica_does_not_spin(capfd: pytest.CaptureFixture[str]) -> None:
    """The leader names it at once, without records (KIP-392)."""
    assert told(capfd, "stats", NAME)["total"]["empty_early"] == 0
    assert all(row["empty_early"] == 0 for row in told(capfd, "fetch-sessions", NAME)["clients"])
