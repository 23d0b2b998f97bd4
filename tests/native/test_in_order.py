"""The compiled way of packets into connections tells what the one in Python tells."""

import sys
from functools import cache, partial
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.engine.analyzer import Analyzer
from kdissect.model.limits import Limits
from kdissect.model.native import is_compiled
from kdissect.model.packets.packet import PacketBlock, PlainPacket
from kdissect.net.parser import SegmentParser
from kdissect.net.streams.recent import RECENT_BYTES, RECENT_SEGMENTS
from kdissect.session import handover
from kdissect.session.conversation import KINDS_LENT
from kdissect.session.exchange import Exchange
from kdissect.session.identities import cluster_of
from kdissect.session.pairing import ANSWERED_KEPT, NO_RESPONSE_HOLD
from tests.engine.test_in_order import (
    CAPTURES,
    CUTS,
    DAMAGE,
    SHIPPED,
    WHAT,
    blocks,
    damaged,
    large_frames,
    shipped,
)
from tests.history.cluster import FETCH, METADATA, ORDERS, Client
from tests.native import packets as asked
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.python_side import PythonSide

LINKS = ("vlan", "vlans", "ipv6", "raw6", "raw", "sll", "sll2", "null", "loop", "vxlan", "vxlan_ipv6")
RECORDED = sorted(CAPTURES.glob("*.pcap*"), key=lambda path: path.stat().st_size)[:60:8]
SETTINGS = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@cache
def small_frames(count: int = 5, exchanges: int = 12) -> list[PlainPacket]:
    """Return connections in turns packet by packet, whose sequence numbers wrap around while they
    are open.
    """
    talks = [
        Conversation(ports=(40000 + number, 9092), isn=(2**32 - 700 * number - 1, 2**32 - 90 * number - 1))
        for number in range(count)
    ]
    for talk in talks:
        talk.handshake()
    for number in range(exchanges):
        for talk in talks:
            talk.client(request(1, 4, number, bytes(number))).packet(BROKER)
            talk.broker(response(number, bytes(range(200)))).packet(CLIENT)
    for talk in talks[::2]:
        talk.fin(CLIENT).fin(BROKER)
    found = [packet for talk in talks for packet in talk.packets]
    return damaged(sorted(found, key=lambda packet: packet[1]), [])


def assert_same(side: PythonSide, packets: list[PlainPacket], cuts: list[int]) -> None:
    right = side.call(asked.told_of, packets, cuts)
    assert asked.told_of(packets, cuts) == right
    assert asked.told_of_plain(packets) == right


@SETTINGS
@given(damage=DAMAGE, cuts=CUTS)
def test_large_frames(python_side: PythonSide, damage: Any, cuts: list[int]) -> None:
    assert_same(python_side, damaged(large_frames(), damage), cuts)


@SETTINGS
@given(damage=DAMAGE, cuts=CUTS)
def test_small_frames(python_side: PythonSide, damage: Any, cuts: list[int]) -> None:
    assert_same(python_side, damaged(small_frames(), damage), cuts)


@pytest.mark.parametrize("what", WHAT)
def test_each_damage_everywhere(python_side: PythonSide, what: str) -> None:
    for packets in (large_frames(), small_frames()):
        damage = [(at, what, 1 + at % 7) for at in range(3, len(packets), 9)]
        assert_same(python_side, damaged(packets, damage), [100])


@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_connections_damaged(python_side: PythonSide, name: str) -> None:
    damage = [(at * 37, what, 1 + at) for at, what in enumerate(WHAT * 3)]
    assert_same(python_side, damaged(shipped(name), damage), [100, 500])


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_files(python_side: PythonSide, path: Any) -> None:
    assert asked.told_of_file(str(path)) == python_side.call(asked.told_of_file, str(path))


def test_files_read_together(python_side: PythonSide) -> None:
    paths = [str(CAPTURES / name) for name in SHIPPED]
    assert asked.merged(paths) == python_side.call(asked.merged, paths)


