"""What can be copied of an exchange: JSON, hex, Python bytes, a command that decodes it again.

Secrets are blanked, as they are masked on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import NamedTuple

from kdissect.engine.nested_records import nest_batches
from kdissect.engine.patches import patched
from kdissect.engine.record_rows import TopicNames
from kdissect.engine.rows import ExchangeRows, TopicsOf
from kdissect.engine.secret_bytes import secret_patches
from kdissect.model.frame import Frame
from kdissect.report.printable import terminal_json
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, ExchangeKind

SIDES = ("request", "response")
# Beyond it a command takes its hex from a here-document: one argument of a command is at most 128 KiB long
# (MAX_ARG_STRLEN of Linux).
LONGEST_ARGUMENT = 100_000
_COLUMNS = 64  # bytes in a line of a here-document


class NothingToCopyError(Exception):
    """There are no such bytes; the message says why, in one line."""


class Names(NamedTuple):
    """What rows need to know: `files` by index, the topics of an exchange, names of topic ids."""

    files: Sequence[str]
    topics_of: TopicsOf
    topic_name: TopicNames | None


def json_line(exchange: Exchange, number: int, names: Names, show_secrets: bool = False) -> str:
    """The line of `kdissect inspect --bodies --records --format jsonl`."""
    import orjson

    def nest(row: dict[str, object], inner: Exchange) -> list[object]:
        return list(nest_batches(row, inner, show_secrets, names.topic_name))

    rows = ExchangeRows(names.files, True, show_secrets, names.topics_of, nest)  # type: ignore[arg-type]
    row = rows.row(exchange)
    row["number"] = number
    return terminal_json(orjson.dumps(row, default=str)).decode()


def frame_bytes(exchange: Exchange, side: str, show_secrets: bool = False) -> bytes:
    """A frame as on the wire, its size first. Raises NothingToCopyError."""
    frame = _frame(exchange, side)
    return frame.size.to_bytes(4) + content_bytes(exchange, side, 0, len(frame.data), show_secrets)


def content_bytes(exchange: Exchange, side: str, start: int, end: int, show_secrets: bool = False) -> bytes:
    """Bytes `start` to `end` of a frame's content behind its size. Raises NothingToCopyError."""
    frame = _frame(exchange, side)
    patches = [] if show_secrets else secret_patches(exchange, side)
    return patched(frame.data, patches, start, end)


def hex_text(data: bytes) -> str:
    """Hex digits without anything between."""
    return data.hex()


def python_text(data: bytes) -> str:
    """A bytes literal."""
    return repr(data)


def decode_command(exchange: Exchange, side: str, show_secrets: bool = False) -> str:
    """A command line for a shell that shows the frame as a tree. Raises NothingToCopyError."""
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        raise NothingToCopyError("a bare SASL token is no frame that `kdissect decode` takes")
    command = ["kdissect", "decode", "--records"]
    if side == "response":
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            raise NothingToCopyError("nobody knows what this response answers")
        command += ["--response", "--api", api_name(key) or str(key), "--api-version", str(version)]
    return _with_hex(command, frame_bytes(exchange, side, show_secrets))


def _with_hex(command: Sequence[str], data: bytes) -> str:
    line = " ".join(map(quote, command))
    if len(data) * 2 <= LONGEST_ARGUMENT:
        return f"{line} {data.hex()}"
    rows = [data[at : at + _COLUMNS].hex() for at in range(0, len(data), _COLUMNS)]
    return "\n".join((f"{line} - <<'HEX'", *rows, "HEX"))


def _frame(exchange: Exchange, side: str) -> Frame:
    frame = exchange.request if side == "request" else exchange.response
    if frame is None:
        raise NothingToCopyError(f"no {side} was captured")
    if not frame.data:
        raise NothingToCopyError(f"the bytes of the {side} cannot be had any more")
    return frame


Form = Callable[[bytes], str]
FORMS: dict[str, Form] = {"hex": hex_text, "Python bytes": python_text}
