"""A Kafka client for tests: `BOOTSTRAP ROLE [FAULT]`. It does what a client has to do, but for one fault.

Roles: `producer` writes three batches, idempotent. `consumer` reads as a member of a group until it is ended.
"""

import contextlib
import socket
import struct
import sys
import time
from typing import Any

from kdissect.conform.record_batches import batch
from kdissect.decoders.encoder import encode_request
from kdissect.decoders.messages import decode_response
from kdissect.schema.protocol_messages import api_by_name

TOPIC, GROUP = "orders", "readers"
NEWEST = {
    "ApiVersions": 4, "Metadata": 9, "InitProducerId": 4, "Produce": 9, "FindCoordinator": 3, "JoinGroup": 5,
    "SyncGroup": 4, "Heartbeat": 4, "OffsetFetch": 7, "OffsetCommit": 8, "Fetch": 12, "ListOffsets": 6,
}  # fmt: skip
RETRIABLE = {3, 5, 6, 7, 14, 15, 16, 19, 74, 75}
OUT_OF_RANGE, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE, MEMBER_ID_REQUIRED = 1, 22, 25, 27, 79
SESSION_NOT_FOUND, UNSUPPORTED = 70, 35
PAUSE_S = 0.05
SLOW_S = 4.0
EARLIEST = -2


class RefusedError(Exception):
    """A request is not sent again."""


class Client:
    """Connections to nodes, by address."""

    def __init__(self, bootstrap: str, fault: str) -> None:
        known = [one.rpartition(":") for one in bootstrap.split(",")]
        self.seeds = [(host, int(port)) for host, _, port in known]
        self.fault = fault
        self.pause_s = SLOW_S if fault == "slow" else PAUSE_S
        self.nodes: dict[int, tuple[str, int]] = {}
        self.leaders: dict[int, int] = {}
        self._open: dict[tuple[str, int], socket.socket] = {}
        self._versions: dict[tuple[str, int], dict[int, int]] = {}
        self._number = 0

    def ask(self, name: str, where: tuple[str, int] | int | None = None, **body: Any) -> Any:
        """Return the body of a response of a node, or of the leader of a partition.

        If the connection is lost, a new one is made. If the node is, others are asked for the leader.
        """
        for _ in range(1000 if self.fault == "old leader" else 20):
            address = self.leader(where) if isinstance(where, int) else where or self.seeds[0]
            try:
                if address not in self._open:
                    self._connect(address)
                return self._exchange(name, address, self._version(name, address), body)
            except OSError as problem:
                self._open.pop(address, None)
                if self.fault == "gives up":
                    raise RefusedError(name) from None
                if isinstance(problem, ConnectionRefusedError):
                    self._turn_from(address, where)
                time.sleep(PAUSE_S)
        raise RefusedError(name)

    def _turn_from(self, lost: tuple[str, int], where: tuple[str, int] | int | None) -> None:
        self.seeds.sort(key=lambda one: one == lost)
        if isinstance(where, int) and self.fault != "old leader":
            self.refresh()

    def _version(self, name: str, address: tuple[str, int]) -> int:
        api = api_by_name(name)
        assert api is not None
        highest = NEWEST[name] if self.fault == "newest" else self._versions[address].get(api.key, 0)
        return min(NEWEST[name], highest)

    def _connect(self, address: tuple[str, int]) -> None:
        self._open[address] = socket.create_connection(address, 20)
        known = {"client_software_name": "small", "client_software_version": "1"}
        version = NEWEST["ApiVersions"]
        while True:
            answer = self._exchange("ApiVersions", address, version, known)
            if answer.error_code != UNSUPPORTED:
                break
            named = {row.api_key: row.max_version for row in answer.api_keys}
            version = version if self.fault == "same version" else named[18]
        self._versions[address] = {row.api_key: row.max_version for row in answer.api_keys}

    def _exchange(self, name: str, address: tuple[str, int], version: int, body: dict[str, Any]) -> Any:
        api = api_by_name(name)
        assert api is not None
        wire = self._open[address]
        self._number += 1
        wire.sendall(encode_request(api.key, version, self._number, "small", body))
        if self.fault == "one read":
            content = wire.recv(1 << 20)[4:]
        else:
            (size,) = struct.unpack(">i", exactly(wire, 4))
            content = exactly(wire, size)
        if struct.unpack_from(">i", content)[0] != self._number and self.fault != "any id":
            wire.close()
            raise OSError
        if self.fault == "strict tags" and b"kdissect" in content and name == "ApiVersions":
            raise RefusedError("unknown tags")
        answer = decode_response(content, api.key, version, size_prefixed=False).body
        throttle = getattr(answer, "throttle_time_ms", 0)
        if self.fault not in ("hasty", "hasty elsewhere"):
            time.sleep(throttle / 1000)
        return answer

    def refresh(self) -> None:
        """Ask for the leaders of the topic, until there are some."""
        while True:
            answer = self.ask("Metadata", topics=[{"name": TOPIC}])
            self.nodes = {row.node_id: (row.host, row.port) for row in answer.brokers}
            self.leaders = {row.partition_index: row.leader_id for row in answer.topics[0].partitions}
            if self.leaders:
                return
            if self.fault == "no patience":
                raise RefusedError("no leader")
            time.sleep(PAUSE_S)

    def leader(self, partition: int) -> tuple[str, int]:
        """Return the address of the leader of a partition."""
        return self.nodes[self.leaders[partition]]


