"""The fast way to a JSON line writes what the slow way writes, whatever the exchange holds."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.cli.formats.json_lines.fast_lines import FastLines
from kdissect.engine.listed_rows import ListedRows
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import packet_ref
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import Close, ConnectionInfo
from tests.support.console import CAPTURES

ALL = sorted(map(str, CAPTURES.glob("*.pcap")))
FILES = ["plain.pcap", 'a "quoted"\n\\ name é.pcap', "-"]
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
times = st.sampled_from([0, 1, 999_999_999, 10**9, 1_700_000_000_123_456_789, 2**62, -5]) | st.integers(
    0, 2**62
)
refs = st.builds(packet_ref, st.integers(0, 2), st.integers(1, 2**39))
# Bodies with topics, error codes and ids, good and cut: Metadata v0 and v12, Produce, FindCoordinator.
BODIES = [
    b"",
    bytes(4),
    b'\0\0\0\x01\0\x03a"b',
    b"\0\x0f\0\0\0\x01h\0\0\x23\x84",
    b"\x02\0\x05name",
    bytes(range(64)),
]


@st.composite
def frames(draw: st.DrawFn) -> Frame | None:
    if draw(st.integers(0, 5)) == 0:
        return None
    data = bytes(8) + draw(st.sampled_from(BODIES) | st.binary(max_size=60))
    first = draw(refs)
    frame = Frame(
        data,
        len(data) + draw(st.sampled_from([0, 0, 7])),
        first,
        draw(st.just(first) | refs),
        draw(times),
        draw(times),
    )
    if draw(st.booleans()):
        frame.note(Anomaly(draw(st.sampled_from(AnomalyKind)), draw(text)))
    return frame


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    capture_set = draw(text)  # goes into the identity of a connection
    connection = ConnectionInfo(
        capture_set.encode().hex(), capture_set, Endpoint("10.0.0.1", 1), Endpoint("::1", 9092), 0
    )
    exchange = Exchange(connection, draw(st.integers(0, 2 * 10**9)))
    exchange.kind = draw(st.sampled_from(ExchangeKind))
    exchange.state = draw(st.sampled_from(State))
    exchange.api_key = draw(st.none() | st.sampled_from([0, 1, 3, 10, 18, 99, -7]))
    exchange.api_version = draw(st.none() | st.integers(0, 14))
    exchange.correlation_id = draw(st.none() | st.integers(-(2**31), 2**31 - 1))
    exchange.client_id = draw(st.none() | text)
    exchange.request, exchange.response = draw(frames()), draw(frames())
    exchange.request_body_offset = exchange.response_body_offset = 8
    if draw(st.booleans()):
        exchange.close = Close(
            draw(st.sampled_from(["client", "broker", None])), draw(st.sampled_from(CloseKind)), 5
        )
    if draw(st.booleans()):
        exchange.note(draw(st.sampled_from(AnomalyKind)), draw(text))
    return exchange


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None)
@given(st.lists(exchanges(), max_size=4))
def test_any_exchange(made: list[Exchange]) -> None:
    fast, slow = FastLines(FILES), ListedRows(FILES)
    for exchange in made:
        assert fast.line(exchange) == orjson.dumps(slow.row(exchange), option=orjson.OPT_APPEND_NEWLINE)


@pytest.mark.parametrize("path", ALL)
def test_real_exchanges(path: str) -> None:
    dissection = Dissection(path)
    fast, slow = FastLines(dissection.file_names), ListedRows(dissection.file_names)
    for exchange in dissection:
        assert fast.line(exchange) == orjson.dumps(slow.row(exchange), option=orjson.OPT_APPEND_NEWLINE)


def test_caches_are_bounded() -> None:
    fast = FastLines(FILES)
    for number in range(20_000):
        exchange = Exchange(ConnectionInfo(str(number), "", Endpoint("h", 1), Endpoint("h", 2), 0), 0)
        exchange.client_id = str(number)
        fast.line(exchange)
    assert all(len(cache) < 5000 for cache in vars(fast).values() if isinstance(cache, dict))


def test_connections_share_what_their_requests_have_in_common() -> None:
    fast, slow = FastLines(FILES), ListedRows(FILES)
    for number in range(30):  # in turns between two files
        ends = Endpoint(f"10.0.0.{number}", 1), Endpoint("10.0.1.1", 9092)
        exchange = Exchange(ConnectionInfo(str(number), f"set {number % 2}", *ends, 0), 0, 18, 0, 1, "100%")
        exchange.state = State.COMPLETE
        frames = [
            Frame(bytes(8), 8, ref, ref, time_ns, time_ns)
            for ref, time_ns in ((packet_ref(number % 2, 2 * number + at), 10**18 + at) for at in (1, 2))
        ]
        exchange.request, exchange.response = frames
        exchange.request_body_offset = exchange.response_body_offset = 8
        assert fast.line(exchange) == orjson.dumps(slow.row(exchange), option=orjson.OPT_APPEND_NEWLINE)
    assert len(vars(fast)["_heads"]) == 1, "made once, not for each connection"
