"""The bulk path: packets of a block that are in order are taken where they lie, in one loop.

Rules:
- It does what `SegmentParser.parse_batch` and `TcpConnection.feed` do together for a plain segment or
  acknowledgment in order, and nothing else: whatever is unusual about a packet is left to them.
- It goes packet by packet, so that order, times and what is known at an event are those of the other way.
  What it saves are the packet's copy, the tuples and the calls in between.
- A sink that only collects (`model.stream.CollectingSink`) is not called: most segments of large frames.
- Runs of full segments are read by one call for all of them (`net.runs`).
"""

import struct
from collections.abc import Iterator, Mapping, Sized
from itertools import islice
from typing import Any

from kdissect.model.packet import PacketBlock, PlacedPacket
from kdissect.net.fused import FRAGMENT_AND_PROTOCOL, FUSED, HEADERS_IN_ORDER, PLAIN_IPV4
from kdissect.net.protocols import TCP
from kdissect.net.runs import WORTH_BYTES, take_run
from kdissect.net.sequence import HALF, MASK
from kdissect.net.tcp import Lane

Flows = Mapping[bytes, tuple[Any, Any, Any, Lane | None]]
"""Flow key to a tuple whose last is the lane of the flow's segments."""


class Due:
    """The time up to which nothing but packets happens; later packets are unusual.

    `told` is the index of the packet that a sink was told of last.
    """

    __slots__ = ("time_ns", "told")

    def __init__(self) -> None:
        self.time_ns = 0
        self.told = 0


def take_in_order(
    block: PacketBlock, packets: Iterator[tuple[int, PlacedPacket]], flows: Flows, due: Due, events: Sized
) -> Iterator[int]:
    """Take packets of a block, which come with their references, ascending; what is left out are whole flows.

    Gives the index of each packet that is unusual, which the caller is to take before it goes on, and
    `~index` of one with which a sink made `events` grow.
    """
    # Hot, once a packet: locals instead of attributes and globals, no calls.
    data, until_ns, links, lengths = block.data, due.time_ns, FUSED, HEADERS_IN_ORDER
    fragment_and_protocol, tcp_protocol, plain_ipv4, mask = FRAGMENT_AND_PROTOCOL, TCP, PLAIN_IPV4, MASK
    first_ref = block.first_ref
    for ref, (start, time_ns, link_type, limit, _) in packets:
        try:
            unpack, expected, network = links[link_type]
            link, version, total, ip_id, fragment, flow, seq, ack, flags, window = unpack(data, start)
            lane = flows[flow][3]
        except (KeyError, struct.error):
            lane = None
        if lane is not None:
            mine, peer, tcp, sink = lane
            headers = lengths[flags]
            begin, end = start + network + headers, start + network + total
            if (
                seq == mine.next_seq
                and link == expected and version == plain_ipv4
                and fragment & fragment_and_protocol == tcp_protocol
                and headers and begin <= end <= limit
                and window and not tcp.troubled and time_ns <= until_ns
                and (ack == peer.next_seq or (peer.next_seq - ack) & mask < HALF or peer.next_seq < 0)
            ):  # fmt: skip
                mine.packets += 1
                tcp.last_time_ns = time_ns
                if begin == end:
                    continue
                payload, offset = data[begin:end], mine.offset
                size = end - begin
                mine.offset = stop = offset + size
                mine.next_seq = (seq + size) & mask
                mine.recent.append((offset, payload, ip_id, time_ns))
                if stop > mine.trim_at:
                    mine.trim()
                room = sink.room - size
                if room > 0:
                    sink.room = room
                    sink.parts.append(payload)
                    sink.last_ref = ref
                    sink.last_time_ns = time_ns
                    if size >= WORTH_BYTES:
                        taken = take_run(block, ref - first_ref, lane, network, size, until_ns)
                        next(islice(packets, taken, taken), None)
                    continue
                due.told = ref - first_ref
                sink.data(payload, ref, time_ns)
                if events:
                    yield ~(ref - first_ref)
                continue
        yield ref - first_ref
        until_ns = due.time_ns
