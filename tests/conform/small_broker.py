"""A broker on loopback with a log in memory: ApiVersions, Metadata, Produce, Fetch and ListOffsets.

It behaves as the schema says, or plays one fault.
"""

import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from kdissect.decoders.encoder import encode_response
from kdissect.decoders.messages import decode_request
from kdissect.decoders.records.batches import split_batches
from kdissect.model.errors import DecodeError

API_VERSIONS, METADATA, PRODUCE, FETCH, LIST_OFFSETS, SASL_HANDSHAKE = 18, 3, 0, 1, 2, 17
VERSIONS = {PRODUCE: (3, 5), FETCH: (4, 6), LIST_OFFSETS: (1, 2), METADATA: (4, 8), API_VERSIONS: (0, 3)}
UNKNOWN_TOPIC, CORRUPT, OUT_OF_RANGE, UNSUPPORTED, NO_MECHANISM = 3, 2, 1, 35, 33
TOPIC_ID = b"the only topic.."
_MAX_FRAME = 1 << 20
HANDSHAKES = 2  # requests that a broker with the faults "hang" and "close" responds to


class SmallBroker(socketserver.ThreadingTCPServer):
    """One broker. `fault` is the name of what it does wrong."""

    daemon_threads = allow_reuse_address = True
    versions: ClassVar = VERSIONS
    partitions = 1

    def __init__(self, fault: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fault = fault
        self.lock = threading.Lock()
        self.log: list[tuple[int, bytes]] = []
        """First offsets and batches."""
        self.end = 0
        self.requests = 0
        self.topics: set[str] = set()

    @property
    def address(self) -> str:
        """`127.0.0.1:PORT`."""
        return f"127.0.0.1:{self.server_address[1]}"

    def answer(self, api: int, body: Any) -> dict[str, Any]:
        """Return the body of the response to a request."""
        with self.lock:
            return self.handlers()[api](body)

    def handlers(self) -> dict[int, Callable[[Any], dict[str, Any]]]:
        """Return what makes the body of a response, by API key."""
        return {API_VERSIONS: self._versions, METADATA: self._metadata, PRODUCE: self._produce,
                FETCH: self.fetch, LIST_OFFSETS: self._offsets, SASL_HANDSHAKE: self._mechanisms}  # fmt: skip

    def _mechanisms(self, _: Any) -> dict[str, Any]:
        return {"error_code": NO_MECHANISM, "mechanisms": ["PLAIN"]}

    def _versions(self, _: Any) -> dict[str, Any]:
        versions = self.versions | ({SASL_HANDSHAKE: (0, 1)} if self.fault == "SASL" else {})
        rows = [{"api_key": key, "min_version": low, "max_version": high}
                for key, (low, high) in versions.items()]  # fmt: skip
        return {"api_keys": rows}

    def _metadata(self, body: Any) -> dict[str, Any]:
        names = self.topics if body.topics is None else {one.name for one in body.topics}
        if body.allow_auto_topic_creation and body.topics is not None:
            self.topics |= names
        port = 1 if self.fault == "port" else self.server_address[1]
        brokers = [{"node_id": 1, "host": "127.0.0.1", "port": port}]
        partitions = [
            {
                "partition_index": number,
                "leader_id": 1,
                "leader_epoch": 0,
                "replica_nodes": [1],
                "isr_nodes": [1],
            }
            for number in range(self.partitions)
        ]  # fmt: skip
        rows = [{"name": name, "error_code": 0 if name in self.topics else UNKNOWN_TOPIC,
                 "topic_id": TOPIC_ID, "partitions": partitions if name in self.topics else []}
                for name in sorted(names)]  # fmt: skip
        return {"brokers": brokers, "controller_id": 1, "cluster_id": "small", "topics": rows}

    def _produce(self, body: Any) -> dict[str, Any]:
        return {"responses": [{"name": topic.name, "partition_responses": [
            {"index": part.index} | self._store(topic.name, bytes(part.records or b""))
            for part in topic.partition_data
        ]} for topic in body.topic_data]}  # fmt: skip

    def _store(self, topic: str, data: bytes) -> dict[str, Any]:
        if topic not in self.topics:
            return {"error_code": UNKNOWN_TOPIC, "base_offset": -1}
        batches = split_batches(data, 0, len(data)).batches
        if any(not one.crc_is_right for one in batches) and self.fault != "checksum":
            return {"error_code": CORRUPT, "base_offset": -1}
        base = self.end
        for one in batches:
            content = data[one.start : one.end]
            self.log.append((self.end, struct.pack(">q", self.end) + content[8:]))
            self.end += (one.count or 0) + (self.fault == "offsets")
        return {"base_offset": base, "log_start_offset": 0}

    def fetch(self, body: Any) -> dict[str, Any]:
        """Return the body of a Fetch response. Without records it waits, as long as the request says."""
        topics = [{"topic": topic.topic, "partitions": [
            {"partition_index": part.partition} | self.read(topic.topic, part.fetch_offset)
            for part in topic.partitions
        ]} for topic in body.topics]  # fmt: skip
        rows = [row for topic in topics for row in topic["partitions"]]
        if rows and not any(row["records"] or row.get("error_code") for row in rows):
            time.sleep(body.max_wait_ms / 1000)
        return {"responses": topics}

    def read(self, topic: str, offset: int) -> dict[str, Any]:
        """Return a partition of a Fetch response."""
        if topic not in self.topics:
            return {"error_code": UNKNOWN_TOPIC, "high_watermark": -1, "records": b""}
        if offset > self.end:
            return {"error_code": OUT_OF_RANGE, "high_watermark": -1, "records": b""}
        found = b"".join(data for at, data in self.log if at >= offset)
        return {
            "high_watermark": self.end, "last_stable_offset": self.end, "log_start_offset": 0,
            "aborted_transactions": None, "records": found,
        }  # fmt: skip

    def _offsets(self, body: Any) -> dict[str, Any]:
        return {"topics": [{"name": topic.name, "partitions": [
            {"partition_index": part.partition_index, "error_code": 0,
             "offset": self.end if part.timestamp == -1 else 0, "timestamp": self._time(part.timestamp)}
            for part in topic.partitions
        ]} for topic in body.topics]}  # fmt: skip

    def _time(self, asked: int) -> int:
        """Return the time of the record that is found: all have the one that the suite asks for."""
        return asked - 1 if asked >= 0 and self.fault == "older record" else max(asked, -1)


class _Handler(socketserver.StreamRequestHandler):
    server: SmallBroker

    def handle(self) -> None:
        while size := self.rfile.read(4):
            (length,) = struct.unpack(">i", size)
            if not 0 < length <= _MAX_FRAME:
                return
            content = self.rfile.read(length)
            if self.server.fault == "TLS":
                self.wfile.write(bytes.fromhex("15030300020246"))
                return
            key, version, number = struct.unpack_from(">hhi", content)
            if key == API_VERSIONS and version > self.server.versions[key][1]:
                code = 0 if self.server.fault == "no refusal" else UNSUPPORTED
                refusal = {"error_code": code} | self.server.answer(key, None)
                self.wfile.write(encode_response(key, 0, number, refusal))
                continue
            try:
                request = decode_request(content, size_prefixed=False)
            except DecodeError:
                return
            if not self._respond(request):
                return

    def _respond(self, request: Any) -> bool:
        """Send a response, or play the fault. Returns False to close."""
        broker, header = self.server, request.header
        broker.requests += 1
        api, version = header.api_key, header.api_version
        if broker.fault == "SASL" and api not in (API_VERSIONS, SASL_HANDSHAKE):
            return False
        late = broker.requests > HANDSHAKES
        if late and broker.fault == "close":
            return False
        if late and broker.fault == "hang":
            threading.Event().wait(60)
            return False
        if late and broker.fault == "garbage":
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return True
        if late and broker.fault == "flood":
            while True:
                self.wfile.write(struct.pack(">ii", 65_536, -7) + bytes(65_532))
        low, high = broker.versions.get(api, (version, version))
        if not low <= version <= high:
            return False
        answer = encode_response(api, version, header.correlation_id, broker.answer(api, request.body))
        if api == PRODUCE and not request.body.acks and broker.fault != "acks=0":
            return True
        if broker.fault == "long metadata" and api == METADATA and version == 8:
            answer = struct.pack(">i", len(answer) - 3) + answer[4:] + b"\0"
        self.wfile.write(answer)
        return True


@contextmanager
def small_broker(fault: str = "", kind: type[SmallBroker] = SmallBroker) -> Iterator[SmallBroker]:
    """Yield a broker that runs."""
    with kind(fault) as broker:
        threading.Thread(target=broker.serve_forever, daemon=True).start()
        try:
            yield broker
        finally:
            broker.shutdown()
