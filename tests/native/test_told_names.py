"""Answers that tell names of topics, given again: rows of blocks come to what Python makes of them."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.tables.all_tables import TABLES
from kdissect.history.topics import topic_names
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from tests.history.cluster import CLICKS, CREATE_TOPICS, METADATA, ORDERS, Client
from tests.support.packets.pcaps import write_pcap
from tests.support.python_side import PythonSide
from tests.support.run import exchanges_of

pytest.importorskip("pyarrow")
from kdissect.stages.one_process import produce

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

DEFAULT = frozenset(TABLES) - {"records", "personal"}
OF_JUDGES = frozenset({"findings", "coverage"})
NO_LEADER, DENIED = 5, 29  # org.apache.kafka.common.protocol.Errors
IDS = {"a": ORDERS, "b": CLICKS, "c": bytes(16)}
NODES = {1: "10.0.0.2", 2: "10.0.0.9"}
"""Brokers, of which the second one is not seen."""
Rows = dict[str, list[Any]]


def rows_of(
    path: str,
    can_read_again: bool,
    most: int = topic_names.MAX_ANSWERS,
    tables: frozenset[str] = DEFAULT,
) -> Rows:
    """Return all rows of tables; a stream has the names of topics that came before. Earlier
    answers are forgotten beyond `most`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_names, "MAX_ANSWERS", most)
        return _rows_of(path, can_read_again, tables)


def _rows_of(path: str, can_read_again: bool, tables: frozenset[str]) -> Rows:
    dissection = Dissection([path])
    if not can_read_again:
        dissection.topics = TopicNames()
    found: Rows = {}
    for name, batch in produce(dissection, tables):
        found.setdefault(name, []).extend(batch.to_pylist())
    return found


Asked = tuple[int, int, dict[str, Any], dict[str, Any]]


def telling(chance: Random, is_steady: bool) -> Asked:
    """Return an answer that has names: of one or two topics, with or without ids, a cluster, leaders, an
    error.
    """
    names = chance.sample(("a", "b", "c"), chance.choice((1, 2, 2)))
    ids = IDS if is_steady else {name: chance.choice(list(IDS.values())) for name in names}
    error = chance.choice((0,) * 6 + (NO_LEADER, DENIED))
    topics = [{"name": name, "topic_id": ids[name], "error_code": error} for name in names]
    if chance.random() < 0.1:
        created = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
        return CREATE_TOPICS, 7, {"topics": created}, {"topics": topics}
    version = chance.choice((4, 9, 12, 12))
    for topic in topics:
        topic["partitions"] = [{"partition_index": 0, "leader_id": chance.choice(list(NODES))}]
        if version < 10:
            del topic["topic_id"]
        elif chance.random() < 0.3:
            topic["name"] = None
    cluster = "c" if is_steady else chance.choice(("c", "c", "c", None))
    brokers = [{"node_id": node, "host": host, "port": 9092} for node, host in NODES.items()]
    answer = {"cluster_id": cluster, "topics": topics, "brokers": brokers}
    return METADATA, version, {"topics": []}, answer


def told(path: Path, seed: int, is_steady: bool, rounds: int = 150, clusters: str = "ccc") -> str:
    """Answers on three connections to two brokers, between Fetches that name topics by id.

    Steady are those that never tell another name of an id. `clusters` are those of the connections.
    """
    chance = Random(seed)
    ends = (("10.0.0.2", 40000), ("10.0.0.2", 40001), ("10.0.0.3", 40002))
    clients = [Client(broker, port) for broker, port in ends]
    cluster_of = dict(zip(map(id, clients), clusters, strict=True))
    for client in clients:
        client.metadata(cluster_of[id(client)], a=ORDERS)
    answers = [telling(chance, is_steady) for _ in range(8)]
    for _ in range(rounds):
        client = chance.choice(clients)
        client.now = max(each.now for each in clients)
        if chance.random() < 0.6:
            *asked, answer = chance.choice(answers)
            if answer.get("cluster_id") is not None:
                answer = answer | {"cluster_id": cluster_of[id(client)]}
            client.ask(*asked, answer)
        else:
            client.fetch(*chance.sample((ORDERS, CLICKS), chance.choice((1, 2))))
    packets = [packet for client in clients for packet in client.packets]
    return write_pcap(path, sorted(packets, key=lambda packet: packet.time_ns))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(12))
def test_rows_are_those_of_python(seed: int, tmp_path: Path, python_side: PythonSide) -> None:
    """Those that are not steady where nothing is read ahead: else it counts when that is done."""
    steady = told(tmp_path / "steady.pcap", seed, is_steady=True)
    other = told(tmp_path / "other.pcap", seed, is_steady=False)
    several = told(tmp_path / "several.pcap", seed, is_steady=True, clusters="cdc")
    cases = (
        (steady, True),
        (steady, False),
        (other, False),
        (other, False, 3),
        (several, False),
        (several, False, 3),
    )
    for path, *how in cases:
        expected = python_side.call(rows_of, path, *how)
        assert rows_of(path, *how) == expected
        assert len(expected["exchanges"]) == 153


def test_what_is_told_again_becomes_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_row, made = Exchange.of_row, list[Exchange]()

    def making(*row: Any) -> Exchange:
        made.append(of_row(*row))
        return made[-1]

    client = Client()
    for _ in range(100):
        client.metadata("c", orders=ORDERS).metadata("c", clicks=CLICKS)
    path = write_pcap(tmp_path / "again.pcap", client.packets)
    monkeypatch.setattr(Exchange, "of_row", making)
    assert len(rows_of(path, True, tables=DEFAULT - OF_JUDGES)["exchanges"]) == 200
    assert 0 < len(made) < 20


def test_what_was_taken_is_known_by_broker_and_bytes() -> None:
    """Only answers without an error that told each id its name; nothing of what is forgotten."""
    names = TopicNames()
    for exchange in _exchanges():
        names.pass_by(exchange)
    kept = names.told_before
    assert kept is not None
    assert len(kept) == 2  # of two brokers
    kept.clear()
    assert len(kept) == 0


def _exchanges() -> list[Exchange]:
    found = list[Exchange]()
    for broker in ("10.0.0.2", "10.0.0.3"):
        client = Client(broker).metadata("c", a=ORDERS).metadata("c", a=ORDERS)
        client.ask(METADATA, 12, {"topics": []}, {"topics": [{"name": "b", "error_code": NO_LEADER}]})
        unnamed = [{"name": "a", "topic_id": ORDERS}, {"name": None, "topic_id": CLICKS}]
        client.ask(METADATA, 12, {"topics": []}, {"topics": unnamed})
        found += exchanges_of(client.packets)
    return found
