"""Compiled lines are those that Python makes, whatever the exchanges hold."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.cli.formats import ColumnFormat
from kdissect.cli.formats.csv import CsvFormat
from kdissect.cli.formats.exchanges_as_rows import RowWriter
from kdissect.cli.formats.json_lines.fast_lines import FastLines
from kdissect.cli.formats.jsonl import JsonFormat
from kdissect.cli.formats.text_table import TableFormat, chosen_columns
from kdissect.cli.formats.tsv import TsvFormat
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.encoder import encode
from kdissect.engine.exchange_rows import ExchangeRows, TopicsOf, wire_topics
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.model.packets.packet import packet_ref
from kdissect.report.columns.exchanges import exchange_columns
from kdissect.report.quantities import duration
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo
from tests.support.console import CAPTURES

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

FILES = ["plain.pcap", 'a "quoted"\n\\ 100%d name é.pcap', "-"]
PRODUCE, METADATA, API_VERSIONS, DESCRIBE_CLUSTER = 0, 3, 18, 60
LAST_SECOND = 2**63 - 1
NAMES = [b"orders", b'a"%b\n', "é".encode(), b"\xff\xfe", b"", b"__cluster_metadata"]


def asked_for(name: bytes) -> bytes:
    """Return a Metadata request of version 1 for a topic."""
    return b"\0\0\0\x01" + len(name).to_bytes(2) + name


ASKED = [*map(asked_for, NAMES), b"\0\0\0\0", asked_for(b"cut")[:-1], asked_for(b"long") + b"\0"]
ANSWERED = [
    encode(body_message(METADATA, 1, True), 1, {"topics": [{"name": "t", "error_code": code}]})
    for code in (0, 3, -1, 999)
] + [b"", b"\0\0\0\0" * 3]
CONNECTIONS = [
    ConnectionInfo(f"{number:016x}", name, Endpoint("10.0.0.1", number), Endpoint("::1", 9092), 0)
    for number, name in enumerate(["", 'set "%s"'])
]

times = st.sampled_from(
    [0, 1, 999_999_999, 10**9, 1_700_000_000_123_456_789, 1_700_000_000_999_999_999, LAST_SECOND, 2**63, -5]
) | st.integers(0, 2**62)
numbers = st.sampled_from([1, 2, 2**30 - 1, 2**30, 2**39]) | st.integers(1, 2**20)
refs = st.builds(packet_ref, st.sampled_from([0, 0, 0, 1, 2]), numbers)


@st.composite
def frames(draw: st.DrawFn, bodies: list[bytes]) -> Frame:
    data = bytes(8) + draw(st.sampled_from(bodies) | st.binary(max_size=40))
    first, time_ns = draw(refs), draw(times)
    size = len(data) + draw(st.sampled_from([0, 0, 0, 0, 7]))
    last = draw(st.sampled_from([first, first + 3]) | refs)
    return Frame(data, size, first, last, time_ns, draw(st.just(time_ns) | times))


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    exchange = Exchange(draw(st.sampled_from(CONNECTIONS)), draw(st.integers(0, 2 * 10**9)))
    exchange.api_key = draw(st.sampled_from([METADATA] * 6 + [PRODUCE, API_VERSIONS, DESCRIBE_CLUSTER, 99]))
    exchange.api_version = draw(st.sampled_from([1, 1, 1, 7, 12]))
    exchange.correlation_id = draw(st.integers(-(2**31), 2**31 - 1))
    exchange.client_id = draw(st.sampled_from([None, "", "client %d", 'a "b"\n']))
    exchange.state = draw(st.sampled_from([State.COMPLETE] * 6 + list(State)))
    exchange.kind = draw(st.sampled_from([ExchangeKind.KAFKA] * 6 + [ExchangeKind.SASL_TOKEN]))
    exchange.request = draw(frames(ASKED))
    if exchange.state is State.COMPLETE or draw(st.booleans()):
        exchange.response = draw(frames(ANSWERED))
    exchange.request_body_offset = draw(st.sampled_from([8, 8, 8, 0, 60]))
    exchange.response_body_offset = 8
    return exchange


def plain_lines(made: list[Exchange], **options: Any) -> list[bytes]:
    lines = FastLines(FILES, **options)
    return [lines.line_of(exchange, number) for number, exchange in enumerate(made, 1)]


@pytest.mark.exhaustive
@settings(max_examples=100, deadline=None)
@given(st.lists(exchanges(), max_size=8))
def test_any_exchanges(made: list[Exchange]) -> None:
    expected = plain_lines(made)
    lines = FastLines(FILES)
    for exchange, line in zip(made, expected, strict=True):
        assert lines.line(exchange) == line
    held = FastLines(FILES)
    assert held.filler is not None
    size = held.filler.hold([*made])
    assert held.filler.take() == b"".join(expected)
    assert size == sum(map(len, expected))
    assert held.number == lines.number == len(made)
    assert held.filler.take() == b""


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", sorted(map(str, CAPTURES.glob("*.pcap*"))))
def test_real_exchanges(path: str) -> None:
    first, second, third = (Dissection(path) for _ in range(3))
    plain = FastLines(first.file_names, first.topics.topics_of)
    lines = FastLines(second.file_names, second.topics.topics_of)
    held = FastLines(third.file_names, third.topics.topics_of)
    expected = [plain.line_of(exchange, number) for number, exchange in enumerate(first, 1)]
    assert list(map(lines.line, second)) == expected
    assert held.filler is not None
    for events in third.batches():
        held.filler.hold(events)
    assert held.filler.take() == b"".join(expected)


def whole(name: str = "orders", state: State = State.COMPLETE) -> Exchange:
    """Return one that fills a template."""
    exchange = Exchange(CONNECTIONS[0], 1, METADATA, 1, 7, "client")
    exchange.request = Frame(bytes(8) + asked_for(name.encode()), 8 + 6 + len(name), 1, 1, 10**18, 10**18)
    if state is State.COMPLETE:
        exchange.response = Frame(bytes(8) + ANSWERED[0], 8 + len(ANSWERED[0]), 2, 3, 10**18 + 5, 10**18 + 9)
    exchange.request_body_offset = exchange.response_body_offset = 8
    exchange.state = state
    return exchange


class Counted(FastLines):
    """Counts what is left to Python."""

    left = 0

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """Left to Python."""
        self.left += 1
        return super().line_of(exchange, number)


@pytest.mark.parametrize("state", [State.COMPLETE, State.NO_RESPONSE_EXPECTED])
def test_what_is_not_unusual_is_compiled(state: State) -> None:
    lines = Counted(FILES)
    for name in ("one", "two", "one"):
        lines.line(whole(name, state))
    assert lines.left == 0
    odd = whole(state=state)
    odd.note(AnomalyKind.LIMIT_REACHED, "odd")
    lines.line(odd)
    assert lines.left == 1


COLUMNS = [
    "number", "client", "processes.pod", "client_id", "api", "state", "latency_ns", "request.packets.file",
    "request.packets.first", "response.packets.last", "request.packets.last_file", "request.time",
    "response.time", "request.time_ns", "response.end_time_ns", "request.captured", "response.bytes",
    "errors", "topics", "topic_ids", "closed.how", "anomalies.kind", "correlation_id", "exchange",
    "connection",
]  # fmt: skip
FORMS: dict[str, Callable[[], ColumnFormat]] = {
    "tsv": lambda: TsvFormat(COLUMNS, header=True),
    "csv": lambda: CsvFormat(COLUMNS, header=True),
    "csv of one column": lambda: CsvFormat(["latency_ns"], header=True),
    "jsonl": lambda: JsonFormat(COLUMNS, for_terminal=False),
    "jsonl on a terminal": lambda: JsonFormat(COLUMNS, for_terminal=True),
    "table": lambda: TableFormat(exchange_columns(), True, None, True, 1),
    "narrow table": lambda: TableFormat(exchange_columns(), False, 70, True, 3),
    "table of chosen columns": lambda: TableFormat(chosen_columns(COLUMNS), True, 400, True, 2),
    "table that ends with numbers": lambda: TableFormat(chosen_columns(COLUMNS[:7]), False, 60, True, 2),
    "whole rows": lambda: JsonFormat([], for_terminal=False),
    "structs": lambda: TsvFormat(["number", "request"], header=True),
}

# Rows that a table is given its widths by.
SAMPLES = {"table": 1, "narrow table": 3, "table of chosen columns": 2, "table that ends with numbers": 2}


class CountedRows(RowWriter):
    """Counts what is left to Python."""

    left = 0

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """Left to Python."""
        self.left += 1
        return super().line_of(exchange, number)


def rows_of(form: str, files: Sequence[str] = FILES, topics_of: TopicsOf = wire_topics) -> CountedRows:
    return CountedRows(ExchangeRows(files, topics_of=topics_of), FORMS[form](), files, False)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30, deadline=None)
@given(made=st.lists(exchanges(), max_size=8))
def test_rows_of_any_exchanges(form: str, made: list[Exchange]) -> None:
    python, held, single = (rows_of(form) for _ in range(3))
    expected = [python.line_of(exchange, number) for number, exchange in enumerate(made, 1)]
    assert held.filler is not None
    held.filler.hold([*made])
    assert held.filler.take() + held.tail() == b"".join(expected) + python.tail()
    assert list(map(single.line, made)) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_real_exchanges(form: str) -> None:
    for path in sorted(map(str, CAPTURES.glob("*.pcap*")))[::4]:
        first, second = Dissection(path), Dissection(path)
        python = rows_of(form, first.file_names, first.topics.topics_of)
        held = rows_of(form, second.file_names, second.topics.topics_of)
        expected = [python.line_of(exchange, number) for number, exchange in enumerate(first, 1)]
        assert held.filler is not None
        for events in second.batches():
            held.filler.hold(events)
        assert held.filler.take() + held.tail() == b"".join(expected) + python.tail()


@pytest.mark.parametrize("form", sorted({*FORMS} - {"whole rows", "structs"}))
@pytest.mark.parametrize("state", [State.COMPLETE, State.NO_RESPONSE_EXPECTED])
def test_rows_are_compiled_once_their_columns_are_known(form: str, state: State) -> None:
    rows = rows_of(form)
    for name in ("one", "two", "three", "four", "one"):
        rows.line(whole(name, state))
    assert rows.left == SAMPLES.get(form, 0)


def test_connections_are_written_as_the_writer_wants_them() -> None:
    """What a connection keeps for the lines of one writer is not what another one writes."""
    exchange = whole()
    tsv, json = rows_of("tsv"), FastLines(FILES)
    assert tsv.line(exchange) == rows_of("tsv").line_of(exchange, 1)
    assert json.line(exchange) == plain_lines([exchange])[0]
    assert tsv.line(exchange) == rows_of("tsv").line_of(exchange, 2)
    assert pickle.loads(pickle.dumps(exchange.connection)).id == exchange.connection.id


@pytest.mark.parametrize("latency_ns", [
    0, 499, 500, 1500, 2500, 999_499, 999_500, 999_999, 1_000_000, 1_005_000, 1_015_000, 2_675_000,
    999_994_999, 999_995_000, 999_999_999, 10**9, 1_125_000_000, 599_999_999_999, 600 * 10**9, 7500 * 10**9,
    -1500, -(10**12),
])  # fmt: skip
def test_response_times_as_people_read_them(latency_ns: int) -> None:
    exchange = whole()
    assert exchange.response is not None
    exchange.response.time_ns = exchange.response.end_time_ns = 10**18 + latency_ns
    rows, python = rows_of("table"), rows_of("table")
    expected = [python.line_of(exchange, number) for number in (1, 2)]
    assert [rows.line(exchange), rows.line(exchange)] == expected
    assert duration(latency_ns).encode() in expected[1]


def test_names_that_are_learned_are_asked_for_each_time() -> None:
    asked: list[str] = []

    def topics_of(exchange: Exchange, *_summaries: Any) -> tuple[str, ...]:
        asked.append(exchange.connection.id)
        return (f"name {len(asked)}",)

    lines = FastLines(FILES, topics_of)
    found = [lines.line(whole("__cluster_metadata")) for _ in range(3)]
    assert [b'"name %d"' % number in line for number, line in enumerate(found, 1)] == [True] * 3


def test_what_python_raises_comes_through_and_what_is_held_stays() -> None:
    def topics_of(*_of: Any) -> tuple[str, ...]:
        raise KeyboardInterrupt

    lines = FastLines(FILES, topics_of).filler
    assert lines is not None
    with pytest.raises(KeyboardInterrupt):
        lines.hold([whole(), whole("__cluster_metadata"), whole()])
    assert lines.take() == plain_lines([whole()])[0]


def test_other_events_have_no_line() -> None:
    lines = FastLines(FILES).filler
    assert lines is not None
    assert lines.hold([CONNECTIONS[0], None]) == 0  # type: ignore[list-item]
    assert lines.number == 0


def test_many_connections_and_names() -> None:
    """More than are kept begin anew."""
    plain, lines = FastLines(FILES), FastLines(FILES)
    for number in range(9000):
        exchange = whole(f"t{number}")
        if number % 2:
            exchange.connection = ConnectionInfo(str(number), "", Endpoint("h", 1), Endpoint("h", 2), 0)
        assert lines.line(exchange) == plain.line_of(exchange, number + 1)