@pytest.mark.parametrize("how", LINKS)
def test_links(python_side: PythonSide, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies before TCP, most segments are taken where they lie."""
    packets = asked.with_link(small_frames(exchanges=16), how)
    assert_same(python_side, damaged(packets, [(at * 31, what, at) for at, what in enumerate(WHAT)]), [100])
    unusual: list[Any] = []
    feed = Analyzer._feed_segment

    def counted(analyzer: Analyzer, *of: Any) -> None:
        unusual.append(of)
        feed(analyzer, *of)

    monkeypatch.setattr(Analyzer, "_feed_segment", counted)
    asked.told_of(packets, [])
    assert len(unusual) < len(packets) / 8


def test_links_in_turns(python_side: PythonSide) -> None:
    """A block may have packets of several links: those of pcapng interfaces."""
    ways = [asked.with_link(small_frames(), how) for how in LINKS[:4]]
    packets = [ways[at % 4][at] for at in range(len(ways[0]))]
    assert_same(python_side, packets, [100])


@SETTINGS
@given(damage=DAMAGE, cuts=CUTS)
def test_several_sets(python_side: PythonSide, damage: Any, cuts: list[int]) -> None:
    packets = damaged(small_frames(4), damage)
    assert asked.told_of_sets(packets, cuts) == python_side.call(asked.told_of_sets, packets, cuts)


@pytest.mark.exhaustive
@SETTINGS
@given(damage=DAMAGE, cuts=CUTS, late_ns=st.sampled_from([0, 700, 50_000]), are_compared=st.booleans())
def test_files_in_turns(
    python_side: PythonSide, damage: Any, cuts: list[int], late_ns: int, are_compared: bool
) -> None:
    given_of = damaged(small_frames(4), damage), cuts, late_ns, are_compared
    assert asked.told_of_turns(*given_of) == python_side.call(asked.told_of_turns, *given_of)


@SETTINGS
@given(damage=DAMAGE, cuts=CUTS)
def test_shards(python_side: PythonSide, damage: Any, cuts: list[int]) -> None:
    packets = damaged(small_frames(6), damage)
    assert asked.told_by_shards(packets, cuts) == python_side.call(asked.told_by_shards, packets, cuts)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_connections_given_up(python_side: PythonSide, most: int) -> None:
    packets = small_frames()
    right = python_side.call(asked.told_with_few, packets, most)
    assert "connections open at a time" in right[2]
    assert asked.told_with_few(packets, most) == right


@pytest.mark.parametrize("packets", [large_frames, small_frames])
def test_state_goes_from_one_side_to_the_other(python_side: PythonSide, packets: Any) -> None:
    given = damaged(packets(), [(at, "lose", 1) for at in range(0, 400, 67)])
    right = python_side.call(asked.second_half, python_side.call(asked.first_half, given), given)
    here = asked.first_half(given)
    assert python_side.call(asked.second_half, here, given) == right
    assert asked.second_half(python_side.call(asked.first_half, given), given) == right
    assert asked.second_half(here, given) == right


def noted(found: list[int], index: int, _: int | None) -> int:
    """Take what is unusual; nothing is ever due."""
    found.append(index)
    return 2**70


def test_places_that_lie_outside_of_their_data_are_unusual(native: Any) -> None:
    """They come from parsers of ours; were one wrong, it must not matter here."""
    packets = small_frames()
    for start, end in ((0, 10**9), (10**9, 10**9 + 60), (60, 0), (2**63, 2**64 - 1)):
        block = PacketBlock(bytes(100), packets[0][0], [(start, packets[0][1], 1, end, 60)])
        found: list[int] = []
        lent = "a set", 2**70, (native.HeldFlows(), None)
        fed = native.InOrder(block.runs(), None, [], None, partial(noted, found), lambda _, lent=lent: lent)
        assert list(fed) == []
        assert found == [0]
        assert block.runs().segment(0) is None


@pytest.mark.skipif(not is_compiled, reason="the compiled part is not there")
@pytest.mark.parametrize("how", ["ipv6", *asked.TUNNELS])
def test_headers_with_a_byte_changed_are_read_as_python_reads_them(how: str) -> None:
    (_, time_ns, link_type, data, _), *_ = asked.with_link(small_frames()[30:31], how)
    taken = 0
    for at, byte in product(range(min(len(data), 140)), (0, 1, 0x08, 0x10, 0x20, 0x80, 0xFF)):
        changed = data[:at] + bytes((data[at] ^ byte,)) + data[at + 1 :]
        block = PacketBlock(changed, 1, [(0, time_ns, link_type, len(data), len(data))])
        segment = SegmentParser().parse_batch([(1, time_ns, link_type, changed, len(data))])[0]
        found = block.runs().segment(0)
        assert found in (None, (segment, time_ns)), (at, byte)
        taken += found is not None
    assert taken > 450


def test_nothing_is_known_of_connections_that_are_over(native: Any) -> None:
    analyzer = Analyzer()
    for block in blocks(small_frames(), []):
        for _ in analyzer.feed_each(block):
            pass
    table: Any = analyzer._flows
    assert len(table.held) == len(table) > 0
    analyzer.close()
    assert len(table.held) == len(table) == 0


@pytest.mark.parametrize("most", [1, 2])
def test_nothing_is_known_of_connections_given_up(native: Any, most: int) -> None:
    analyzer = Analyzer(limits=Limits(connections=most))
    for block in blocks(small_frames(), [40, 40, 40]):
        for _ in analyzer.feed_each(block):
            pass
        table: Any = analyzer._flows
        assert len(table.held) == len(table) <= 2 * most


@pytest.mark.parametrize("size", [1024, 2048, 4096, 8192, 16384])
def test_what_is_kept_of_even_segments(python_side: PythonSide, size: int) -> None:
    """Segments end where what is kept begins."""
    talk = Conversation().handshake().client(request(1, 4, 1)).broker(response(1, bytes(20 * size)), mss=size)
    packets: Any = talk.packets
    for end in range(6, len(packets), 3):
        assert_same(python_side, packets[:end], [])


def block_of_exchanges(count: int = 12) -> tuple[Analyzer, Any]:
    """Return the first block of an analyzer whose connection has so many exchanges, and the analyzer."""
    talk = Conversation().handshake()
    for number in range(count):
        talk.client(request(3, 1, number, b"\0\0\0\0")).broker(response(number, bytes(8)))
    analyzer = Analyzer()
    (block,) = blocks(damaged(talk.packets, []), [])
    return analyzer, analyzer.feed_each(block)


def first_block(native: Any, fed: Any) -> Any:
    return next(events for events in fed if isinstance(events, native.ExchangeBlock))


def test_an_exchange_of_a_block_is_made_once(native: Any) -> None:
    _, fed = block_of_exchanges()
    block = first_block(native, fed)
    assert len(block) > 8
    found = list(block)
    assert [exchange.ordinal for exchange in found] == sorted(exchange.ordinal for exchange in found)
    assert all(block[at] is exchange for at, exchange in enumerate(found))
    assert block[-1] is found[-1]
    for at in (len(block), -len(block) - 1):
        with pytest.raises(IndexError):
            block[at]


@pytest.mark.parametrize("asked_for", [0, 1, 5, None])
def test_what_nobody_asks_for_is_counted_too(native: Any, asked_for: int | None) -> None:
    """At the exchange asked for a connection counts those up to it, behind the block all of them."""
    analyzer, fed = block_of_exchanges()
    block = first_block(native, fed)
    info = next(one.info for one in analyzer._flows.values())
    before = info.complete
    if asked_for is not None:
        assert block[asked_for].connection is info
        assert info.complete == before + asked_for + 1
        assert block.index == analyzer.index
    list(fed)
    assert info.complete == before + len(block)


def test_a_block_can_end_sooner_for_a_time(native: Any) -> None:
    _, fed = block_of_exchanges()
    block = first_block(native, fed)
    whole = len(block)
    assert block.runs_by_set(lambda info: info.capture_set) == [("", [(0, whole)])]
    block.stop_at(3)
    assert (len(block), len(list(block))) == (3, 3)
    with pytest.raises(IndexError):
        block[3]
    block.stop_at(sys.maxsize)
    assert len(block) == whole


def test_the_rest_of_a_block_can_be_left_out(native: Any) -> None:
    analyzer, fed = block_of_exchanges()
    block = first_block(native, fed)
    for number, _ in enumerate(block):
        if number == 2:
            block.cut(7)  # of another file
            assert len(block) > 3
            block.cut(0)
    assert number == 2
    assert len(block) == 3
    assert block.take_rest() is None
    list(fed)
    assert next(one.info for one in analyzer._flows.values()).complete == block[2].ordinal + 1


def test_exchanges_come_in_blocks(native: Any) -> None:
    """And not packet by packet: of connections that talk in turns, too."""
    given = [
        events
        for block in blocks(small_frames(), [])
        for events in Analyzer().feed_each(block)
        if len(events) > 3
    ]
    assert sum(map(len, given)) > 40
    assert all(isinstance(events, native.ExchangeBlock) for events in given)


def named_amid_fetches() -> list[PlainPacket]:
    talk = Client()
    for cluster in (None, "a"):
        if cluster is not None:
            talk.metadata(cluster, t=ORDERS)
        for _ in range(8):
            talk.fetch(ORDERS)
    return talk.packets


def test_a_block_ends_before_an_exchange_that_names_a_cluster(native: Any) -> None:
    """Who takes the block is not to know the cluster before the exchange that names it."""
    analyzer = Analyzer()
    named = [
        [(exchange.api_key, cluster_of(exchange.connection)) for exchange in events]
        for block in blocks(named_amid_fetches(), [])
        for events in analyzer.feed_each(block)
        if isinstance(events, native.ExchangeBlock)
    ]
    *before, last = named
    assert {cluster for events in before for _, cluster in events} == {None}
    assert last == [(METADATA, "a"), *[(FETCH, "a")] * 8]


def test_an_exchange_that_waits_for_the_block_before_it_is_not_lost(native: Any) -> None:
    """Whoever goes on behind a fault within that block has it, unless its file is left out."""
    for without, rest in ((frozenset(), [METADATA, *[FETCH] * 8]), (frozenset({0}), [])):
        analyzer = Analyzer()
        (block,) = blocks(named_amid_fetches(), [])
        for events in analyzer.feed_each(block):
            if isinstance(events, native.ExchangeBlock) and events[-1].ordinal == 7:
                break
        found = [event.api_key for events in analyzer.feed_on(without) for event in events]
        assert found == rest


def test_a_block_ends_where_a_connection_has_something_new(native: Any) -> None:
    """What an exchange points at is as it was then: kinds of requests that come later are not there yet."""
    talk = Conversation().handshake()
    for number, key in enumerate([3] * 8 + [12] * 4 + [3] * 4):
        talk.client(request(key, 1, number, b"\0\0\0\0")).broker(response(number, bytes(8)))
    (block,) = blocks(damaged(talk.packets, []), [])
    seen = [
        (event.api_key, list(event.connection.api_versions_seen))
        for events in Analyzer().feed_each(block)
        for event in events
        if isinstance(event, Exchange)
    ]
    assert seen == [(3, [(3, 1)])] * 8 + [(12, [(3, 1), (12, 1)])] * 4 + [(3, [(3, 1), (12, 1)])] * 4


def test_what_came_before_an_error_is_given(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_info: object, api_key: int, _version: int) -> None:
        if api_key == 12:
            raise RuntimeError("on purpose")

    monkeypatch.setattr(handover, "_met", fails)
    talk = Conversation().handshake()
    for number, key in enumerate([3] * 8 + [12]):
        talk.client(request(key, 1, number, b"\0\0\0\0")).broker(response(number, bytes(8)))
    (block,) = blocks(damaged(talk.packets, []), [])
    found: list[Any] = []
    analyzer = Analyzer()
    with pytest.raises(RuntimeError, match="on purpose"):
        for events in analyzer.feed_each(block):
            found += events
    assert sum(isinstance(event, Exchange) for event in found) == 8
    assert analyzer.index == len(block) - 1  # the response to the request of the new kind


def test_numbers_are_those_of_python(native: Any) -> None:
    assert native.RECENT == (RECENT_BYTES, RECENT_SEGMENTS)
    assert native.TALK == (NO_RESPONSE_HOLD, ANSWERED_KEPT, KINDS_LENT)
