"""Faults that rules tell of, played to real software: `python -m captures.replay [CODE ...]`.

What a client does wrong is sent to Apache Kafka; what a broker does wrong is put into the answers of Apache
Kafka on their way to the Java client and to librdkafka. What they did is written into
`kdissect/rules/replays.table`, from where it goes into the pages of the rules: if `check` reports the fault
in the bytes that were played, and does not in the same story without it.
"""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from itertools import chain, count
from typing import Any, NamedTuple

from captures.record import java, workshop
from captures.record.broker import Cluster
from captures.record.spec import Listener, Spec
from captures.replay import faults_of_brokers, faults_of_clients
from captures.replay.clients import Client, Seen, clients, outcome, run
from captures.replay.faults_of_brokers import BrokerFault
from captures.replay.proxy import Proxy
from captures.replay.raw_client import RawClient, answered, batch
from captures.replay.tape import Tape, reported
from kdissect.rules.replays import Replay, read_replays, replays_text

_TABLE = workshop.REPOSITORY / "kdissect" / "rules" / "replays.table"
_BEHIND, _PROXY = 6, 7  # roles of ports: a listener behind the proxy, and where the proxy listens
_BROKER = Spec(
    "4.4.0",
    listeners=(Listener("BEHIND", "PLAINTEXT", _BEHIND, told_role=_PROXY),),
    properties={"connections.max.reauth.ms": "60000"},  # SAS012 logs in again
)
_KAFKA = f"Apache Kafka {_BROKER.version}"
_PARTITIONS = 2
_GROUP_RESOURCE, _SET = 32, 0  # ConfigResource.Type.GROUP, AlterConfigOp.OpType.SET
_READERS = ("consume", "linger", "group", "modern group", "share", "cluster")
_TRANSACTIONAL = 16  # bit 4 of the attributes: spec/001 "5.3.1 Record Batch"
_LATER_SECONDS = 3.0  # when the story "linger" has read all there was
_GROUPS = ("group", "modern group", "share", "transactions")


class Played(NamedTuple):
    """A replay, and whether `check` reports its fault in the bytes.

    Where the fault is that a broker takes something, and it does not: whether `check` is silent.
    """

    replay: Replay
    is_reported: bool


