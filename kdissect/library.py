"""The result of `kdissect.open`: exchanges as objects, and the output of the commands as tables.

A table is rows of plain values (`dict`, `list`, `int`, `str`, `bool`, `float`, `None`) under the names of the
JSON that the command of the same name prints, and becomes Arrow, pandas or Polars where these are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

from kdissect import api
from kdissect.capture.files import Captures, refusal
from kdissect.engine.connection_rows import connection_row
from kdissect.engine.listed_rows import ListedRows
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.engine.unread import Unread
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.errors import KdissectError
from kdissect.model.extras import are_installed, how_to_install
from kdissect.model.wording import plural
from kdissect.report.json import finding_row
from kdissect.report.printable import whole_text
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.stats.dimensions import DIMENSIONS, Context, key_maker
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import traffic_facts

if TYPE_CHECKING:  # extras
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Row = dict[str, Any]
_POINTS = 1  # of what is over time, which rows do not have
_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 80
_ARROW, _PANDAS, _POLARS = "pyarrow", "pandas", "polars"


class Table(Sequence[Row]):
    """Rows of one kind, in memory. `name` says which."""

    def __init__(self, name: str, rows: Sequence[Row]) -> None:
        self.name = name
        self.rows = rows
        """The rows, as plain values."""

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{self.name}: {plural(len(self.rows), 'row')}>"

    @property
    def columns(self) -> list[str]:
        """Names of the columns: those of any row, in the order in which they come."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def to_arrow(self) -> pa.Table:
        """As a table of Arrow. Raises KdissectError where pyarrow is not installed."""
        _need(_ARROW, how_to_install("arrow"))
        import pyarrow as pa  # an extra

        columns = self.columns
        return pa.Table.from_pylist([_plain({name: row.get(name) for name in columns}) for row in self.rows])

    def to_pandas(self) -> pd.DataFrame:
        """As a data frame of pandas. Raises KdissectError where it is not installed."""
        _need(_PANDAS, "pip install pandas")
        import pandas as pd  # no dependency

        return pd.DataFrame([_plain(row) for row in self.rows], columns=self.columns)

    def to_polars(self) -> pl.DataFrame:
        """As a data frame of Polars. Raises KdissectError where it is not installed."""
        _need(_POLARS, "pip install polars")
        import polars as pl  # no dependency

        return pl.DataFrame([_plain(row) for row in self.rows], infer_schema_length=None)

    def _repr_html_(self) -> str:
        """Return the first rows, for notebooks."""
        columns = self.columns
        head = "".join(f"<th>{_cell(name)}</th>" for name in columns)
        shown = self.rows[:_SHOWN_ROWS]
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(row.get(name))}</td>' for name in columns)}</tr>" for row in shown
        )
        more = len(self.rows) - len(shown)
        rest = f"<p>and {plural(more, 'row')} more</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class Dissection:
    """The exchanges of one or more captures, read as they are asked for, and tables of their contents.

    Iteration yields `Exchange` objects in the order of their completion; it works once. Each table reads the
    captures again, so tables are for files: of a stream there is one, or the exchanges.
    """

    def __init__(self, make: Callable[[], api.Dissection]) -> None:
        self._make = make
        self._reading = make()
        self._is_used = False

    @property
    def captures(self) -> Captures:
        """The inputs: `captures.files`, and `captures.errors` once they were read."""
        return self._reading.captures

    @property
    def file_names(self) -> list[str]:
        """Names of the inputs, by file index."""
        return self._reading.file_names

    @property
    def topic_names(self) -> TopicNames:
        """Names of topic ids, as far as the captures contain them."""
        return self._reading.topics

    @property
    def is_over(self) -> bool:
        """Whether the inputs were read to their ends."""
        return self._reading.is_over

    def __iter__(self) -> Iterator[Exchange]:
        self._is_used = True
        return iter(self._reading)

    def events(self) -> Iterator[Event]:
        """Return everything that happens: exchanges, connections that open and close."""
        self._is_used = True
        return self._reading.events()

    def unread(self) -> Unread:
        """Return what could not be looked into, as far as the inputs are read."""
        return self._reading.unread()

    # Tables.

    def exchanges(self, *, bodies: bool = False) -> Table:
        """Return a row for each exchange, as `kdissect inspect --format jsonl`; with what the messages say,
        if `bodies`. Secrets are masked.
        """
        reading = self._read_again()
        rows = ListedRows(reading.file_names, bodies, False, reading.topics.topics_of)
        return Table("exchanges", [rows.row(exchange) for exchange in reading])

    def connections(self) -> Table:
        """Return a row for each TCP connection, as `kdissect connections`."""
        found: list[Row] = []
        for event in self._read_again().events():
            if isinstance(event, ConnectionClosed):
                found.append(connection_row(len(found) + 1, event.connection))
        return Table("connections", found)

    def records(self) -> Table:
        """Return a row for each record in Produce requests and Fetch responses, as `kdissect records`."""
        reading = self._read_again()

        def topic_name(records: RecordSet) -> str | None:
            section = records.records_field
            if section.topic is not None or section.topic_id is None:
                return section.topic
            return reading.topics.name(records.exchange.connection, section.topic_id)

        rows = RecordRows(reading.file_names, topic_name=topic_name)
        pieces = SnapshotPieces()
        found: list[Row] = []
        for exchange in reading:
            reading.topics.pass_by(exchange)
            for records in record_sets(exchange):
                pieces.join(records)
                found += rows.rows(records, [])
        return Table("records", found)

    def stats(self, by: str | Sequence[str] = "api") -> Table:
        """Return counts, response times and sizes, a row for each value of `by`, as `kdissect stats --by`.

        Raises ValueError for a name that rows cannot be grouped by.
        """
        names = [by] if isinstance(by, str) else list(by)
        unknown = [name for name in names if name not in DIMENSIONS]
        if unknown or not names:
            raise ValueError(f"by {', '.join(unknown)!r}: names are {', '.join(DIMENSIONS)}")
        reading = self._read_again()
        context = Context.of(reading.topics, names)
        traffic = Traffic(key_maker(names, context), context.racks)
        for exchange in reading:
            view = ExchangeView(exchange)
            context.learn(view, names)
            traffic.add(view)
        return Table("stats", traffic_facts(traffic, names, None, _POINTS)["rows"])

    def topics(self) -> Table:
        """Return a row for each topic: who writes and reads it, how much, as `kdissect topics`."""
        reading = self._read_again()
        traffic = TopicTraffic(reading.topics)
        for exchange in reading:
            traffic.add(exchange)
        return Table("topics", topic_facts(traffic))

    def groups(self) -> Table:
        """Return a row for each group, with its members, rebalances and partitions, as `kdissect groups`."""
        reading = self._read_again()
        traffic = GroupTraffic(reading.topics)
        for exchange in reading:
            traffic.add(exchange)
        return Table("groups", group_facts(traffic))

    def producers(self) -> Table:
        """Return a row for each producer id, as `kdissect producers`."""
        reading = self._read_again()
        traffic = ProducerTraffic(reading.topics)
        for event in reading.events():
            traffic.add(event)
        traffic.finish()
        return Table("producers", producer_facts(traffic)["producers"])

    def check(self) -> Table:
        """Return a row for each finding of the rules of the protocol, loudest first, as `kdissect check`."""
        reading = self._read_again()
        judge = Judge()
        for event in reading.events():
            judge.add(event)
        judge.finish()
        verdict = Verdict(judge, quality_of(judge.coverage, 0, 0, False), reading.file_names)
        return Table("findings", [finding_row(finding, verdict) for finding in verdict.findings])

    def _read_again(self) -> api.Dissection:
        """Return the captures from their start. Raises KdissectError for a stream that was read."""
        if not self._is_used:
            self._is_used = True
            return self._reading
        if any(file.is_stream for file in self.captures.files):
            raise KdissectError("a stream can be read once: open a file for several tables")
        return self._make()


