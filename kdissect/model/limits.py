"""Bounds that hold over all connections together, and that a user may set.

They are emergencies: where a connection begins, what waits for what and how long depends on its own packets
and the bounds of one connection (docs/limits.md). These keep an analysis within memory when many
connections come near their own bounds at once.
"""

from typing import NamedTuple

MIB = 1 << 20


class Limits(NamedTuple):
    """What all connections of an analysis may hold together; past it the one that asks for more gives up
    something.

    `connections` open at a time; `parked_bytes` of segments that wait for missing ones; `frame_bytes` of
    frames that are not complete; `pending_requests` that wait for their responses, and `pending_bytes` of
    them.
    """

    connections: int = 200_000  # of 12 KB each at least; a busy broker has some ten thousand
    parked_bytes: int = 256 * MIB  # 32 connections whose windows of 8 MiB wait behind a hole
    frame_bytes: int = (
        1024 * MIB
    )  # ten of the largest requests a broker takes (socket.request.max.bytes, 100 MiB)
    pending_bytes: int = 512 * MIB  # eight connections at their own bound of 64 MiB
    pending_requests: int = 300_000  # 1 KB each; 30 connections at their own bound


DEFAULT_LIMITS = Limits()
