"""A digest of many open flows' ends for their capture set: merged judgements, equal ends once.

An end that completes only its own connection differs from others only in what it proves of clients and
brokers (`history.connections.connection_problems`). A plain end is reported once, with the names of its
connections.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from kdissect.history.connections.connection_problems import PlainEnd, plain_end
from kdissect.pipeline.streaming.flows.open_flows import Told
from kdissect.session.events import ConnectionClosed
from kdissect.stages.forwarding import NAMES
from kdissect.stages.judges import Judgement
from kdissect.stages.replay import Replay

Ordered = tuple[bytes, bytes]
"""`event_order` and blob of a forwarded event."""


class EndsDigest(NamedTuple):
    """A digest. `plain` maps what ends prove to names of connections. `rest` has the events of all other
    ends.
    """

    judgement: Judgement
    plain: dict[PlainEnd, frozenset[str]]
    rest: tuple[Ordered, ...]
    connections: frozenset[str]
    """All of them."""


def digest_of(flows: Iterable[Told], without: Collection[str] = ()) -> EndsDigest:
    """Return the digest flows, without the connections named in `without`."""
    judgement, rest, names = Judgement(), list[Ordered](), set[str]()
    plain: dict[PlainEnd, set[str]] = defaultdict(set)
    for told in flows:
        for connection, judged in told.judged:
            names.add(connection)
            if connection not in without:
                judgement.merge(pickle.loads(judged))
        for connection, events in events_of(told).items():
            names.add(connection)
            if connection in without:
                continue
            end = _plain_end(events)
            if end is None:
                rest += events
            else:
                plain[end].add(connection)
    alike = {end: frozenset(connections) for end, connections in plain.items()}
    return EndsDigest(judgement, alike, tuple(rest), frozenset(names))


def merged(digests: Iterable[EndsDigest]) -> EndsDigest:
    """Return several digests as one."""
    judgement, rest, names = Judgement(), list[Ordered](), set[str]()
    plain: dict[PlainEnd, set[str]] = defaultdict(set)
    for digest in digests:
        judgement.merge(digest.judgement)
        rest += digest.rest
        names |= digest.connections
        for end, connections in digest.plain.items():
            plain[end] |= connections
    alike = {end: frozenset(connections) for end, connections in plain.items()}
    return EndsDigest(judgement, alike, tuple(rest), frozenset(names))


def events_of(told: Told) -> dict[str, list[Ordered]]:
    """Return the events of a flow by connection, without events that contain only names of topics."""
    found: dict[str, list[Ordered]] = defaultdict(list)
    for _, order, blob in told.forwarded:
        if not order.startswith(NAMES):
            _, connection, *_ = pickle.loads(blob)
            found[connection].append((order, blob))
    return found


def _plain_end(events: list[Ordered]) -> PlainEnd | None:
    """Return the facts that a connection's only event proves, if it is an end that completes no other
    exchange.
    """
    if len(events) != 1:
        return None
    ((event, silenced),) = Replay().events(blob for _, blob in events)
    return plain_end(event) if isinstance(event, ConnectionClosed) and not silenced else None
