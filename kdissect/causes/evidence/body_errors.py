"""Error codes of a response, each with the topic, partition, group or id that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import Value, present, sent
from kdissect.schema.types import Array, Field, Message, Struct
from kdissect.stats.client import text_of

MOST = 200  # different errors of one response
MESSAGE_KEPT = 200  # characters of a broker's message
_PARTITION = ("partition_index", "partition", "index")


class BodyError(NamedTuple):
    """An error code, and what it is about: a topic by name or id (16 bytes), a partition, a transactional id.

    `message` is the broker's explanation, empty where the version has none or the broker sent none.
    """

    code: int
    topic: str | bytes | None
    partition: int | None
    message: str
    txn: str | None = None


def body_errors(answer: Any) -> list[BodyError]:
    """Return the errors of a decoded response, at most `MOST`."""
    found: list[BodyError] = []
    for error in _errors(answer, _Place(None, None, None)):
        found.append(error)
        if len(found) >= MOST:
            break
    return found


class _Place(NamedTuple):
    """Topic, partition and transactional id of a struct."""

    topic: str | bytes | None
    partition: int | None
    txn: str | None


def _errors(value: Value, around: _Place) -> Iterator[BodyError]:
    # Nearly no response has an error: what a struct is about is looked up once one may be there.
    place = None
    for field in _ways(type(value)):  # type: ignore[arg-type]  # the class can be hashed, its values not
        item = sent(value, field.name)
        for one in item if isinstance(item, list) else (item,):
            if not one:
                continue
            place = place or _place(value, around)
            if field.is_error:
                yield BodyError(one, place.topic, place.partition, _message(value), place.txn)
            else:
                yield from _errors(one, place)


@cache
def _ways(of: Any) -> tuple[Field, ...]:
    """Return the fields of a struct that are error codes, or lead to some."""
    return _ways_in(of.struct_fields)


def _ways_in(fields: Iterable[Field]) -> tuple[Field, ...]:
    return tuple(filter(_leads_to_errors, fields))


def _leads_to_errors(field: Field) -> bool:
    inner = _struct_of(field)
    return field.is_error or (inner is not None and any(map(_leads_to_errors, inner.fields)))


def _struct_of(field: Field) -> Struct | None:
    inner = field.type.element if isinstance(field.type, Array) else field.type
    return inner if isinstance(inner, Struct) else None


@cache
def may_name_ids(message: Message) -> bool:
    """Return whether errors of a response, in some version, may be about topics that it names by id."""
    return _names_ids(message.root)


def _names_ids(of: Struct) -> bool:
    below = (_struct_of(field) for field in _ways_in(of.fields))
    is_named = any(field.entity == "topicId" for field in of.fields)
    return is_named or any(inner is not None and _names_ids(inner) for inner in below)


def _place(value: Value, around: _Place) -> _Place:
    """Return what a struct is about, or the struct around it."""
    own, txn = _named(value), sent(value, "transactional_id")
    number = next((item for name in _PARTITION if (item := sent(value, name)) is not None), None)
    return _Place(
        around.topic if own is None else own,
        number if isinstance(number, int) else around.partition,
        text_of(txn) if txn else around.txn,
    )


def _message(value: Value) -> str:
    """Return the broker's message next to an error code."""
    said = sent(value, "error_message")
    return text_of(said)[:MESSAGE_KEPT] if said else ""


def _named(value: Value) -> str | bytes | None:
    """Return the topic that a struct is about."""
    topic_id = None
    for field, _, item in present(value):
        if field.entity == "topicName" and isinstance(item, (str, bytes)) and item:
            return text_of(item)
        if field.entity == "topicId" and isinstance(item, bytes) and any(item):
            topic_id = item
    return topic_id


def asked(request: Any) -> tuple[str | None, str | None]:
    """Return the group and the transactional id that a request names; None for a FindCoordinator with
    several.
    """
    group = sent(request, "group_id")
    txn = sent(request, "transactional_id") or sent(request, "v3_and_below_transactional_id")
    kind, keys = sent(request, "key_type"), sent(request, "coordinator_keys") or [sent(request, "key")]
    if kind is not None and len(keys) == 1:  # KIP-98: 0 is a group, 1 a transactional id
        group, txn = (keys[0] if kind == 0 else group), (keys[0] if kind == 1 else txn)
    return (text_of(group) if group else None), (text_of(txn) if txn else None)
