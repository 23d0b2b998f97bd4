"""Columns that all records of a field share: made once a field or once an exchange, spread over its records.

Needs numpy and pyarrow (extra `arrow`).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from kdissect.decoders.records.lockstep import Ints
from kdissect.engine.arrow_values import numbers_array, strings_array
from kdissect.engine.field_columns import FieldColumns, integers
from kdissect.engine.record_sets import direction_of
from kdissect.engine.rows import topic_id_text
from kdissect.model.packets.packet import FILE_SHIFT, NUMBER_MASK

_NO_PARTITION = -1


class Sections:
    """Records fields, the field of each row, and the names of the inputs."""

    __slots__ = ("connections", "fields", "files", "owner", "rows")

    def __init__(self, fields: FieldColumns, rows: Ints, files: Sequence[str]) -> None:
        self.fields = fields
        self.rows = rows
        self.files = files
        self.owner: Ints = fields.owner[rows]
        self.connections = _coded(map(attrgetter("connection"), fields.exchanges))
        """The connections, and the number of that of each exchange."""

    def of_frames(self, name: str) -> Ints:
        """A number of each row's frame."""
        return integers(map(attrgetter(name), self.fields.frames))[self.owner]


def _coded(values: Iterable[Hashable]) -> tuple[list[Any], Ints]:
    """The distinct values in order of appearance, and the number of each one's value."""
    values = list(values)
    distinct = list(dict.fromkeys(values))
    places = dict(zip(distinct, range(len(distinct)), strict=True))
    return distinct, integers(map(places.__getitem__, values))


def _texts(texts: Sequence[str | None], codes: Ints) -> Any:
    """Strings as a dictionary, by the number of each row's text: they repeat on every row."""
    # Not `dictionary_encode` and `take`: importing pyarrow.compute takes longer than all of this.
    distinct, places = _coded(texts)
    indices = places.astype(np.int32)[codes]
    null = distinct.index(None) if None in distinct else None
    array = numbers_array(indices, None if null is None else indices == null)
    return pa.DictionaryArray.from_arrays(array, strings_array([text or "" for text in distinct]))


def _connection(name: str) -> Callable[[Sections], Any]:
    def column(of: Sections) -> Any:
        connections, codes = of.connections
        return _texts([getattr(each, name) for each in connections], codes[of.owner])

    return column


def _of_exchanges(name: str, text: Callable[[Any], str | None]) -> Callable[[Sections], Any]:
    """A text that an attribute of the exchanges tells."""

    def column(of: Sections) -> Any:
        values, codes = _coded(map(attrgetter(name), of.fields.exchanges))
        return _texts([text(value) for value in values], codes[of.owner])

    return column


def _exchange(of: Sections) -> Any:
    return numbers_array(integers(map(attrgetter("ordinal"), of.fields.exchanges))[of.owner])


def _file(of: Sections) -> Any:
    numbers, codes = np.unique(of.of_frames("first_ref") >> FILE_SHIFT, return_inverse=True)
    return _texts([of.files[number] for number in numbers.tolist()], codes)


def _packet(of: Sections) -> Any:
    return numbers_array(of.of_frames("first_ref") & NUMBER_MASK)


def _time(of: Sections) -> Any:
    return _time_ns(of).view(pa.timestamp("ns", "UTC"))


def _time_ns(of: Sections) -> Any:
    return numbers_array(of.of_frames("time_ns"))


def _topic(of: Sections) -> Any:
    topics, codes = _coded(of.fields.topics)
    return _texts(topics, codes[of.rows])


def _topic_id(of: Sections) -> Any:
    ids, codes = _coded(of.fields.topic_ids)
    return _texts([None if each is None else topic_id_text(each) for each in ids], codes[of.rows])


def _partition(of: Sections) -> Any:
    found = of.fields.partitions
    numbers = integers([_NO_PARTITION if each is None else each for each in found])
    null = np.array([each is None for each in found], np.bool_)[of.rows] if None in found else None
    return numbers_array(numbers.astype(np.int32)[of.rows], null)


SECTION_COLUMNS: dict[str, Callable[[Sections], Any]] = {
    "connection": _connection("id"),
    "exchange": _exchange,
    "direction": _of_exchanges("api_key", direction_of),
    "client": _connection("client_text"),
    "broker": _connection("broker_text"),
    "client_id": _of_exchanges("client_id", lambda text: text),
    "file": _file,
    "packet": _packet,
    "time": _time,
    "time_ns": _time_ns,
    "topic": _topic,
    "topic_id": _topic_id,
    "partition": _partition,
}
"""Column name -> `sections -> array`, one value a row."""
