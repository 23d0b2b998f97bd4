"""The parts of a JSON line as text, remembered where they repeat."""

from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.engine.exchange_rows import anomaly_row, behind_ends_row, topic_id_text
from kdissect.engine.times import SECOND_NS, rfc3339
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import FILE_SHIFT, NUMBER_MASK
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

try:
    from _json import (
        encode_basestring as _quoted,  # what the json package uses, without importing json and its regexes
    )
except ImportError:  # not CPython
    from json.encoder import encode_basestring as _quoted

# Texts that repeat on every line are cached. A hostile peer can send new ones for ever: the caches start over
# when full.
_CACHE_ENTRIES = 4096
_FRACTION = len("000000000Z")  # what follows the decimal point of a time

Second = tuple[int, int, bytes]
"""The first nanosecond of a second, the first after it, and its text up to the decimal point, if it has one
that several requests share.
"""
NO_SECOND: Second = (0, 0, b"")


def quote(text: str) -> str:
    """Return a text as a JSON string, inert."""
    quoted = _quoted(text)
    if quoted.isascii():
        return quoted
    from kdissect.report.printable import inert_json  # start-up: most texts are ASCII

    return inert_json(quoted)


class LineTexts:
    """Texts of files, times, topics and ids. `files` are the inputs' names by file index."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._frame_heads: dict[int, str] = {}
        self._seconds: dict[int, Second] = {}
        self._lists: dict[tuple[str, ...], str] = {(): "[]"}
        self._ids: dict[tuple[bytes, ...], str] = {(): "[]"}

    def frame_head(self, file: int) -> str:
        """Return the beginning of a frame in a file, up to the number of its first packet."""
        return self._frame_heads.get(file) or keep(
            self._frame_heads, file, f'{{"packets":{{"file":{quote(self._files[file])},"first":'
        )

    def second(self, time_ns: int) -> Second:
        """Return the second of a time."""
        number = time_ns // SECOND_NS
        found = self._seconds.get(number)
        if found is None:
            found = NO_SECOND  # of a clock that started at 0: too few digits to cut
            if number > 0:
                text = rfc3339(time_ns)[:-_FRACTION].encode()
                found = number * SECOND_NS, (number + 1) * SECOND_NS, text
            keep(self._seconds, number, found)
        return found

    def frame(self, frame: Frame | None) -> str:
        """Return a frame, however it was captured."""
        if frame is None:
            return "null"
        first, last, time_ns = frame.first_ref, frame.last_ref, frame.time_ns
        size = "null" if frame.logged is not None else frame.size + 4
        is_whole = len(frame.data) == frame.size or frame.logged is not None
        captured = "" if is_whole else f',"captured":{len(frame.data) + 4}'
        return (
            f'{self.frame_head(first >> FILE_SHIFT)}{first & NUMBER_MASK},"last":{self._last(first, last)}}},'
            f'"time":"{rfc3339(time_ns)}","time_ns":{time_ns},"end_time_ns":{frame.end_time_ns},'
            f'"bytes":{size}{captured}}}'
        )

    def _last(self, first: int, last: int) -> str:
        number = str(last & NUMBER_MASK)
        if last >> FILE_SHIFT == first >> FILE_SHIFT:
            return number
        return f'{number},"last_file":{quote(self._files[last >> FILE_SHIFT])}'

    def names(self, texts: tuple[str, ...]) -> str:
        """Return a list of texts."""
        return self._lists.get(texts) or keep(self._lists, texts, f"[{','.join(map(quote, texts))}]")

    def ids(self, ids: tuple[bytes, ...]) -> str:
        """Return a list of topic ids."""
        return self._ids.get(ids) or keep(
            self._ids, ids, f"[{','.join(quote(topic_id_text(raw)) for raw in ids)}]"
        )


def error_names(codes: Iterable[int]) -> str:
    """Return a list of error codes by their names."""
    return f"[{','.join(quote(error_name(code)) for code in codes)}]"


def anomalies(exchange: Exchange) -> str:
    """Return the anomalies of an exchange."""
    return compact_json([anomaly_row(anomaly) for anomaly in exchange.all_anomalies()])


def compact_json(value: Any) -> str:
    """Return dicts, lists, strings and integers as JSON: the rare parts of a line."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{compact_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact_json, value)) + "]"
    return text_or_null(value) if value is None or isinstance(value, str) else str(value)


def keep(cache: dict[Any, Any], key: object, value: Any) -> Any:
    """`value`, kept under `key` in a cache that starts over when it is full."""
    if len(cache) > _CACHE_ENTRIES:
        cache.clear()
    cache[key] = value
    return value


def number_or_null(number: int | None) -> str:
    """Return an integer."""
    return "null" if number is None else str(number)


def text_or_null(text: str | None) -> str:
    """Return a string in quotes."""
    return "null" if text is None else quote(text)


def ends_of(connection: ConnectionInfo) -> str:
    """Capture set, both ends, the client of a proxy, processes and who asks: from kind to client id."""
    ends = (
        f',"capture_set":{text_or_null(connection.capture_set)},'
        f'"client":{text_or_null(connection.client_text)},"broker":{text_or_null(connection.broker_text)}'
    )
    behind = behind_ends_row(connection)
    who = f',"software":{text_or_null(connection.software)},"principal":{text_or_null(connection.principal)}'
    return ends + (f",{compact_json(behind)[1:-1]}" if behind else "") + who
