"""What a capture shall be like: profiles, version ranges, and the options of one run."""

from __future__ import annotations

from typing import NamedTuple

SIZE_UNITS = {"": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
BYTES_PER_CONNECTION = 1_000_000  # default: one connection for each MB of capture ...
MAX_WAIT_MS = 500  # fetch.max.wait.ms, also how long an empty response takes
PRODUCER, CONSUMER, FOLLOWER = "producer", "consumer", "follower"
CONNECTIONS_RANGE = (6, 400)  # ... within these bounds: tiny files have every role, big ones stay flat


class Profile(NamedTuple):
    """The shape of the traffic on one kind of network path; sizes in bytes, rates in bytes a second."""

    name: str
    mss: int
    """TCP payload of a full segment: link MTU - 20 (IPv4) - 32 (TCP with timestamps, RFC 7323)."""
    loopback: bool
    batch_bytes: tuple[int, int]
    """Size of a record batch on the wire, before the codec's luck."""
    value_bytes: tuple[int, int]
    produce_partitions: tuple[int, int]
    fetch_partitions: tuple[int, int]
    fetch_batches: tuple[int, int]
    """Batches for each partition of a Fetch response."""
    depth: int
    """Requests in flight at most (max.in.flight.requests.per.connection is 5 by default)."""
    coalesce: float
    """Chance that several frames are written at once, so that frames begin inside a segment."""
    rate: int
    """Payload of all connections together."""
    group_share: float
    """Rate of a group member's connection, relative to a producer's or a consumer's."""
    burst: int
    """Segments a sender emits before another connection gets the link."""
    ack_every: int
    """Segments to one ACK: 2 by RFC 9293 section 3.8.6.3, more where the receiver merges segments (GRO)."""
    empty_rate: float = 0.03
    """Share of Fetches that are answered without records."""
    empty_ms: int = MAX_WAIT_MS
    """When a broker answers a Fetch without records. Below the client's longest wait it breaks FET008."""
    role: str = ""
    """The only role of the connections, PRODUCER, CONSUMER or FOLLOWER; empty: all roles."""
    sessions: bool = True
    """Whether consumers use fetch sessions. Without one each Fetch and its response list all partitions."""
    plans: int = -1
    """Plans of a connection before it closes; -1: it stays open, except for the usual share of short ones."""
    brokers: int = 3
    """Of a cluster."""
    partitions: int = 12
    """Of a topic."""
    programs: int = 10
    """Applications of each role; connections share their pools of requests."""
    metadata_every: int = 60
    """Fetches between two Metadata requests of a consumer."""


PROFILES = {
    "mtu": Profile(
        name="mtu",
        mss=1448,
        loopback=False,
        batch_bytes=(8_000, 64_000),
        value_bytes=(400, 1600),
        produce_partitions=(1, 4),
        fetch_partitions=(1, 3),
        fetch_batches=(1, 4),
        depth=5,
        coalesce=0.3,
        rate=40_000_000,
        group_share=0.02,
        burst=16,
        ack_every=8,
    ),
    "small": Profile(
        name="small",
        mss=1448,
        loopback=False,
        batch_bytes=(120, 380),
        value_bytes=(40, 160),
        produce_partitions=(1, 1),
        fetch_partitions=(1, 1),
        fetch_batches=(1, 1),
        depth=5,
        coalesce=0.5,
        rate=2_000_000,
        group_share=0.3,
        burst=16,
        ack_every=2,
    ),
    "loopback": Profile(
        name="loopback",
        mss=65483,
        loopback=True,
        batch_bytes=(16_000, 120_000),
        value_bytes=(400, 1600),
        produce_partitions=(1, 4),
        fetch_partitions=(1, 3),
        fetch_batches=(1, 4),
        depth=5,
        coalesce=0.3,
        rate=150_000_000,
        group_share=0.02,
        burst=2,
        ack_every=2,
    ),
}

PROFILES["polls"] = PROFILES["small"]._replace(
    name="polls", depth=1, coalesce=0.0, empty_rate=0.97, role=CONSUMER, sessions=False
)
PROFILES["early"] = PROFILES["polls"]._replace(name="early", empty_ms=1)
PROFILES["short"] = PROFILES["small"]._replace(name="short", depth=1, role=PRODUCER, plans=1)
PROFILES["followers"] = PROFILES["small"]._replace(
    name="followers", depth=1, coalesce=0.0, empty_rate=0.5, role=FOLLOWER
)
PROFILES["wide"] = PROFILES["small"]._replace(
    name="wide",
    depth=1,
    role=CONSUMER,
    sessions=False,
    brokers=1,
    partitions=2500,  # a consumer has two topics
    programs=2,
    metadata_every=4,
)
# 128 batches of 125 KB, the most that `codecs.PLAIN_LIMIT` allows.
PROFILES["large"] = PROFILES["mtu"]._replace(
    name="large",
    role=CONSUMER,
    batch_bytes=(125_000, 125_000),
    fetch_partitions=(1, 1),
    fetch_batches=(128, 128),
    programs=1,
)

RELEASES: dict[str, tuple[tuple[int, int], ...]] = {
    # Wireshark 4.0 decodes what these clients send (Produce <= 8, Fetch <= 11). Magic 2 came with 0.11.
    "old": ((0, 11), (1, 1), (2, 1), (2, 3), (2, 5)),
    # Produce 11-13, Fetch 16-18; topic ids from version 13 of both (KIP-516).
    "new": ((3, 8), (3, 9), (4, 0), (4, 1), (4, 2)),
}


class Options(NamedTuple):
    """One run; the same options give the same bytes."""

    size: int
    profile: Profile
    versions: str
    connections: int
    reorder: float
    loss: float
    codec: str
    seed: int
    link: str


def parse_size(text: str) -> int:
    """`100MB`, `64k`, `1.5GB` or plain bytes -> bytes (decimal units). ValueError when it is neither."""
    digits = text.strip().lower().rstrip("bkmg")
    unit = text.strip().lower()[len(digits) :]
    if unit == "b":
        unit = ""
    if unit not in SIZE_UNITS:
        raise ValueError(f"not a size: {text!r}")
    return int(float(digits) * SIZE_UNITS[unit])


def parse_rate(text: str) -> float:
    """`1%` or `0.01` -> 0.01. ValueError outside 0..1."""
    value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if not 0 <= value <= 1:
        raise ValueError(f"not a rate between 0 and 1: {text!r}")
    return value


def default_connections(size: int) -> int:
    """Return connections open at the same time for a capture of `size` bytes."""
    low, high = CONNECTIONS_RANGE
    return max(low, min(high, size // BYTES_PER_CONNECTION))
