"""The compiled copier and the compiled plans write what Python writes, of whole and of damaged captures."""

from typing import Any

import pytest
from hypothesis import given

from kdissect.excerpt import plan_spool
from kdissect.excerpt.excerpt_reader import Tap
from kdissect.excerpt.find_frames import FrameSearch
from kdissect.model.packets.packet import PlainPacket
from tests.engine.test_in_order import CAPTURES, DAMAGE, SHIPPED, WHAT, damaged, large_frames, shipped
from tests.native import packets as asked
from tests.native.test_in_order import LINKS, SETTINGS, small_frames
from tests.support.python_side import PythonSide

EVERY = ()
KIND = ("-Y", "api == Fetch and broker.port == 9092 and client_id == null or api_version in (3..9)")
ONE = ("-Y", "correlation_id in (2, 5, 9)")
RECORDED = sorted(CAPTURES.glob("*.pcapng"), key=lambda path: path.stat().st_size)[:60:8]


def assert_same(side: PythonSide, files: list[list[PlainPacket]], *arguments: str) -> bytes:
    right = side.call(asked.extracted, files, *arguments)
    found = asked.extracted(files, *arguments)
    assert found == right
    return found[1]


@pytest.mark.parametrize("arguments", [EVERY, ONE])
@SETTINGS
@given(damage=DAMAGE)
def test_large_frames(python_side: PythonSide, damage: Any, arguments: tuple[str, ...]) -> None:
    assert_same(python_side, [damaged(large_frames(), damage)], *arguments)


@pytest.mark.parametrize("arguments", [EVERY, ONE])
@SETTINGS
@given(damage=DAMAGE)
def test_small_frames(python_side: PythonSide, damage: Any, arguments: tuple[str, ...]) -> None:
    assert_same(python_side, [damaged(small_frames(), damage)], *arguments)


@pytest.mark.parametrize("what", WHAT)
def test_each_damage_everywhere(python_side: PythonSide, what: str) -> None:
    for packets in (large_frames(), small_frames()):
        damage = [(at, what, 1 + at % 7) for at in range(3, len(packets), 9)]
        assert_same(python_side, [damaged(packets, damage)], *ONE)


@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_connections_damaged(python_side: PythonSide, name: str) -> None:
    damage = [(at * 37, what, 1 + at) for at, what in enumerate(WHAT * 3)]
    packets = damaged(shipped(name), damage)
    assert_same(python_side, [packets], "--api", "Fetch")
    assert_same(python_side, [packets], "--api", "Fetch", "--redact=secrets")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_files(python_side: PythonSide, path: Any) -> None:
    packets = shipped(str(path))
    assert_same(python_side, [packets])
    assert_same(python_side, [packets], "-Y", "exchange > 3")
    assert_same(python_side, [packets], *KIND)


@pytest.mark.parametrize(("expression", "most"), [("api == Fetch", 5), ("api == Fetch and latency >= 0", 0)])
def test_one_of_a_kind_is_asked_about(
    native: Any, expression: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a filter says of headers is asked once for all exchanges that are alike, the rest of each."""
    chosen: list[Any] = []
    choose = FrameSearch._choose

    def counted(search: FrameSearch, exchange: Any) -> int:
        chosen.append(exchange)
        return choose(search, exchange)

    monkeypatch.setattr(FrameSearch, "_choose", counted)
    asked.extracted([damaged(small_frames(), [])], "-Y", expression)
    assert 0 < len(chosen) <= most if most else len(chosen) > 40


@pytest.mark.parametrize("how", LINKS)
def test_links(python_side: PythonSide, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies before TCP, most packets are copied where they lie."""
    packets = damaged(asked.with_link(small_frames(), how), [])
    fed: list[Any] = []
    feed = Tap._feed_segment

    def counted(tap: Tap, *of: Any) -> None:
        fed.append(of)
        feed(tap, *of)

    monkeypatch.setattr(Tap, "_feed_segment", counted)
    assert_same(python_side, [packets], *ONE)
    assert 0 < len(fed) < len(packets) / 8


def test_several_sets_with_the_same_flows(python_side: PythonSide) -> None:
    """A flow of one set is not that of the other."""
    assert_same(python_side, [small_frames(), damaged(small_frames(), [(40, "lose", 1)])], *ONE)


def test_options_of_tcp(python_side: PythonSide) -> None:
    """Timestamps stay, selective acknowledgments become NOPs, whatever else stands there."""
    kinds = [b"\1\1\x08\x0aabcdefgh", b"\1\1\5\x0aabcdefgh", b"\5\x0aabcdefgh\5\2", b"\5\x14abcdefghij",
             b"\0\5\4abcdefghi", b"\x08\0abcdefghij", b"\1" * 11 + b"\5"]  # fmt: skip
    packets = []
    for at, (ref, time_ns, link, data, wire) in enumerate(small_frames()):
        options = kinds[at % len(kinds)]
        size = int.from_bytes(data[16:18]) + len(options)
        words = data[46] + (len(options) // 4 << 4)
        head = data[:16] + size.to_bytes(2) + data[18:46] + bytes((words,)) + data[47:54]
        packets.append((ref, time_ns, link, head + options + data[54:], wire + len(options)))
    written = assert_same(python_side, [packets])
    assert b"\1" * 12 in written
    assert kinds[0] in written


@pytest.mark.parametrize("most", [1, 400, 5000])
def test_plans_that_do_not_fit_into_memory(
    python_side: PythonSide, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = python_side.call(asked.extracted, [small_frames(), large_frames()])
    monkeypatch.setattr(plan_spool, "RUN_BYTES", most)
    assert asked.extracted([small_frames(), large_frames()]) == right


def test_plans_are_given_by_packet(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order in which they were added, to whoever comes late, too; compiled or not."""
    plans = [(file << 40 | number, at % 3) for at, (file, number) in enumerate(
        [(0, 9), (1, 2), (0, 3), (0, 9), (0, 3), (1, 2), (2, 1), (0, 4), (0, 3), (1, 7), (0, 9)]
    )]  # fmt: skip
    asked_for = [0 << 40 | 4, 1 << 40 | 1, 0 << 40 | 3, 0 << 40 | 3, 1 << 40 | 7, 1 << 40 | 2, 0 << 40 | 9]
    found = []
    for is_compiled in (True, False):
        monkeypatch.setattr(plan_spool, "is_compiled", is_compiled)
        monkeypatch.setattr(plan_spool, "RUN_BYTES", 120)
        spool = plan_spool.PlanSpool()
        for at, (ref, connection) in enumerate(plans):
            spool.add(plan_spool.FramePlan(ref, b"mark", 8, (), at, True, connection=connection))
        frames = spool.frames(bytes([1, 1, 0]))
        found.append([[plan.exchange for plan in frames.take(ref)] for ref in asked_for])
    assert found == [[[7], [], [4], [], [9], [1], [0, 3, 10]]] * 2


def test_plans_of_packets_that_are_gone_are_not_held_for_ever(
    native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that changed between the readings lacks packets."""
    monkeypatch.setattr(plan_spool, "MOST_WAITING", 3)
    for is_compiled in (True, False):
        monkeypatch.setattr(plan_spool, "is_compiled", is_compiled)
        spool = plan_spool.PlanSpool()
        for ref in range(10):
            spool.add(plan_spool.FramePlan(ref, b"mark", 8, (), ref, True))
        frames = spool.frames(b"\1")
        assert [len(frames.take(ref)) for ref in (9, 8, 5, 6, 7)] == [1, 1, 0, 1, 1]
