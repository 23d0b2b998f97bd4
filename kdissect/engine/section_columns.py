"""Columns that all records of a field share: made once a field, spread over its records.

Needs numpy and pyarrow (extra `arrow`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kdissect.decoders.records.lockstep import Ints
from kdissect.engine.arrow_values import numbers_array, strings_array
from kdissect.engine.record_sets import RecordSet
from kdissect.engine.rows import topic_id_text
from kdissect.model.packet import FILE_SHIFT, NUMBER_MASK


class Sections:
    """Records fields with the names of their topics."""

    __slots__ = ("files", "sets", "topics")

    def __init__(self, sets: Sequence[RecordSet], topics: Sequence[str | None], files: Sequence[str]) -> None:
        self.sets = sets
        self.topics = topics
        self.files = files


def _texts(values: list[str | None], rows: Ints) -> Any:
    """Strings as a dictionary: they repeat on every row."""
    # Not `dictionary_encode` and `take`: importing pyarrow.compute takes longer than all of this.
    places: dict[str | None, int] = {}
    codes = np.array([places.setdefault(value, len(places)) for value in values], np.int32)[rows]
    null = places.get(None)
    names = strings_array([value or "" for value in places])
    indices = numbers_array(codes, None if null is None else codes == null)
    return pa.DictionaryArray.from_arrays(indices, names)


def _numbers(values: list[Any], rows: Ints) -> Any:
    return numbers_array(np.array(values, np.int64)[rows])


def _connection(name: str) -> Callable[[Sections, Ints], Any]:
    def column(of: Sections, rows: Ints) -> Any:
        return _texts([getattr(each.exchange.connection, name) for each in of.sets], rows)

    return column


def _topic_id(of: Sections, rows: Ints) -> Any:
    ids = [each.section.topic_id for each in of.sets]
    return _texts([None if each is None else topic_id_text(each) for each in ids], rows)


def _partition(of: Sections, rows: Ints) -> Any:
    found = [each.section.partition for each in of.sets]
    numbers = np.array([-1 if each is None else each for each in found], np.int32)[rows]
    if None not in found:
        return numbers_array(numbers)
    return numbers_array(numbers, np.array([each is None for each in found], np.bool_)[rows])


def _time(of: Sections, rows: Ints) -> Any:
    return _time_ns(of, rows).view(pa.timestamp("ns", "UTC"))


def _time_ns(of: Sections, rows: Ints) -> Any:
    return _numbers([each.frame.time_ns for each in of.sets], rows)


SECTION_COLUMNS: dict[str, Callable[[Sections, Ints], Any]] = {
    "connection": _connection("id"),
    "exchange": lambda of, rows: _numbers([each.exchange.ordinal for each in of.sets], rows),
    "direction": lambda of, rows: _texts([each.direction for each in of.sets], rows),
    "client": _connection("client_text"),
    "broker": _connection("broker_text"),
    "client_id": lambda of, rows: _texts([each.exchange.client_id for each in of.sets], rows),
    "file": lambda of, rows: _texts([of.files[each.frame.first_ref >> FILE_SHIFT] for each in of.sets], rows),
    "packet": lambda of, rows: _numbers([each.frame.first_ref & NUMBER_MASK for each in of.sets], rows),
    "time": _time,
    "time_ns": _time_ns,
    "topic": lambda of, rows: _texts(list(of.topics), rows),
    "topic_id": _topic_id,
    "partition": _partition,
}
"""Column name -> `(sections, section of each row) -> array`."""
