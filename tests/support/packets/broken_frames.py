"""Connections whose first frame is broken, as broken clients send it, beside one that is not."""

import struct

from kdissect.model.packets.packet import Packet
from tests.support.messages.traffic import BROKER, CLIENT, START_NS, Conversation, frame, request, response

HEARTBEAT, API_VERSIONS = 12, 18
BODY = b"\0\1g" + struct.pack(">i", 1) + b"\0\1m"
OK = b"\0\0"
PORT = 19112
SECOND = 1_000_000_000


def header(key: int = HEARTBEAT, version: int = 0, client_length: int = 4) -> bytes:
    return struct.pack(">hhih", key, version, 1, client_length) + b"test" + BODY


# First frames as broken clients send them, and the rule that says what is wrong.
BROKEN = {
    "size -1": (struct.pack(">i", -1) + header(), "FRM001"),
    "size huge": (struct.pack(">i", 0x7FFFFFFF) + header(), "FRM001"),
    "size 3": (struct.pack(">i", 3) + header(), "FRM004"),
    "version -1": (frame(header(version=-1)), "HDR002"),
    "client id of -5 bytes": (frame(header(client_length=-5)), "HDR001"),
    "client id of 32767 bytes": (frame(header(client_length=32767)), "HDR001"),
    "API key -1": (frame(header(key=-1)), "HDR010"),
    "cut ApiVersions v0": (struct.pack(">ihhih", 10, API_VERSIONS, 0, 1, 4), "HDR001"),
}


def broken(data: bytes, start_ns: int, port: int = 40001) -> Conversation:
    """Return a connection that begins with these bytes; the broker closes it."""
    talk = Conversation(ports=(port, PORT), start_ns=start_ns).handshake().client(data)
    return talk.fin(BROKER).fin(CLIENT)


def healthy(start_ns: int) -> Conversation:
    """Return one exchange with the same broker."""
    talk = Conversation(ports=(40000, PORT), start_ns=start_ns).handshake()
    talk.client(request(HEARTBEAT, 0, 1, BODY)).broker(response(1, OK))
    return talk.fin(CLIENT).fin(BROKER)


def every_broken_frame() -> list[Packet]:
    """Half of them before the connection that proves the broker, half behind it."""
    packets: list[Packet] = []
    for number, (data, _) in enumerate(BROKEN.values()):
        if number == len(BROKEN) // 2:
            packets += healthy(START_NS + number * SECOND).packets
        packets += broken(data, START_NS + (number + 1) * SECOND, 41000 + number).packets
    return packets
