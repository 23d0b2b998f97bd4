"""Bounds that a user may set (`--limits`, docs/limits.md), and the bounds in force in this process.

An analyzer's `Limits` bound its memory. Decoders, filters and counts have no analyzer: they use the process's
limits, which `use` sets once, before any input is read. An analyzer without limits of its own uses the
process's, too.
"""

from typing import NamedTuple

MIB = 1 << 20


class Limits(NamedTuple):
    """Bounds by name. `model.limit_notes` describes the value that each one counts, and the report when it is
    reached.

    The first five hold over all connections together. They are emergencies: where a connection begins, what
    waits for what and how long depends on its own packets and the bounds of one connection. They bound the
    memory of an analysis when many connections come near their own bounds at once. Past a bound, the
    connection that asks for more drops something.
    """

    connections: int = 200_000  # of 12 KB each at least. A busy broker has some ten thousand
    out_of_order_bytes: int = 256 * MIB  # 32 connections whose windows of 8 MiB wait after a hole
    frame_bytes: int = (
        1024 * MIB
    )  # ten of the largest requests a broker takes (socket.request.max.bytes, 100 MiB)
    pending_bytes: int = 512 * MIB  # eight connections at their own bound of 64 MiB
    pending_requests: int = 300_000  # 1 KB each; 30 connections at their own bound
    # Of one packet, direction or connection.
    # a packet in a tunnel in a tunnel exists. Deeper nesting is an attack on the parser
    packet_depth: int = 8
    # Kafka's TCP is next to never fragmented: 256 packets at 64 KB bound the table to 16 MB.
    fragmented_packets: int = 256
    # Of 576 bytes (the least an IPv4 host must take, RFC 791 section 3.1) the largest packet has 120.
    fragments: int = 256
    # A full receive window of a host with Linux's defaults (tcp_rmem, 6 MB at most).
    direction_out_of_order_bytes: int = 8 * MIB
    direction_out_of_order_segments: int = 8192
    # A broker accepts 100 MiB (socket.request.max.bytes, spec/004 "Size Constraints"). Responses have no
    # limit in the protocol. Below 256 MiB, the first byte of text or a TLS record can never be the start of a
    # size.
    frame_size: int = (1 << 28) - 1
    # Requests of one connection that wait for their response: clients have 1-5 in flight, Kafka's own
    # inter-broker senders a few hundred. Past the bytes only header and packet reference stay.
    connection_pending_requests: int = 10_000
    connection_pending_bytes: int = 64 * MIB
    # A broken connection repeats itself: the first hundred anomalies show the fault, the counts its
    # frequency.
    anomalies: int = 100
    # Of one batch or payload. A broker accepts at most 100 MiB in one request, and clients bound a batch
    # before they compress it (max.request.size). No stock client writes more, and a bomb is cut here.
    batch_bytes: int = 128 * MIB
    # Zeros in gzip give 1030 (https://zlib.net/zlib_tech.html), in lz4 255, in zstd 32,000: real records are
    # not 16 MiB of zeros.
    batch_ratio: int = 2000
    # 128 MiB may hold 19 million records of 7 bytes, at 200 bytes an object. This is ten times the most that
    # a batch of 1 MiB (message.max.bytes) can have uncompressed.
    batch_records: int = 1_500_000
    # Of all batches of a run together (`model.run_budget`). Offsets of records count up, so that real records
    # take about a byte each, even if they are equal.
    run_bytes: int = 4096 * MIB
    run_ratio: int = 100
    run_records: int = 500_000
    run_record_ratio: int = 5
    message_depth: int = 3  # compressed messages in each other; Kafka writes 1
    payload_depth: int = 4  # an Envelope holds one request, a subscription one assignor's data
    # Names: 300 bytes a topic, up to 20 KB a row of a statistic, 1 KB a finding.
    topic_names: int = 100_000  # clusters have at most some ten thousand
    statistic_rows: int = 1000
    sorted_rows: int = 50_000  # of a list with --sort: 5 KB each
    findings: int = 10_000  # a peer that breaks something new in every frame must not fill the memory
    # Maximum cost of a filter.
    filter_characters: int = 16_384
    filter_depth: int = 50
    pattern_characters: int = 500  # a list of some dozen topics
    # optional parts and alternatives: each way costs one pass over the whole pattern
    pattern_ways: int = 1000


DEFAULT_LIMITS = Limits()
_in_force = [DEFAULT_LIMITS]


def in_force() -> Limits:
    """Return the limits of this process."""
    return _in_force[0]


def use(limits: Limits) -> None:
    """Set the limits of this process, for objects that are created from now on."""
    _in_force[0] = limits
