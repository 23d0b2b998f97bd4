"""Fake Kafka peers over real sockets: a broker that answers, and clients that ask.

    python benchmarks/kafka_peers.py broker 127.0.0.1 21150
    python benchmarks/kafka_peers.py client 127.0.0.1 21150 --requests 20 --size 100000

Frames are built here byte by byte (Kafka protocol guide), without kdissect's own code: an ApiVersions
request, then Produce requests with `--size` bytes of records each. The client prints one line for each
exchange: correlation id, bytes of the request, bytes of the response.
"""

from __future__ import annotations

import argparse
import socket
import struct
import sys
import threading

API_VERSIONS, PRODUCE = 18, 0
PRODUCE_VERSION = 7
TOPIC = b"lab"
CLIENT_ID = b"lab-client"
TIMEOUT_SECONDS = 30


def text(value: bytes) -> bytes:
    """Return a STRING: int16 length and bytes."""
    return struct.pack(">h", len(value)) + value


def framed(content: bytes) -> bytes:
    """Return a frame: int32 size and content."""
    return struct.pack(">i", len(content)) + content


def request(
    key: int, version: int, correlation_id: int, body: bytes = b"", client_id: bytes = CLIENT_ID
) -> bytes:
    """Return a request frame with header v1."""
    return framed(struct.pack(">hhi", key, version, correlation_id) + text(client_id) + body)


def produce(correlation_id: int, records: bytes, client_id: bytes = CLIENT_ID) -> bytes:
    """Produce v7, acks=1, one partition. The records are opaque here."""
    head = struct.pack(">hhi", -1, 1, 30_000)  # no transactional id, acks, timeout
    section = struct.pack(">i", 1) + text(TOPIC) + struct.pack(">ii", 1, 0) + struct.pack(">i", len(records))
    return request(PRODUCE, PRODUCE_VERSION, correlation_id, head + section + records, client_id)


def answer(content: bytes) -> bytes:
    """Return the response frame to the content of a request frame."""
    key, _, correlation_id = struct.unpack_from(">hhi", content)
    if key == API_VERSIONS:  # v0: error code, array of (key, lowest, highest)
        apis = ((PRODUCE, 3, PRODUCE_VERSION), (API_VERSIONS, 0, 0))
        body = struct.pack(">hi", 0, len(apis)) + b"".join(struct.pack(">hhh", *api) for api in apis)
    else:  # Produce v7: topics of partitions (index, error, base offset, append time, start offset), throttle
        partition = struct.pack(">iihqqq", 1, 0, 0, 0, -1, 0)
        body = struct.pack(">i", 1) + text(TOPIC) + partition + struct.pack(">i", 0)
    return framed(struct.pack(">i", correlation_id) + body)


def receive(peer: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes; EOFError if the other side ended first."""
    found = bytearray()
    while len(found) < size:
        piece = peer.recv(size - len(found))
        if not piece:
            raise EOFError
        found += piece
    return bytes(found)


def receive_frame(peer: socket.socket) -> bytes:
    """Return the content of the next frame."""
    return receive(peer, struct.unpack(">i", receive(peer, 4))[0])


def serve_one(peer: socket.socket) -> None:
    """Answer one client until it goes."""
    with peer:
        try:
            while True:
                peer.sendall(answer(receive_frame(peer)))
        except (EOFError, OSError):
            return


def serve(host: str, port: int) -> None:
    """Run a broker until the process ends. Print a line when it listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    with socket.create_server((host, port), family=family, backlog=1024, dualstack_ipv6=both) as server:
        print(f"listening on {host} {server.getsockname()[1]}", flush=True)
        while True:
            peer, _ = server.accept()
            threading.Thread(target=serve_one, args=(peer,), daemon=True).start()


def ask(peer: socket.socket, frame: bytes) -> int:
    """Send one request and wait for its answer; the bytes of the answer."""
    peer.sendall(frame)
    return len(receive_frame(peer)) + 4


def converse(host: str, port: int, requests: int, size: int) -> None:
    """Run a client: one connection, `requests` Produce requests one after the other."""
    with socket.create_connection((host, port), timeout=TIMEOUT_SECONDS) as peer:
        frames = [request(API_VERSIONS, 0, 1)]
        frames += [produce(2 + number, bytes([number & 0xFF]) * size) for number in range(requests)]
        for correlation_id, frame in enumerate(frames, 1):
            print(correlation_id, len(frame), ask(peer, frame), flush=True)


def main(arguments: list[str]) -> int:
    """Be a broker or a client."""
    parser = argparse.ArgumentParser(description="a fake Kafka broker or client")
    add = parser.add_argument
    add("role", choices=("broker", "client"))
    add("host")
    add("port", type=int)
    add("--requests", type=int, default=10)
    add("--size", type=int, default=1000)
    chosen = parser.parse_args(arguments)
    if chosen.role == "broker":
        serve(chosen.host, chosen.port)
    else:
        converse(chosen.host, chosen.port, chosen.requests, chosen.size)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
