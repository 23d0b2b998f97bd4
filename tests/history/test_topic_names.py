"""Topic names for topic ids: learned backwards in files, forward in streams, per cluster."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.decoders.generated.naming import naming_of
from kdissect.history.topics.topic_names import ANNOUNCING, FETCH_SNAPSHOT, TopicNames
from kdissect.model import limits
from kdissect.schema import protocol_messages
from kdissect.schema.logs import METADATA_TOPIC_ID
from kdissect.schema.types import Array, Primitive, Struct
from tests.decoders.payloads.vectors import records
from tests.history.cluster import CLICKS, CREATE_TOPICS, DESCRIBE_CLUSTER, FETCH, METADATA, ORDERS, Client
from tests.support.captures import exchanges
from tests.support.console import TXN, run
from tests.support.packets.pcaps import pcap_bytes, write_pcap


def topics(path: str, *options: str) -> list[list[str]]:
    ran = run("inspect", path, "--format", "jsonl", *options)
    assert ran.code == 0, ran.err
    return [json.loads(line)["topics"] for line in ran.out.splitlines()]


def capture(tmp_path: Path, *clients: Client) -> str:
    packets = sorted((packet for client in clients for packet in client.packets), key=lambda p: p.time_ns)
    return write_pcap(tmp_path / "ids.pcap", packets)


def test_real_fetches_by_id_have_the_names_of_metadata() -> None:
    bodies = [
        json.loads(line) for line in run("inspect", TXN, "--format", "jsonl", "--bodies").out.splitlines()
    ]
    told = {
        topic["topic_id"]: topic["name"]
        for row in bodies
        if row["api"] == "Metadata" and row["response"]
        for topic in row["response"]["body"]["topics"]
    }
    fetches = [row for row in bodies if row["api"] == "Fetch"]
    assert len(fetches) == 9
    for row in fetches:
        assert row["topics"] == [told[topic_id] for topic_id in row["topic_ids"]] != []
    plain = [json.loads(line) for line in run("inspect", TXN, "--format", "jsonl").out.splitlines()]
    assert [row["topics"] for row in plain] == [row["topics"] for row in bodies]


def test_files_know_names_that_are_told_later(tmp_path: Path) -> None:
    path = capture(tmp_path, Client().fetch(ORDERS, CLICKS).metadata("c", orders=ORDERS).fetch(ORDERS))
    assert topics(path) == [["orders"], ["orders"], ["orders"]]
    assert topics(path, "--topic", "ord*") == [["orders"]] * 3
    for options in (["--bodies"], ["-e", "topics"]):
        assert topics(path, *options) == [["orders"]] * 3
    tree = run("inspect", path, "--format", "tree").out
    assert tree.count('("orders")') == 3


def test_streams_know_names_from_then_on() -> None:
    packets = Client().fetch(ORDERS).metadata("c", orders=ORDERS).fetch(ORDERS).packets
    ran = run("inspect", "-", "--format", "jsonl", stdin=pcap_bytes(packets))
    assert [json.loads(line)["topics"] for line in ran.out.splitlines()] == [[], ["orders"], ["orders"]]


def test_streams_learn_from_exchanges_that_are_not_shown() -> None:
    packets = Client().metadata("c", orders=ORDERS).fetch(ORDERS).packets
    ran = run("inspect", "-", "--format", "jsonl", "--api", "Fetch", stdin=pcap_bytes(packets))
    assert [json.loads(line)["topics"] for line in ran.out.splitlines()] == [["orders"]]


def test_each_cluster_has_its_own_ids(tmp_path: Path) -> None:
    one = Client("10.0.0.2", 40000).fetch(ORDERS).metadata("one", orders=ORDERS)
    two = Client("10.0.0.3", 40001, 10**18 + 10**9).metadata("two", clicks=ORDERS).fetch(ORDERS)
    other = Client("10.0.0.4", 40002, 10**18 + 2 * 10**9).fetch(ORDERS)
    found = topics(capture(tmp_path, one, two, other))
    assert found == [["orders"], ["orders"], ["clicks"], ["clicks"], []]


def test_another_clusters_names_are_not_taken(tmp_path: Path) -> None:
    one = Client("10.0.0.2", 40000).metadata("one", orders=ORDERS)
    two = Client("10.0.0.3", 40001, 10**18 + 10**9).metadata("two", clicks=CLICKS).fetch(ORDERS, CLICKS)
    assert topics(capture(tmp_path, one, two)) == [["orders"], ["clicks"], ["clicks"]]


def test_a_random_id_has_its_name_in_every_cluster(tmp_path: Path) -> None:
    """A client that is sent to another cluster asks there for its own topics; ids that count are others."""
    random = bytes(range(6)) + b"\x4f\x00\xbf" + bytes(7)
    told = Client("10.0.0.2", 40000).metadata("c", orders=random, clicks=CLICKS)
    asks = Client("10.0.0.3", 40001).metadata("d", other=ORDERS).fetch(random).fetch(CLICKS)
    assert topics(capture(tmp_path, told, asks), "-Y", "api == Fetch") == [["orders"], []]


def test_a_cluster_is_also_known_by_describe_cluster(tmp_path: Path) -> None:
    one = Client("10.0.0.2", 40000).metadata("one", orders=ORDERS)
    two = Client("10.0.0.3", 40001, 10**18 + 10**9).metadata("two", clicks=ORDERS)
    three = Client("10.0.0.4", 40002, 10**18 + 2 * 10**9)
    three.ask(DESCRIBE_CLUSTER, 0, {}, {"cluster_id": "two"}).fetch(ORDERS)
    assert topics(capture(tmp_path, one, two, three))[-1] == ["clicks"]


def test_created_topics_tell_their_names(tmp_path: Path) -> None:
    client = Client().fetch(ORDERS)
    answer = {"topics": [{"name": "orders", "topic_id": ORDERS}]}
    client.ask(CREATE_TOPICS, 7, {"topics": [{"name": "orders"}]}, answer)
    assert topics(capture(tmp_path, client))[0] == ["orders"]


def topic_batch(name: bytes = b"orders") -> bytes:
    """Return a TopicRecord as Apache Kafka writes it, in a batch built here by hand.

    The name has six bytes.
    """
    value = next(row[3] for row in records() if row[1] == "TopicRecord")
    assert value is not None
    value = value.replace(b"orders", name)
    record = b"\0\0\0\x01" + bytes([len(value) * 2]) + value + b"\0"
    batch = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + bytes([len(record) * 2]) + record
    batch = struct.pack(">ibI", 0, 2, crc32c(batch)) + batch
    return struct.pack(">qi", 0, len(batch)) + batch


TOPIC_ID = bytes.fromhex("01020304050607081112131415161718")


@pytest.mark.parametrize(("name", "told"), [(b"orders", "orders"), (b"ord\xffrs", "ord\\xffrs")])
def test_records_of_the_metadata_log_tell_names(tmp_path: Path, name: bytes, told: str) -> None:
    asked = {"topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [{"partition": 0}]}]}
    part = {"partition_index": 0, "aborted_transactions": None, "records": topic_batch(name)}
    answered = {"responses": [{"topic_id": METADATA_TOPIC_ID, "partitions": [part]}]}
    path = capture(tmp_path, Client().fetch(TOPIC_ID).ask(FETCH, 13, asked, answered))
    assert topics(path) == [[told], ["__cluster_metadata"]]


def test_a_snapshot_in_pieces_tells_names(tmp_path: Path) -> None:
    """FetchSnapshot: the record that tells a name is in none of the responses as a whole."""
    batch, client = topic_batch(), Client()
    for at in range(0, len(batch), 30):
        name = {"name": "__cluster_metadata"}
        place = {"snapshot_id": {"end_offset": 7, "epoch": 1}, "position": at}
        part = place | {"index": 0, "size": len(batch), "unaligned_records": batch[at : at + 30]}
        asked = {"topics": [name | {"partitions": [place | {"partition": 0}]}]}
        client.ask(FETCH_SNAPSHOT, 0, asked, {"topics": [name | {"partitions": [part]}]})
    packets = client.fetch(TOPIC_ID).packets
    assert topics(write_pcap(tmp_path / "snapshot.pcap", packets))[-1] == ["orders"]
    ran = run("inspect", "-", "--format", "jsonl", stdin=pcap_bytes(packets))
    assert json.loads(ran.out.splitlines()[-1])["topics"] == ["orders"]


@pytest.mark.parametrize(
    "text",
    [
        "# ours\nAAECAwQFBgcICQoLDA0ODw orders\n",
        "00010203-0405-0607-0809-0a0b0c0d0e0f\torders\n",
        '{"AAECAwQFBgcICQoLDA0ODw": "orders"}',
        '[{"topic_id": "000102030405060708090a0b0c0d0e0f", "name": "orders"}]',
        "Topic: orders\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 1\n\tTopic: orders\tPartition: 0\n",
    ],
)
def test_known_names_come_from_a_file(tmp_path: Path, text: str) -> None:
    known = tmp_path / "known"
    known.write_text(text)
    path = capture(tmp_path, Client().fetch(ORDERS))
    assert topics(path) == [[]]
    assert topics(path, "--topic-ids", str(known)) == [["orders"]]


@pytest.mark.parametrize("text", ["orders\n", "x y z\n", "short orders\n", "{", '[{"name": "x"}]', "[1]"])
def test_a_wrong_file_is_wrong_usage(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = tmp_path / "known"
    known.write_text(text)
    assert main(["inspect", TXN, "--topic-ids", str(known)]) == 2
    assert str(known) in capsys.readouterr().err


def test_the_whole_input_is_read_again_at_most_once(tmp_path: Path) -> None:
    path = capture(tmp_path, Client().fetch(ORDERS).fetch(CLICKS).fetch(ORDERS, CLICKS))
    scans = []

    def rescan() -> Any:
        scans.append(1)
        return iter(Dissection(path))

    names = TopicNames(rescan=rescan)
    for exchange in Dissection(path):
        assert names.topics_of(exchange, exchange.request_summary(), exchange.response_summary()) == ()
    assert scans == [1]


def test_captures_without_unknown_ids_are_read_once(reference: Path) -> None:
    def rescan() -> Any:
        raise AssertionError("the second pass is for unknown ids")

    names = TopicNames(rescan=rescan)
    for exchange in exchanges(reference, "tansu_rdk216_txn.pcap"):
        names.topics_of(exchange, exchange.request_summary(), exchange.response_summary())


def test_names_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "_in_force", [limits.Limits(topic_names=3)])
    many = {f"t{number}": number.to_bytes(16) for number in range(2, 40)}
    names = TopicNames()
    for exchange in Dissection(capture(tmp_path, Client().metadata("c", **many))):
        names.learn(exchange)
    assert len(names._names) == 3


def pairs(struct: Struct, version: int, seen: set[int]) -> bool:
    """Return whether a struct, or one below it, has a topic's name and its id in a version."""
    if id(struct) in seen:
        return False
    seen.add(id(struct))
    here = [field for field in struct.fields if version in field.versions]
    kinds = {(field.type, field.entity) for field in here}
    if {(Primitive.STRING, "topicName"), (Primitive.UUID, "topicId")} <= kinds:
        return True
    inner = [field.type.element if isinstance(field.type, Array) else field.type for field in here]
    return any(pairs(of, version, seen) for of in inner if isinstance(of, Struct))


def test_every_message_that_tells_names_is_known() -> None:
    told: dict[int, set[bool]] = {}
    for api in protocol_messages.all_apis():
        for message, is_response in ((api.request, False), (api.response, True)):
            if any(
                pairs(message.root, v, set())
                for v in range(message.versions.first, message.versions.last + 1)
            ):
                told.setdefault(api.key, set()).add(is_response)
    # Requests of Metadata and DeleteTopics name a topic by one or the other.
    assert {key: True in sides for key, sides in told.items()} | {DESCRIBE_CLUSTER: True} == ANNOUNCING


def test_names_of_a_cut_body_are_kept(tmp_path: Path) -> None:
    client = Client().metadata("c", orders=ORDERS, clicks=CLICKS)
    (exchange,) = Dissection(capture(tmp_path, client))
    assert exchange.response is not None
    data, offset = exchange.response.data, exchange.response_body_offset
    whole = naming_of(data, offset, METADATA, 12, True)
    assert whole == ({ORDERS: "orders", CLICKS: "clicks"}, "c")
    for end in range(offset, len(data)):
        names, cluster = naming_of(data[:end], offset, METADATA, 12, True)
        assert names.items() <= whole.names.items()
        assert cluster in (None, "c")
