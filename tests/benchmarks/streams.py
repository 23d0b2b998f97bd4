"""A second reading of generated captures, by dpkt and kafka-python: no code of the generator or kdissect."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dpkt

BROKER_PORT = 9092
Key = tuple[bytes, int, bytes, int]
Place = tuple[object, int]
"""Topic name or id, and partition."""


class Segment(NamedTuple):
    """One TCP segment of the file."""

    time: float
    flow: Key
    seq: int
    ip_id: int
    flags: int
    payload: bytes


def segments(path: Path) -> Iterator[Segment]:
    """Yield every packet, in file order."""
    with path.open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        parse = (
            dpkt.ethernet.Ethernet if reader.datalink() == dpkt.pcap.DLT_EN10MB else dpkt.loopback.Loopback
        )
        for time, data in reader:
            ip = parse(data).data
            tcp = ip.data
            flow = (ip.src, tcp.sport, ip.dst, tcp.dport)
            yield Segment(time, flow, tcp.seq, ip.id, tcp.flags, bytes(tcp.data))


def streams(path: Path) -> dict[Key, bytes]:
    """Payload of each direction in sequence order; only for captures without loss."""
    parts: dict[Key, list[tuple[int, bytes]]] = defaultdict(list)
    first: dict[Key, int] = {}
    for segment in segments(path):
        if segment.flags & dpkt.tcp.TH_SYN:
            first[segment.flow] = segment.seq + 1
        if segment.payload:
            parts[segment.flow].append(((segment.seq - first[segment.flow]) % 2**32, segment.payload))
    joined = {}
    for flow, pieces in parts.items():
        pieces.sort()
        expected = 0
        for offset, payload in pieces:
            assert offset == expected, f"hole or overlap at {offset}"
            expected += len(payload)
        joined[flow] = b"".join(payload for _, payload in pieces)
    return joined


def frames(stream: bytes) -> list[bytes]:
    """Kafka frames of one direction, sizes cut off; the last one must be complete."""
    found = []
    position = 0
    while position < len(stream):
        (size,) = struct.unpack_from(">i", stream, position)
        assert 0 < size <= len(stream) - position - 4
        found.append(stream[position + 4 : position + 4 + size])
        position += 4 + size
    return found


def conversations(path: Path) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Request and response frames of each connection."""
    joined = streams(path)
    for flow, stream in joined.items():
        if flow[3] == BROKER_PORT:
            yield frames(stream), frames(joined.get((*flow[2:], *flow[:2]), b""))


class Reading:
    """What kafka-python finds: counts in the names of the truth, and the record batches."""

    def __init__(self, path: Path) -> None:
        from kafka.protocol import consumer, metadata, producer

        modules = (consumer, metadata, producer)
        classes = [
            getattr(m, name) for m in modules for name in m.__all__ if name.endswith(("Request", "Response"))
        ]
        self._requests = {c.API_KEY: c for c in classes if c.__name__.endswith("Request")}
        self._responses = {c.API_KEY: c for c in classes if c.__name__.endswith("Response")}
        self.api: Counter[str] = Counter()
        self.responses = 0
        self.unanswered = 0
        self.errors: Counter[int] = Counter()
        self.records = 0
        self.batches: list[bytes] = []
        for requests, responses in conversations(path):
            self._read(requests, iter(responses))

    def _read(self, requests: list[bytes], responses: Iterator[bytes]) -> None:
        ledger = Ledger()
        for expected, frame in enumerate(requests):
            key, version, correlation = struct.unpack_from(">hhi", frame)
            assert correlation == expected
            self.api[f"{key}v{version}"] += 1
            body = self._decoded(self._requests[key], frame, version)
            if key == 0:
                self._produced(body, ledger)
                if body.acks == 0:
                    self.unanswered += 1
                    continue
            if key == 1:
                ledger.fetching(body)
            answer = next(responses)
            assert struct.unpack_from(">i", answer) == (correlation,)
            self._answer(key, version, answer, ledger)
        assert next(responses, None) is None, "more responses than requests"

    def _decoded(self, kind: Any, frame: bytes, version: int) -> Any:
        body = kind.decode(frame, version=version, header=True)
        # Encoding it again must give the frame: nothing was left over and nothing was added.
        assert bytes(body.encode(header=True)) == frame, kind.__name__
        return body

    def _answer(self, key: int, version: int, frame: bytes, ledger: Ledger) -> None:
        self.responses += 1
        if key == 18 and frame[4:6] == b"\x00\x23":
            self.errors[35] += 1
            version = 0
        body = self._decoded(self._responses[key], frame, version)
        self.errors[getattr(body, "error_code", 0) or 0] += 1
        if key == 1:
            ledger.session = body.session_id
            self._fetched(body, ledger)

    def _produced(self, body: Any, ledger: Ledger) -> None:
        for topic in body.topic_data:
            for partition in topic.partition_data:
                for batch in self._batches(bytes(partition.records)):
                    ledger.produced((topic.name or topic.topic_id, partition.index), batch)

    def _fetched(self, body: Any, ledger: Ledger) -> None:
        for topic in body.responses:
            for partition in topic.partitions:
                place = (topic.topic or topic.topic_id, partition.partition_index)
                for batch in self._batches(bytes(partition.records or b"")):
                    ledger.fetched(place, batch)
                    assert partition.high_watermark >= ledger.offsets[place]

    def _batches(self, data: bytes) -> list[bytes]:
        found = []
        while data:
            (length,) = struct.unpack_from(">i", data, 8)
            found.append(data[: 12 + length])
            self.records += struct.unpack_from(">i", data, 57)[0]
            data = data[12 + length :]
        self.batches += found
        return found


class Ledger:
    """One connection's positions: each batch and each fetch must go on where the one before ended."""

    def __init__(self) -> None:
        self.offsets: dict[Place, int] = {}
        self.sequences: dict[Place, int] = {}
        self.epoch = 0
        self.session = 0

    def produced(self, place: Place, batch: bytes) -> None:
        """Check that base sequences of an idempotent producer count up from 0."""
        _, _, sequence, count = struct.unpack_from(">qhii", batch, 43)
        if sequence >= 0:
            assert sequence == self.sequences.get(place, 0)
            self.sequences[place] = sequence + count

    def fetching(self, body: Any) -> None:
        """Check that a Fetch asks for the next offset, and that its session (KIP-227) counts epochs up."""
        if body.version >= 7:
            assert (body.session_id, body.session_epoch) == (self.session, self.epoch)
            self.epoch += 1
        for topic in body.topics:
            for partition in topic.partitions:
                place = (topic.topic or topic.topic_id, partition.partition)
                assert partition.fetch_offset == self.offsets.setdefault(place, partition.fetch_offset)

    def fetched(self, place: Place, batch: bytes) -> None:
        """Check that a batch of a response starts at the requested offset, or after the batch before it."""
        (offset,) = struct.unpack_from(">q", batch)
        assert offset == self.offsets[place]
        self.offsets[place] = offset + struct.unpack_from(">i", batch, 57)[0]
