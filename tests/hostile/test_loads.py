"""Loads that are meant to hurt, small: what comes of each is told, and nothing is held beyond the bounds.

`python benchmarks/hostile_load.py` runs them at their size, with figures (docs/limits.md).
"""

import sys
from collections import Counter
from collections.abc import Iterable

from benchmarks import hostile_load
from kdissect.engine.analyzer import Analyzer
from kdissect.model.limits import Limits
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange


def fed(analyzer: Analyzer, packets: Iterable[bytes]) -> list[Event]:
    events: list[Event] = []
    for number, data in enumerate(packets, 1):
        time_ns = hostile_load.START_NS + number * 20_000
        events += analyzer.feed_batch([(number, time_ns, 1, data, len(data))])
    return events


def states(events: list[Event]) -> Counter[str]:
    return Counter(str(event.state) for event in events if isinstance(event, Exchange))


def closed(events: list[Event]) -> list[ConnectionClosed]:
    return [event for event in events if isinstance(event, ConnectionClosed)]


def test_a_connection_through_its_sequence_space_five_times() -> None:
    analyzer = Analyzer()
    events = fed(analyzer, hostile_load.wraps()) + analyzer.close()
    (end,) = closed(events)
    assert end.connection.tcp is not None
    assert end.connection.tcp.gap_bytes > 2 * 5 * (1 << 32) * 0.99
    # 256 MB in a third of a millisecond: a fourth jump within the grace for holes is further than any window,
    # and the three exchanges behind it are late until a fourth segment goes on where they are.
    assert states(events) == {"complete": 580}
    assert end.connection.anomaly_counts["late_segment"] == 2 * (640 - 580)


def test_connections_that_all_stay_open() -> None:
    analyzer = Analyzer(limits=Limits(connections=200))
    events = fed(analyzer, hostile_load.connections(300))
    held = sum(map(len, analyzer._tables.values())) // 2
    events += analyzer.close()
    assert held <= 200
    assert states(events)["complete"] >= 2 * 200
    assert analyzer.anomaly_counts["evicted_idle"] >= 100


def test_requests_that_nobody_answers() -> None:
    for load in (hostile_load.in_flight, hostile_load.in_flight_of_one):
        analyzer = Analyzer(limits=Limits(pending_requests=1000, connection_pending_requests=1000))
        events = fed(analyzer, load(10_000))
        assert len(events) >= 9_000  # given up while the capture went on
        events += analyzer.close()
        assert states(events) == {"unanswered": 10_000}


def test_every_packet_twice_and_reordered() -> None:
    analyzer = Analyzer()
    events = fed(analyzer, hostile_load.twice_and_reordered(40)) + analyzer.close()
    assert states(events) == {"complete": 40 * 50}


def test_half_of_the_packets_lost() -> None:
    analyzer = Analyzer()
    events = fed(analyzer, hostile_load.half_lost(60)) + analyzer.close()
    told = states(events)
    assert told["complete"] > 0.1 * 60 * 50
    assert set(told) <= {"complete", "orphan_response", "unanswered"}
    assert not [e for e in events if isinstance(e, Exchange) and e.api_key not in (3, None)]


def _size(thing: object, seen: set[int]) -> int:
    """Return bytes of an object and all it alone holds, as far as slots, lists, tuples and dicts lead."""
    if id(thing) in seen or isinstance(thing, type) or callable(thing):
        return 0
    seen.add(id(thing))
    held = [
        getattr(thing, name, None) for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())
    ]
    if isinstance(thing, dict):
        held += [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set):
        held += thing
    return sys.getsizeof(thing) + sum(_size(one, seen) for one in held)


def test_a_flood_of_syns_costs_little_for_each() -> None:
    analyzer = Analyzer()
    fed(analyzer, hostile_load.syn_flood(1))
    connection = next(iter(analyzer._flows.values()))
    shared = {id(analyzer._events), id(analyzer._store), id(analyzer.limits), id(None)}
    # What waits for a byte is made with the first: six deques of 700 bytes were half of 9 KB.
    assert _size(connection, shared) < 5500
    assert len(closed(analyzer.close())) == 1
