"""The topics and partitions a body names, read off its value without knowing the API."""

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Field, Message, Struct

Topics = list[tuple[str | bytes, list[int]]]
"""Topic name or id, and its partitions, in the order of the body."""
_LISTS = ("topics", "topic_data", "responses", "v3_and_below_topics")
_NAMES = ("topic_id", "name", "topic")
_ROWS = ("partition_data", "partition_responses", "partitions", "partition_indexes")
_NUMBERS = ("index", "partition", "partition_index")


class PartitionLists(NamedTuple):
    """Fields of a body that lists topics: its list, a topic's name or id, its rows, the number of a row."""

    topics: str
    name: str
    rows: str
    number: str


class _Shape(NamedTuple):
    """How to get from a value to its topics, to a topic's name, its rows, and the number of a row."""

    topics: Callable[[Any], Any]
    name: Callable[[Any], Any]
    rows: Callable[[Any], Any]
    number: Callable[[Any], int]


@lru_cache(maxsize=1024)  # bodies of the schema in use
def topic_lister(api_key: int, version: int, is_response: bool) -> Callable[[Any], Topics]:
    """Return a function that lists the topics in the value of such a body; it returns no topics for a body
    without lists of topics.
    """
    message = (
        protocol_messages.response_message(api_key)
        if is_response
        else protocol_messages.request_message(api_key)
    )
    shape = None if message is None else _shape(message, version)
    if shape is None:
        return _no_topics
    topics, name, rows, number = shape

    def list_topics(value: Any) -> Topics:
        found = topics(value)
        if not found:
            return []
        if len(found) == 1:  # nearly always
            topic = found[0]
            return [(name(topic), [*map(number, rows(topic) or ())])]
        return [(name(topic), [*map(number, rows(topic) or ())]) for topic in found]

    return list_topics


def _no_topics(_value: Any) -> Topics:
    return []


@lru_cache(maxsize=1024)  # bodies of the schema in use
def topic_namer(api_key: int, api_version: int, is_response: bool) -> Callable[[Any], str | bytes]:
    """Return a function that returns the name or the id of a topic in such a body, whichever the version
    has.
    """
    message = (
        protocol_messages.response_message(api_key)
        if is_response
        else protocol_messages.request_message(api_key)
    )
    shape = None if message is None else _shape(message, api_version)
    return _no_name if shape is None else shape.name


def _no_name(_topic: Any) -> str:
    return ""


@lru_cache(maxsize=1024)  # as above
def _shape(message: Message, version: int) -> _Shape | None:
    found = _lists(message, version)
    if found is None:
        return None
    topics, name, rows, number = found
    return _Shape(
        attrgetter(topics.name), attrgetter(name.name), attrgetter(rows.name),
        attrgetter(number.name) if number is not None else int,
    )  # fmt: skip


def partition_lists(message: Message, version: int) -> PartitionLists | None:
    """Return the names of those fields; None for a body without them, or whose partitions are bare
    numbers.
    """
    found = _lists(message, version)
    if found is None:
        return None
    topics, name, rows, number = found
    return None if number is None else PartitionLists(topics.name, name.name, rows.name, number.name)


def _lists(message: Message, version: int) -> tuple[Field, Field, Field, Field | None] | None:
    """Return the fields of `PartitionLists`; no last one where partitions are bare numbers."""
    topics = _field(message.root, version, _LISTS)
    topic = None if topics is None else _element(topics)
    if topics is None or topic is None:
        return None
    name, rows = _field(topic, version, _NAMES), _field(topic, version, _ROWS)
    if name is None or rows is None:
        return None
    row = _element(rows)
    number = None if row is None else _field(row, version, _NUMBERS)
    if row is not None and number is None:
        return None
    return topics, name, rows, number


def _field(of: Struct, version: int, names: tuple[str, ...]) -> Field | None:
    return next((field for field in of.fields if version in field.versions and field.name in names), None)


def _element(field: Field) -> Struct | None:
    element = field.type.element if isinstance(field.type, Array) else None
    return element if isinstance(element, Struct) else None