def open(  # noqa: A001 - the name a user looks for
    paths: api.Paths, ports: Iterable[int] = (), key_logs: Sequence[str] = (), only_ports: Iterable[int] = ()
) -> Dissection:
    """Dissect captures: `for exchange in kdissect.open("a.pcap"): ...`.

    `paths` is a file, a glob, a directory, `-` for standard input, or a list of these; `ports` are taken for
    Kafka brokers without detection; connections without one of `only_ports` are left out; `key_logs` are NSS
    key logs (SSLKEYLOGFILE) that open TLS.

    Raises CaptureError at once for an input that is missing, cannot be opened, or is no capture. What goes
    wrong further in ends that input only: it is in `.captures.errors` once the iteration is over, which warns
    of it with CaptureWarning.
    """
    taken, only, keys = tuple(ports), tuple(only_ports), tuple(key_logs)
    is_first = True

    def make() -> api.Dissection:
        nonlocal is_first
        dissection = api.Dissection(paths, taken, key_logs=keys, only_ports=only)
        dissection.warns, is_first = is_first, False
        return dissection

    opened = Dissection(make)
    for file in opened.captures.files:
        error = refusal(file)
        if error is not None:
            raise error
    return opened


def _need(module: str, how: str) -> None:
    if not are_installed(module):
        raise KdissectError(f"this needs {module}, which is not installed: {how}")


def _plain(value: Any) -> Any:
    """Return a value without types of ours, which are texts and mappings that other libraries do not know."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _cell(value: Any) -> str:
    text = "" if value is None else whole_text(str(value))
    shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
    return escape(shown)
