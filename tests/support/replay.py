"""The Kafka frames of a recorded capture, said once more over real sockets of this machine."""

import socket
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from kdissect.api import Dissection

HERE = "127.0.0.1"
_PIECE = 1 << 16  # less than any socket buffer holds, so that one thread can be both ends
Frames = list[tuple[bool, bytes]]


def conversations(capture: Path) -> list[Frames]:
    """For each connection of a capture the frames in the order of their times: (by the client, bytes)."""
    frames: dict[str, list[tuple[int, bool, bytes]]] = defaultdict(list)
    for exchange in Dissection(str(capture)):
        for by_client, frame in ((True, exchange.request), (False, exchange.response)):
            if frame is not None and not frame.is_cut:
                frames[exchange.connection.id].append(
                    (frame.time_ns, by_client, frame.size.to_bytes(4, "big") + frame.data)
                )
    return [
        [(by_client, data) for _, by_client, data in sorted(found, key=lambda f: (f[0], not f[1]))]
        for found in frames.values()
    ]


class Talk:
    """A connection of a fake client to a fake broker on `port`."""

    def __init__(self, port: int, frames: Frames, host: str = HERE) -> None:
        with socket.create_server((host, port), reuse_port=True) as listener:
            self.client = socket.create_connection((host, port))
            self.broker, _ = listener.accept()
        self.frames = frames
        for end in (self.client, self.broker):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def say(self, first: int = 0, last: int | None = None) -> None:
        """Send the frames of a range, each received before the next is sent."""
        for by_client, data in self.frames[first:last]:
            ends = (self.client, self.broker) if by_client else (self.broker, self.client)
            _carry(data, *ends)

    def close(self) -> None:
        """Close the connection from the client's side first, as clients do."""
        self.client.close()
        self.broker.close()


def replay(capture: Path, port: int, host: str = HERE) -> Iterator[int]:
    """Replay all connections, one after the other; gives the number of frames of each."""
    for frames in conversations(capture):
        talk = Talk(port, frames, host)
        talk.say()
        talk.close()
        yield len(frames)


def _carry(data: bytes, sender: socket.socket, receiver: socket.socket) -> None:
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        sender.sendall(piece)
        left = len(piece)
        while left:
            left -= len(receiver.recv(left))
