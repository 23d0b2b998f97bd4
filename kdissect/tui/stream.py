"""A connection's whole conversation as lines: requests and responses in the order in which they went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kdissect.decoders.tree import render
from kdissect.engine.exchange_trees import whole_tree
from kdissect.engine.log import ExchangeLog
from kdissect.engine.times import rfc3339
from kdissect.model.wording import plural
from kdissect.report.cells import Cell
from kdissect.report.durations import duration
from kdissect.schema.protocol_messages import api_name
from kdissect.tui.hexrows import hex_rows
from kdissect.tui.widgets.lines import Line

# Lines of one message; who wants to see all of it goes to the exchange.
MESSAGE_LINES = 40
HEX_BYTES = 512
FORMS = ("fields", "hex", "titles")


class Turnout(NamedTuple):
    """One message: the exchange it belongs to, and which side of it."""

    row: int
    side: str


def messages_of(log: ExchangeLog, connection: str) -> list[Turnout]:
    """The messages of a connection by the time of their first byte; requests before what answers them."""
    found = []
    for row in log.rows_of(connection):
        for order, side in enumerate(("request", "response")):
            if log.has_side(row, side):
                found.append((log.columns[f"{side}_time"][row], order, row, side))
    return [Turnout(row, side) for _, _, row, side in sorted(found, key=lambda each: each[:3])]


def message_lines(log: ExchangeLog, message: Turnout, form: str) -> Iterator[Line]:
    """A heading, then the content in one of `FORMS`. Raises nothing."""
    yield _title(log, message)
    if form != "titles":
        yield from _content(log, message, form)
        yield ()


def _title(log: ExchangeLog, message: Turnout) -> Line:
    row, side = message
    is_request = side == "request"
    arrow = "client >>>" if is_request else "<<< broker"
    size = log.bytes_on_wire(row, side) or 0
    time = rfc3339(log.columns[f"{side}_time"][row])[11:26]
    latency = log.latency_ns(row)
    behind = ""
    if not is_request and latency is not None:
        behind = f"  after {duration(latency)}"
    outcome = Cell("") if is_request else _errors(log, row)
    return (
        (f"{arrow}  ", side),
        (f"#{row + 1}  {time}  ", "dim"),
        (f"{_api(log, row)} {side}  {plural(size, 'byte')}{behind}", "bold"),
        (f"  {outcome.text}" if outcome.text else "", outcome.style),
    )


def _api(log: ExchangeLog, row: int) -> str:
    key = log.api_key(row)
    if key is None:
        return "SASL token" if log.is_token(row) else "unknown"
    return f"{api_name(key) or f'key {key}'} v{log.api_version(row)}"


def _errors(log: ExchangeLog, row: int) -> Cell:
    from kdissect.schema.error_codes import error_name

    errors = log.errors(row)
    return Cell(", ".join(str(error_name(code)) for code in errors), "bad") if errors else Cell("")


def _content(log: ExchangeLog, message: Turnout, form: str) -> Iterator[Line]:
    exchange = log.exchange(message.row)
    frame = exchange.request if message.side == "request" else exchange.response
    if frame is None or not frame.data:
        yield (("    its bytes cannot be had any more", "bad"),)
        return
    if form == "hex":
        from kdissect.tui.copies import content_bytes

        data = content_bytes(exchange, message.side, 0, HEX_BYTES)
        for line in hex_rows(data, 0, len(data)):
            yield (("    ", ""), *line)
        if len(frame.data) > HEX_BYTES:
            yield ((f"    ... {plural(len(frame.data) - HEX_BYTES, 'more byte')}", "dim"),)
        return
    tree = whole_tree(exchange, message.side, frame, lambda _info, number: log.topic_names.get(number))
    if tree is None:
        yield (("    the request is not known, so this cannot be decoded", "odd"),)
        return
    name_of = log.topic_names.get
    yield from _bounded(list(_tree_lines(render(tree, frame.data, topic_name=name_of))))


def _tree_lines(lines: Iterator[str]) -> Iterator[Line]:
    for line in lines:
        style = "bad" if line.lstrip().startswith("! ") else ""
        yield ((f"    {line}", style),)


def _bounded(lines: Sequence[Line]) -> Sequence[Line]:
    if len(lines) <= MESSAGE_LINES:
        return lines
    left_out = len(lines) - MESSAGE_LINES
    return [*lines[:MESSAGE_LINES], ((f"    ... {plural(left_out, 'more line')}", "dim"),)]