def exactly(wire: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = wire.recv(count - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def produce(client: Client) -> None:
    client.refresh()
    while (
        made := client.ask("InitProducerId", transactional_id=None, transaction_timeout_ms=1000)
    ).error_code:
        if client.fault == "no patience":
            raise RefusedError("InitProducerId")
        time.sleep(PAUSE_S)
    sequence = partition = 0
    for number in range(1 if client.fault == "one record" else 3):
        value = b"value %d" % number
        while (code := _send(client, value, made, sequence, partition)) != 0:
            if code not in RETRIABLE and client.fault != "stubborn":
                raise RefusedError(f"error code {code}")
            if client.fault == "new sequence":
                sequence += 1
            if client.fault == "no retries":
                raise RefusedError(f"error code {code}")
            if client.fault != "old leader":
                client.refresh()
            time.sleep(client.pause_s)
        sequence += client.fault != "same sequence"
        if client.fault == "hasty elsewhere" and not partition:
            sequence, partition = 0, 1


def _send(client: Client, value: bytes, made: Any, sequence: int, partition: int) -> int:
    data = batch([(None, value)], 1_700_000_000_000, producer=(made.producer_id, 0), sequence=sequence)
    topic = {"name": TOPIC, "partition_data": [{"index": partition, "records": data}]}
    answer = client.ask(
        "Produce", partition,
        transactional_id=None, acks=-1, timeout_ms=1000, topic_data=[topic],
    )  # fmt: skip
    return int(answer.responses[0].partition_responses[0].error_code)


class Member:
    """A member of a group that reads partition 0."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.id = ""
        self.generation = -1
        self.coordinator: tuple[str, int] | None = None
        self.offset = -1
        self.session = (0, 0)

    def run(self) -> None:
        """Read for ever."""
        self.client.refresh()
        while True:
            if self.generation < 0:
                self.join()
                self.start()
            if self.handle(self.of_group("Heartbeat").error_code):
                continue
            self.fetch()
            self.commit()
            time.sleep(PAUSE_S)

    def find(self) -> None:
        while (found := self.client.ask("FindCoordinator", key=GROUP, key_type=0)).error_code:
            if self.client.fault == "no patience":
                raise RefusedError("FindCoordinator")
            time.sleep(PAUSE_S)
        self.coordinator = found.host, found.port

    def of_group(self, name: str, **body: Any) -> Any:
        if self.coordinator is None:
            self.find()
        who = {"group_id": GROUP, "member_id": self.id, "generation_id": self.generation}
        try:
            return self.client.ask(name, self.coordinator, **who, **body)
        except RefusedError:
            self.find()
            return self.client.ask(name, self.coordinator, **who, **body)

    def join(self) -> None:
        while True:
            if self.client.fault == "old coordinator" and self.coordinator is not None:
                time.sleep(PAUSE_S)
            answer = self.of_group(
                "JoinGroup", session_timeout_ms=6000, rebalance_timeout_ms=2000, protocol_type="consumer",
                protocols=[{"name": "range", "metadata": b""}],
            )  # fmt: skip
            if answer.error_code == MEMBER_ID_REQUIRED and self.client.fault == "no member id":
                time.sleep(PAUSE_S)
            elif answer.error_code == MEMBER_ID_REQUIRED:
                self.id = answer.member_id
            elif not self.handle(answer.error_code):
                break
        self.id, self.generation = answer.member_id, answer.generation_id
        mine = [{"member_id": self.id, "assignment": b""}]
        self.handle(self.of_group("SyncGroup", assignments=mine).error_code)

    def handle(self, code: int) -> bool:
        """Do what an error of the coordinator asks for. Returns whether there was one."""
        fault = self.client.fault
        if code in (15, 16) and fault != "old coordinator":
            self.coordinator = None
        elif code == REBALANCE and fault == "forgets itself":
            self.id, self.generation = "", -1
        elif code in (REBALANCE, ILLEGAL_GENERATION) and fault != "stays":
            self.generation = -1
        elif code == UNKNOWN_MEMBER:
            self.generation = -1
            self.id = self.id if fault == "keeps id" else ""
        time.sleep(self.client.pause_s if code else 0)
        return code != 0

    def start(self) -> None:
        rows = [{"name": TOPIC, "partition_indexes": [0]}]
        answer = self.of_group("OffsetFetch", topics=rows)
        offset = answer.topics[0].partitions[0].committed_offset if answer.topics else -1
        self.offset = offset if offset >= 0 else self.earliest()

    def earliest(self) -> int:
        part = {"partition_index": 0, "timestamp": EARLIEST}
        answer = self.client.ask(
            "ListOffsets", 0, replica_id=-1,
            topics=[{"name": TOPIC, "partitions": [part]}],
        )  # fmt: skip
        return int(answer.topics[0].partitions[0].offset)

    def fetch(self) -> None:
        part = {"partition": 0, "fetch_offset": self.offset, "partition_max_bytes": 1 << 20}
        session, epoch = self.session
        answer = self.client.ask(
            "Fetch", 0, max_wait_ms=100, min_bytes=1, session_id=session,
            session_epoch=epoch, topics=[{"topic": TOPIC, "partitions": [part]}],
        )  # fmt: skip
        if getattr(answer, "error_code", 0) == SESSION_NOT_FOUND:
            self.session = (session, epoch + 1) if self.client.fault == "old session" else (0, 0)
            return
        if self.client.fault != "opens again":
            self.session = (answer.session_id, epoch + 1 if answer.session_id else 0)
        for row in answer.responses:
            self.read(row.partitions[0])

    def read(self, row: Any) -> None:
        fault = self.client.fault
        if row.error_code == OUT_OF_RANGE:
            self.offset = self.offset if fault == "same offset" else self.earliest()
        elif row.error_code:
            self.session = (0, 0)
            if fault != "old leader":
                self.client.refresh()
            self.offset += fault == "skips"
        elif row.records:
            self.offset = row.high_watermark

    def commit(self) -> None:
        part = {"partition_index": 0, "committed_offset": self.offset, "committed_metadata": ""}
        answer = self.of_group(
            "OffsetCommit", generation_id_or_member_epoch=self.generation,
            topics=[{"name": TOPIC, "partitions": [part]}],
        )  # fmt: skip
        self.handle(answer.topics[0].partitions[0].error_code)


def main() -> None:
    bootstrap, role, *fault = sys.argv[1:]
    client = Client(bootstrap, fault[0] if fault else "")
    with contextlib.suppress(KeyboardInterrupt):
        produce(client) if role == "producer" else Member(client).run()


if __name__ == "__main__":
    main()
