"""Conversations with a secret in every place that the protocol has one, and what would tell it."""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crc32c import crc32c

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.schema.logs import METADATA_TOPIC_ID
from tests.decoders.payloads.vectors import groups, records
from tests.support.messages.traffic import Conversation, frame, request, response
from tests.support.packets.pcaps import write_pcap

SECRET = "xq7SECRETvvz"
# Secrets in bytes that Apache Kafka wrote for these tests.
PLANTED = [
    SECRET,
    "SALTSECRET",
    "STOREDSECRET",
    "SERVERSECRET",
    "TOPSECRET",
    "SECRETTOKEN",
    "pinch",
    "proofproof",
]
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36


def config(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "value": SECRET, **more}


def changes(*configs: dict[str, Any]) -> dict[str, Any]:
    return {"resources": [{"resource_type": 4, "resource_name": "1", "configs": list(configs)}]}


def described(version: int) -> dict[str, Any]:
    synonym = {"name": "my.own", "value": SECRET, "source": 1}
    configs = [config("my.own", is_sensitive=True, synonyms=[synonym] if version else [])]
    if version >= 3:
        configs.append(config("my.own", config_type=9))
    return {"results": [{"resource_type": 4, "resource_name": "1", "configs": configs}]}


def created(version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    topic = {"name": "t", "assignments": [], "configs": [config("my.password")]}
    answer = {"name": "t", "configs": [config("my.password", is_sensitive=True)]}
    return {"topics": [topic]}, {"topics": [answer if version >= 5 else {"name": "t"}]}


def inner_change() -> bytes:
    return encode_request(44, 1, 9, "inner", changes(config("sasl.jaas.config")))[4:]


def fetched_metadata() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return records of the metadata log that Apache Kafka wrote, in a Fetch."""
    return metadata_batch([row[3] for row in records() if row[0] == "__cluster_metadata" and row[3]])


def metadata_batch(values: list[bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a Fetch of these records of the metadata log, built here by hand: request and response."""
    content = b""
    for number, value in enumerate(values):
        record = bytes([0, 0, number * 2, 1]) + varint(len(value)) + value + b"\0"
        content += varint(len(record)) + record
    batch = struct.pack(">hiqqqhii", 0, len(values) - 1, 0, 0, -1, -1, -1, len(values)) + content
    batch = struct.pack(">ibI", 0, 2, crc32c(batch)) + batch
    batch = struct.pack(">qi", 0, len(batch)) + batch
    asked = {"topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [{"partition": 0}]}]}
    part = {"partition_index": 0, "aborted_transactions": None, "records": batch}
    return asked, {"responses": [{"topic_id": METADATA_TOPIC_ID, "partitions": [part]}]}


def varint(length: int) -> bytes:
    value, out = length * 2, b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def exchanges() -> Iterator[tuple[int, int, dict[str, Any], dict[str, Any]]]:
    secret = SECRET.encode()
    for version in (0, 1, 2):
        yield SASL_AUTHENTICATE, version, {"auth_bytes": b"\0alice\0" + secret}, {"auth_bytes": secret}
    scram = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": secret, "salted_password": secret}
    yield 51, 0, {"deletions": [], "upsertions": [scram]}, {"results": []}
    yield 38, 3, {"renewers": []}, {"hmac": secret, "token_id": "id"}
    yield 39, 2, {"hmac": secret}, {}
    yield 40, 2, {"hmac": secret}, {}
    token = {"token_id": "id", "hmac": secret, "renewers": []}
    yield 41, 3, {"owners": None}, {"tokens": [token]}
    for version in (0, 1):
        yield 44, version, changes(config("ssl.key.password"), config("listener.name.a.sasl.jaas.config")), {}
    yield 33, 2, changes(config("ssl.truststore.password")), {}
    for version in (1, 5):
        yield 19, version, *created(version)
    for version in range(5):
        yield 32, version, {"resources": []}, described(version)
    yield 58, 0, {"request_data": inner_change(), "request_principal": None}, {"response_data": secret * 3}
    yield 1, 13, *fetched_metadata()


def planted(target: Path) -> str:
    """Write a capture with a secret in every place where the protocol has one."""
    talk = Conversation().handshake()
    for number, (key, version, asked, answered) in enumerate(exchanges()):
        talk.client(encode_request(key, version, number, "me", asked))
        talk.broker(encode_response(key, version, number, answered))
    # A version of the future: nobody knows what is in it.
    talk.client(request(SASL_AUTHENTICATE, 9, 999, b"\0alice\0" + SECRET.encode()))
    talk.broker(response(999, SECRET.encode()))
    packets = talk.packets
    for number, (mechanism, *tokens) in enumerate(token_dialogues()):
        raw = Conversation(ports=(41000 + number, 9092), start_ns=packets[-1].time_ns + 10**9).handshake()
        raw.client(request(SASL_HANDSHAKE, 0, 1, len(mechanism).to_bytes(2) + mechanism))
        raw.broker(response(1, b"\0\0\0\0\0\0"))
        for asked_token, answered_token in tokens:
            raw.client(frame(asked_token)).broker(frame(answered_token))
        packets = packets + raw.packets
    return write_pcap(target, packets)


def token_dialogues() -> Iterator[tuple[Any, ...]]:
    made = groups()
    yield b"PLAIN", (b"\0alice\0" + SECRET.encode(), b"")
    yield (
        b"SCRAM-SHA-256",
        (made["ScramClientFirst"], made["ScramServerFirst"]),
        (made["ScramClientFinal"], made["ScramServerFinal"]),
    )
    yield b"OAUTHBEARER", (made["OauthClient"], b"")
    yield b"MY-OWN", (SECRET.encode(), SECRET.encode())


def needles(secret: str) -> set[bytes]:
    """Return a secret as text, hex of several kinds, and as base64 at each offset of three bytes."""
    data = secret.encode()
    found = {data, data.hex().encode(), data.hex(" ").encode(), data.hex(":").encode()}
    for before in range(3):  # only characters that no byte around the secret can change
        text = base64.b64encode(bytes(before) + data + bytes(3))
        found.add(text[-(-before * 4 // 3) : (before + len(data)) * 4 // 3])
    return found
