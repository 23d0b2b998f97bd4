"""Exchanges as trees: one line for the exchange, then every field of request and response with its bytes."""

from collections.abc import Callable, Iterable, Iterator

from kdissect.cli.colour import paint
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.generated.values import Value
from kdissect.decoders.payloads.nesting import token_node
from kdissect.decoders.payloads.payload_text import PayloadText
from kdissect.decoders.payloads.scope import GUESSED, NEAR_SECRETS, Facts
from kdissect.decoders.trees.frame_text import tree_text
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_text import render
from kdissect.engine.exchange_rows import ExchangeRows, Row
from kdissect.engine.exchange_trees import nest_all_records
from kdissect.engine.payload_facts import payload_facts
from kdissect.engine.records.logged_sizes import tree_with_sizes
from kdissect.engine.records.record_values import RecordValues
from kdissect.model.frame import Frame
from kdissect.model.wording import plural
from kdissect.report.broker_times import broker_times
from kdissect.report.columns.exchanges import api_cell, outcome
from kdissect.report.printable import printable
from kdissect.report.quantities import duration
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo

_INDENT = "  "
_MARGIN = _INDENT * 2  # of a frame's lines


class TreeWriter:
    """Writes exchanges as trees. Offsets count from the end of the frame's 4-byte size."""

    def __init__(
        self,
        rows: ExchangeRows,
        show_secrets: bool,
        colour: bool,
        topic_name: Callable[[ConnectionInfo, bytes], str | None],
        records: bool = False,
        values: RecordValues | None = None,
    ) -> None:
        self._values = values
        self._records = records
        self._row = rows.row
        self.skip = rows.skip
        self._topic_name = topic_name
        self._show_secrets = show_secrets
        self._colour = colour

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def tail(self) -> bytes:
        """Nothing: every exchange went out at once."""
        return b""

    def line(self, exchange: Exchange) -> bytes:
        """Return the lines of one exchange, and an empty one after them."""
        row = self._row(exchange)
        anomalies = [f"{_INDENT}! {each['kind']}: {printable(each['detail'])}" for each in row["anomalies"]]
        parts = [_bytes([self._title(row), *(self._paint(line, "odd") for line in anomalies)])]
        if exchange.request is not None and (logged := exchange.logged) is not None:
            parts.append(_bytes([self._paint(f"{_INDENT}broker  {broker_times(logged)}", "dim")]))
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            if frame is not None:
                parts.append(_bytes([self._paint(f"{_INDENT}{_place(side, row, frame)}", "dim")]))
                parts.append(self._frame(exchange, side, frame))
        parts.append(b"\n")
        return b"".join(parts)

    def _title(self, row: Row) -> str:
        api, result = api_cell(row), outcome(row)
        parts = [
            self._paint(f"#{row['number']}", "bold"),
            f"{row['client']} > {row['broker']}",
            self._paint(api.text, api.style),
            f"correlation {row['correlation_id']}" if row["correlation_id"] is not None else "",
            printable(row["client_id"] or ""),
            self._paint(result.text, result.style),
            "" if row["latency_ns"] is None else duration(row["latency_ns"]),
        ]
        return _INDENT.join(part for part in parts if part)

    def _frame(self, exchange: Exchange, side: str, frame: Frame) -> bytes:
        """Return the lines of a frame, from the native engine if the frame is ordinary."""
        facts = payload_facts(exchange, side)
        # Near secrets a frame without a fault shows what it shows elsewhere.
        is_plain = facts.get(NEAR_SECRETS) != GUESSED and not self._records and frame.logged is None
        if is_plain and exchange.kind is ExchangeKind.KAFKA:
            text = self._native_text(exchange, side == "response", frame.data, facts)
            if text is not None:
                return text
        return _bytes(_MARGIN + line for line in self._frame_lines(exchange, side, frame, facts))

    def _native_text(self, exchange: Exchange, is_response: bool, data: bytes, facts: Facts) -> bytes | None:
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return None
        writer = tree_text(key, version, is_response, _MARGIN, self._show_secrets)
        message = known_body(key, version, is_response)
        if writer is None or message is None:
            return None

        def topic_name(topic_id: bytes) -> str | None:
            return self._topic_name(exchange.connection, topic_id)

        def body() -> Value | None:
            found = exchange.bodies()[is_response]
            return found.value if found is not None and found.fits else None

        payloads = PayloadText(message, version, data, facts, body, topic_name, _MARGIN, self._show_secrets)
        return writer.text(data, (0, len(data), 0), topic_name, payloads.text)

    def _frame_lines(self, exchange: Exchange, side: str, frame: Frame, facts: Facts) -> Iterator[str]:
        key, version, data = exchange.api_key, exchange.api_version, frame.data
        if exchange.kind is ExchangeKind.SASL_TOKEN:
            yield from self._render(exchange, token_node(data, facts), data)
        elif side == "request":
            node = dissect_request(data, size_prefixed=False, facts=facts)
            yield from self._render(exchange, node, data)
        elif key is None or version is None:
            yield f"{plural(len(data), 'byte')}: the request is not known, so the response cannot be decoded"
        else:
            yield from self._render(exchange, dissect_response(data, key, version, False, facts), data)

    def _render(self, exchange: Exchange, node: Node, data: bytes) -> Iterator[str]:
        def topic_name(topic_id: bytes) -> str | None:
            return self._topic_name(exchange.connection, topic_id)

        if exchange.connection.logged is not None:
            tree_with_sizes(node)
        if self._records:
            frame = exchange.response if node.name == "Response" else exchange.request
            if frame is not None and frame.data is data:
                nest_all_records(exchange, node, frame, self._topic_name, self._values)
        for line in render(node, data, show_secrets=self._show_secrets, topic_name=topic_name):
            yield self._paint(line, "bad") if line.lstrip().startswith("! ") else line

    def _paint(self, text: str, style: str) -> str:
        return paint(text, style) if self._colour else text


def _bytes(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _place(side: str, row: Row, captured: Frame) -> str:
    frame = row[side]
    packets = frame["packets"]
    if captured.logged is not None:
        return f"{side}  {frame['time']}  line {packets['first']} of {printable(packets['file'])}"
    numbers = str(packets["first"])
    if packets["last"] != packets["first"] or "last_file" in packets:
        numbers = f"{numbers} to {printable(packets.get('last_file', ''))} {packets['last']}".replace(
            "  ", " "
        )
    return (
        f"{side}  {frame['time']}  {plural(frame['bytes'], 'byte')}  "
        f"packet {numbers} of {printable(packets['file'])}"
    )
