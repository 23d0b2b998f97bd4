"""Statistics of blocks are those of exchanges one by one, to the last digit."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.cli.statistics.stats_command import count_blocks
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.summary import listed_role
from kdissect.history.state_table import Table
from kdissect.model.packets.packet import Packet
from kdissect.schema.protocol_messages import request_message
from kdissect.schema.types import Array, Struct
from kdissect.stats.by_group.group_links import GROUP_FIELDS, GroupLinks, names_groups
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.dimensions import Context, key_maker
from kdissect.stats.traffic import Traffic
from kdissect.stats.watermarks import Watermarks
from tests.engine.test_in_order import CAPTURES, DAMAGE, FLIPS, SHIPPED, damaged, flipped, shipped
from tests.native import traffic_said
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap
from tests.support.python_side import PythonSide

SETTINGS = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BY = (
    ["api"],
    ["api_version", "state"],
    ["client_id", "api"],
    ["connection"],
    ["client", "broker", "software"],
    ["error"],
    ["error", "api"],
    ["topic"],
    ["group"],
    ["topic", "broker"],
    ["group", "api"],
    ["client_rack", "broker_rack"],
    ["broker_rack", "topic"],
    ["cluster", "api"],
)
RECORDED = sorted(CAPTURES.glob("*.pcap*"))
FETCH = 1
NS = 1_000_000


def assert_same(side: PythonSide, paths: list[str], by: list[str], most: int = 1000) -> None:
    assert traffic_said.counted(paths, by, most) == side.call(traffic_said.counted, paths, by, most)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_files(python_side: PythonSide, path: Path) -> None:
    number = RECORDED.index(path)
    assert_same(python_side, [str(path)], BY[number % len(BY)])


def test_a_cluster_that_is_known_later(python_side: PythonSide, tmp_path: Path) -> None:
    """Connections were lent before a client that is sent to the wrong cluster shows which one is theirs."""
    paths = [str(CAPTURES / name) for name in ("tansu_rdk216_txn.pcap", "kafka44_misrouted.pcapng")]
    packets = (packet for path in paths for packet in open_captures([path]).packets())
    path = write_pcap(tmp_path / "merged.pcap", sorted(packets, key=lambda packet: packet.time_ns))
    for by in (["cluster", "topic"], ["cluster"]):
        assert_same(python_side, [path], by)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("by", BY, ids=",".join)
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_dimensions_and_few_rows(python_side: PythonSide, by: list[str], most: int) -> None:
    for name in (*SHIPPED, "kafka44_java_errors.pcapng"):
        assert_same(python_side, [str(CAPTURES / name)], by, most)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("expression", [
    "api == Fetch", "version > 3 and not api == Metadata", 'client_id contains "a"', "broker == 10.9.9.9",
])  # fmt: skip
@pytest.mark.parametrize("by", BY, ids=",".join)
def test_filters_by_kind(python_side: PythonSide, by: list[str], expression: str) -> None:
    for name in (*SHIPPED, "kafka44_java_errors.pcapng"):
        arguments = [str(CAPTURES / name)], by, 1000, expression
        assert traffic_said.counted(*arguments) == python_side.call(traffic_said.counted, *arguments)


def test_a_filter_by_kind_is_asked_once_a_kind(native: Any) -> None:
    asked: list[tuple[Any, ...]] = []

    def takes(exchange: Any) -> bool:
        asked.append((exchange.connection.id, exchange.api_key, exchange.api_version, exchange.client_id))
        return len(asked) % 2 == 0

    dissection = Dissection(str(CAPTURES / "kafka44_java_errors.pcapng"))
    context = Context(dissection.topics, GroupLinks())
    traffic = Traffic(key_maker(["api"], context))
    count_blocks(dissection, BlockCounter(traffic, ["api"], context, takes), traffic.add)
    exchanges = sum(1 for _ in Dissection(str(CAPTURES / "kafka44_java_errors.pcapng")))
    assert 0 < traffic.total.exchanges < exchanges
    assert len(asked) < exchanges


def test_files_read_together(python_side: PythonSide) -> None:
    assert_same(python_side, [str(CAPTURES / name) for name in SHIPPED], ["api"])


@SETTINGS
@given(damage=DAMAGE, name=st.sampled_from(SHIPPED), by=st.sampled_from(BY))
def test_damaged_captures(
    python_side: PythonSide, tmp_path: Path, damage: Any, name: str, by: list[str]
) -> None:
    path = write_pcap(tmp_path / "damaged.pcap", map(Packet._make, damaged(shipped(name), damage)))
    assert_same(python_side, [path], by)


@SETTINGS
@given(flips=FLIPS, name=st.sampled_from(SHIPPED))
def test_damaged_bodies(python_side: PythonSide, tmp_path: Path, flips: Any, name: str) -> None:
    path = write_pcap(tmp_path / "damaged.pcap", map(Packet._make, flipped(shipped(name), flips)))
    assert_same(python_side, [path], ["api"])


small = st.integers(-1, 3)
parts = st.tuples(small, small, small, small, small, st.sampled_from([None, b"", b"x"]))
fetches = st.tuples(
    st.sampled_from([1, 4, 7, 11, 12, 13, 17]),
    st.sampled_from([0, 1, 5, 500, -1]),  # max wait
    st.sampled_from([0, 1, 2]),  # min bytes
    st.sampled_from([0, 1]),
    st.sampled_from([0, 0, 1, 30, -5]),  # throttle
    st.sampled_from([0, 0, 0, 70, -1]),
    st.sampled_from([0, 7]),  # session
    st.lists(parts, max_size=4),
    st.lists(parts, max_size=4),
    st.integers(0, 600) | st.sampled_from([10**7, 1]),  # milliseconds until the answer
)


@cache
def body(version: int, is_response: bool, *values: Any) -> bytes:
    found = dict(values)
    return encode(body_message(FETCH, version, is_response), version, {k: thaw(v) for k, v in found.items()})


def thaw(value: Any) -> Any:
    """Return what was frozen for the cache: rows as tuples of pairs."""
    if isinstance(value, tuple):
        return [{key: thaw(each) for key, each in row} for row in value]
    return value


def topic_rows(version: int, rows: list[tuple[tuple[str, Any], ...]]) -> Any:
    topic = ("topic_id", b"\1" * 16) if version >= 13 else ("topic", "t")
    return ((topic, ("partitions", tuple(rows))),) if rows else ()


def conversation(asked: list[Any]) -> Conversation:
    """Return Fetches with their responses."""
    talk = Conversation().handshake()
    for number, one in enumerate(asked):
        version, wait, least, isolation, throttle, error, session, sent, answered, late = one
        wanted = [(("partition", of[0]), ("fetch_offset", of[1])) for of in sent]
        ask = [("max_wait_ms", wait), ("min_bytes", least), ("topics", topic_rows(version, wanted))]
        given_back = [
            (("partition_index", of[0]), ("error_code", of[1]), ("high_watermark", of[2]), ("records", of[5]))
            + ((("last_stable_offset", of[3]),) if version >= 4 else ())
            for of in answered
        ]
        answer = [("throttle_time_ms", throttle), ("responses", topic_rows(version, given_back))]
        if version >= 4:
            ask.append(("isolation_level", isolation))
        if version >= 7:
            answer += [("error_code", error), ("session_id", session)]
        tags = b"\0" if version >= 12 else b""
        talk.client(request(FETCH, version, number, tags + body(version, False, *ask)))
        talk.now += late * NS + number
        talk.broker(response(number, tags + body(version, True, *answer)))
    return talk


@SETTINGS
@given(st.lists(fetches, max_size=30))
def test_fetches(python_side: PythonSide, tmp_path: Path, asked: list[Any]) -> None:
    path = write_pcap(tmp_path / "fetches.pcap", conversation(asked).packets)
    assert_same(python_side, [path], ["api"])


@SETTINGS
@given(st.lists(st.integers(0, 62).flatmap(lambda bits: st.integers(0, 1 << bits)), max_size=60))
def test_any_response_times(python_side: PythonSide, tmp_path: Path, times: list[int]) -> None:
    """Each is in the bin in which Python has it."""
    talk = Conversation().handshake()
    for number, time_ns in enumerate(times):
        talk.client(request(3, 1, number, b"\0\0\0\0"))
        talk.now += time_ns % (29 * 60 * 10**9)
        talk.broker(response(number, bytes(12)))
    path = write_pcap(tmp_path / "times.pcap", talk.packets)
    assert_same(python_side, [path], ["api"])


keys = st.tuples(
    st.sampled_from(["", "a"]), st.sampled_from(["t", "u", b"t" * 16]), st.integers(-1, 2), st.booleans()
)


@SETTINGS
@given(st.lists(st.tuples(st.booleans(), keys, st.integers(0, 9), st.integers(-1, 5)), max_size=200))
def test_watermarks(native: Any, steps: list[Any]) -> None:
    """Those used last are kept."""
    plain, compiled = Watermarks(), native.Watermarks(3)
    plain._known = Table(3)
    for learns, key, time_ns, offset in steps:
        if learns:
            plain.learn(key, time_ns, offset)
            compiled.learn(key, time_ns, offset)
        assert compiled.at(key, time_ns) == plain.at(key, time_ns)


@pytest.mark.parametrize("by", [["api"], ["connection"], ["topic"], ["group"]], ids=",".join)
@pytest.mark.parametrize("name", SHIPPED)
def test_most_exchanges_are_counted_as_rows(native: Any, name: str, by: list[str]) -> None:
    """Or the tests above compare one way with itself."""
    looked, exchanges = traffic_said.looked_at(str(CAPTURES / name), by)
    assert looked < exchanges / 2


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
@pytest.mark.parametrize("by", [["group"], ["group", "topic"]], ids=",".join)
def test_groups_of_all_recorded_files(python_side: PythonSide, path: Path, by: list[str]) -> None:
    assert_same(python_side, [str(path)], by)


def test_what_members_say_again_is_counted_as_rows(native: Any) -> None:
    looked, exchanges = traffic_said.looked_at(str(CAPTURES / GROUPS), ["group"])
    assert looked < exchanges / 4


def test_requests_that_name_other_groups_are_told_apart() -> None:
    """By what the compiled part reads of them."""
    keys = [key for key in range(256) if names_groups(key)]
    assert len(keys) > 10
    for key in keys:
        message = request_message(key)
        assert message is not None
        for field in message.root.fields:
            if field.name in GROUP_FIELDS:
                inner = field.type.element if isinstance(field.type, Array) else field.type
                parts = inner.fields if isinstance(inner, Struct) else [field]
                assert any(listed_role(message, part) == "group" for part in parts), (key, field.name)


def test_share_fetches_are_counted_as_rows(native: Any, python_side: PythonSide) -> None:
    path = str(CAPTURES / "kafka44_java_share.pcapng")
    looked, exchanges = traffic_said.looked_at(path, ["api"])
    assert looked < exchanges / 4
    assert_same(python_side, [path], ["api"])


@pytest.mark.parametrize("version", [1, 4, 7, 12, 13, 17])
def test_fetches_are_counted_as_rows(native: Any, version: int, tmp_path: Path) -> None:
    part = (0, 0, 2, 2, 0, b"x")
    asked = [(version, 500, 1, 0, 0, 0, 7, [part], [part], 3)] * 20
    path = write_pcap(tmp_path / "fetches.pcap", conversation(asked).packets)
    looked, exchanges = traffic_said.looked_at(path, ["api"])
    assert exchanges == 20
    assert looked < 5


def test_many_error_codes(python_side: PythonSide, tmp_path: Path) -> None:
    """More than are told apart at once."""
    talk = Conversation().handshake()
    for number, count in enumerate((1, 2, 63, 64, 65, 200, 3)):
        rows = [{"name": "t", "error_code": code + 1} for code in range(count)]
        talk.client(request(3, 1, number, b"\0\0\0\0"))
        talk.broker(response(number, encode(body_message(3, 1, True), 1, {"topics": rows})))
    assert_same(python_side, [write_pcap(tmp_path / "errors.pcap", talk.packets)], ["api"])


def test_an_answer_before_its_question(python_side: PythonSide, tmp_path: Path) -> None:
    """Two clocks: the latency is 0, but none of the wait went by."""
    asked = [(11, wait, 1, 0, 0, 0, 7, [], [], -5) for wait in (0, 0, 1, -1)]
    path = write_pcap(tmp_path / "clocks.pcap", conversation([*asked, *asked]).packets)
    assert_same(python_side, [path], ["api"])


GROUPS = "kafka44_java_groups.pcapng"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*SHIPPED, "kafka44_java_errors.pcapng", GROUPS])
def test_ways_counted_together_are_those_counted_alone(native: Any, name: str) -> None:
    """Rows that are left out, too."""
    ways = ["api"], ["client_id"], ["broker"], ["software"], ["connection"], ["topic"], ["group"]
    path = str(CAPTURES / name)
    for most in (2, 1000):
        alone = [traffic_said.counted([path], by, most) for by in ways]
        assert traffic_said.counted_together(path, ways, most) == alone