class Stage:
    """A running broker, the proxy before it, and topics that nobody used."""

    def __init__(self, cluster: Cluster) -> None:
        node = cluster.nodes[0]
        self.cluster = cluster
        self.proxy = Proxy(node.port(_PROXY), node.port(_BEHIND))
        self.behind = f"127.0.0.1:{node.port(_PROXY)}"
        self.setup = RawClient(cluster.bootstrap)
        self._numbers = count(1)

    def names(self) -> tuple[str, bytes]:
        """Return a new topic with its id."""
        name = f"replay-{next(self._numbers)}"
        wanted = [{"name": name, "num_partitions": _PARTITIONS, "replication_factor": 1}]
        made = self.setup.ask("CreateTopics", 7, topics=wanted, timeout_ms=5000)
        while True:  # until every partition can be written to
            told = self.setup.ask("Metadata", 12, topics=[{"topic_id": bytes(16), "name": name}]).topics[0]
            if len(told.partitions) == _PARTITIONS and not any(row.error_code for row in told.partitions):
                return name, bytes(made.topics[0].topic_id)
            time.sleep(0.1)

    def fill(self, topic: str) -> None:
        """Three batches of one record in each partition."""
        for number in range(3 * _PARTITIONS):
            records = batch([f"value-{number}".encode()])
            rows = [{"index": number % _PARTITIONS, "records": records}]
            _produce(self.setup, 11, {"name": topic, "partition_data": rows})

    def fill_by_proxy(self, topic_id: bytes) -> None:
        """Do the same with an idempotent producer that names the topic by its id, as consumers do.

        The tape of the proxy has the bytes that go through it.
        """
        client = RawClient(self.behind)
        given = client.ask("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=0)
        for number in range(3 * _PARTITIONS):
            sequence, partition = divmod(number, _PARTITIONS)
            value = [f"value-{number}".encode()]
            records = batch(value, given.producer_id, given.producer_epoch, sequence)
            rows = [{"index": partition, "records": records}]
            _produce(client, 13, {"topic_id": topic_id, "partition_data": rows})
        client.close()

    def share_from_start(self, group: str) -> None:
        """Set on the broker that a share group reads from the start of its topics."""
        setting = {"name": "share.auto.offset.reset", "config_operation": _SET, "value": "earliest"}
        resource = {"resource_type": _GROUP_RESOURCE, "resource_name": group, "configs": [setting]}
        self.setup.ask("IncrementalAlterConfigs", 1, resources=[resource])

    def open_transaction(self, topic: str) -> None:
        """Open a transaction named after the topic, write to the topic, and leave the transaction open."""
        given = self.setup.ask("InitProducerId", 4, transactional_id=topic, transaction_timeout_ms=60_000)
        rows = [{"name": topic, "partitions": [0]}]
        whose = {
            "v3_and_below_transactional_id": topic,
            "v3_and_below_producer_id": given.producer_id,
            "v3_and_below_producer_epoch": given.producer_epoch,
        }
        self.setup.ask("AddPartitionsToTxn", 3, **whose, v3_and_below_topics=rows)
        records = batch([b"open"], given.producer_id, given.producer_epoch, 0, bits=_TRANSACTIONAL)
        rows = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
        self.setup.ask("Produce", 11, transactional_id=topic, acks=-1, timeout_ms=5000, topic_data=rows)

    def wait_for_coordinators(self) -> None:
        """Until the topics of groups and transactions are there."""
        for kind in (0, 1):
            while (
                self.setup.ask("FindCoordinator", 4, key_type=kind, coordinator_keys=["x"])
                .coordinators[0]
                .error_code
            ):
                time.sleep(0.3)


def _produce(client: RawClient, version: int, topic: dict[str, Any]) -> None:
    """Write to a partition, once its leader knows that it is."""
    while True:
        answer = client.ask("Produce", version, acks=-1, timeout_ms=5000, topic_data=[topic])
        if not answer.responses[0].partition_responses[0].error_code:
            return
        time.sleep(0.1)


def main() -> int:
    """Play the faults; 0 when all were.

    1 when something is missing, or `check` reports a fault for no software: a line says which.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the broker is stopped on the way out
    options = _parser().parse_args()
    seen: set[tuple[str, ...]] = set()
    unseen: set[tuple[str, ...]] = set()  # code and fault: some client may never see both halves of one
    try:
        with _stage(options.port_base) as stage:
            to_broker = _to_the_broker(stage, options.codes) if options.to in _KAFKA else ()
            for played in chain(to_broker, _to_clients(stage, options.codes, options.to)):
                _keep(played)
                (seen if played.is_reported else unseen).add(played.replay[::2])
    except workshop.MissingProgramError as missing:
        print(f"python -m captures.replay: {missing}", file=sys.stderr)
        return 1
    return 1 if unseen - seen else 0


def _keep(played: Played) -> None:
    """Write a replay into the table, in the place of the one before: what was played survives the run."""
    rows = {row[:3]: row for row in read_replays()}
    rows.pop(played.replay[:3], None)
    if played.is_reported:
        rows[played.replay[:3]] = played.replay
    _TABLE.write_text(replays_text(rows.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m captures.replay", description=__doc__)
    parser.add_argument("codes", nargs="*", metavar="CODE", help="rules whose faults are played; all of them")
    parser.add_argument("--to", default="", metavar="SOFTWARE", help="part of the name of the only software")
    ports = int(os.environ.get("KDISSECT_RECORD_PORTS", "19000"))
    parser.add_argument("--port-base", type=int, default=ports, help="first of 100 ports to use")
    return parser


@contextmanager
def _stage(base: int) -> Iterator[Stage]:
    cluster = Cluster(_BROKER, base, java.extensions())
    try:
        cluster.start()
        stage = Stage(cluster)
        stage.wait_for_coordinators()
        yield stage
        stage.proxy.close()
        stage.setup.close()
    finally:
        cluster.close()


def _to_the_broker(stage: Stage, codes: Sequence[str]) -> Iterator[Played]:
    for fault in faults_of_clients.FAULTS:
        if codes and fault.code not in codes:
            continue
        topic, topic_id = stage.names()
        tape = Tape()
        client = RawClient(stage.cluster.bootstrap, tape)
        room = faults_of_clients.Room(client, stage.cluster.sasl, topic, topic_id, topic, tape)
        did = faults_of_clients.played(fault.play, room)
        client.close()
        is_silent = fault.owed_refusal and did.startswith("answers ") and did != answered(0)
        yield _told(Replay(fault.code, _KAFKA, fault.says, did), reported(tape.packets()), is_silent)


def _to_clients(stage: Stage, codes: Sequence[str], to: str) -> Iterator[Played]:
    faults = [fault for fault in faults_of_brokers.FAULTS if not codes or fault.code in codes]
    for client in clients() if faults else ():
        if to not in client.name:
            continue
        healthy: dict[tuple[str, tuple[str, ...]], tuple[Seen, set[str]]] = {}
        for fault in faults:
            if fault.story not in client.stories:
                continue
            key = fault.story, fault.apis
            if key not in healthy:  # the same answers, decoded and encoded, are as they were
                healthy[key] = _seen(stage, client, fault._replace(change=_nothing))
                print(f"{client.name}, {fault.story}: {healthy[key]}", flush=True)
            as_ever, found_as_ever = healthy[key]
            seen, found = _seen(stage, client, fault)
            if stage.proxy.played:
                did = outcome(seen, as_ever)
                yield _told(Replay(fault.code, client.name, fault.says, did), found - found_as_ever)
            else:
                print(f"{fault.code}: {client.name}: {fault.says}: there was no such answer", flush=True)


def _nothing(_answer: Any, _asked: Any) -> bool:
    return True


def _seen(stage: Stage, client: Client, fault: BrokerFault) -> tuple[Seen, set[str]]:
    """Return what became of a fault in its story, on a new topic, and what `check` reports of it."""
    story = fault.story
    topic, topic_id = stage.names()
    names = {"topic": topic}
    if story in _READERS:
        stage.fill(topic)
    if story in _GROUPS:
        names["group"] = topic
    if story == "transactions":
        names |= {client.once: topic, "source": topic}
    if story == "share":
        stage.share_from_start(topic)
    if story == "topics":
        names["topic"] += "-made"
    if story == "cluster":
        stage.open_transaction(topic)
        names["open"] = topic
    stage.proxy.play(fault.apis, fault.change, fault.times)
    if story == "read back":
        stage.fill_by_proxy(topic_id)
    later = threading.Timer(_LATER_SECONDS, stage.fill, (topic,))
    if story == "linger":
        later.start()
    seen = run(client, story, stage.behind, names)
    if story == "linger":
        later.join()
    return seen._replace(left_for=stage.proxy.left_for), reported(stage.proxy.tape.packets())


def _told(replay: Replay, found: Set[str], is_silent: bool = False) -> Played:
    is_reported = (replay.code in found) is not is_silent
    unseen = "" if is_reported else f" | not reported, but {', '.join(sorted(found)) or 'nothing'}"
    print(" | ".join(replay) + unseen, flush=True)
    return Played(replay, is_reported)


if __name__ == "__main__":
    sys.exit(main())
