"""Which producers an exchange is about: by producer id and by transactional id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import Value, present, sent
from kdissect.history import apis
from kdissect.history.turn import Turn
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.stats.client import text_of

_TRANSACTION = 1  # key_type of FindCoordinator (org.apache.kafka.common.requests.FindCoordinatorRequest)


class Named(NamedTuple):
    """Ids that an exchange names."""

    producer_ids: set[int]
    transactional_ids: set[str]


def producers_named(turn: Turn) -> Named:
    """The ids in both bodies, and those of the batches that a Produce writes.

    Whose batches a Fetch reads is not told: it is about its consumer.
    """
    found = Named(set(), set())
    if turn.key == apis.FETCH:
        return found
    if turn.key == apis.PRODUCE:
        _put(found, "transactionalId", sent(turn.request, "transactional_id"))
        for _, batch in turn.batches:
            _put(found, "producerId", batch.producer_id)
        return found
    if turn.key == apis.FIND_COORDINATOR:
        for key in _searched(turn.request):
            _put(found, "transactionalId", key)
        return found
    for body in (turn.request, turn.response):
        for entity, held in () if body is None else _walk(body):
            _put(found, entity, held)
    return found


def _searched(request: Any) -> list[Any]:
    """The transactional ids whose coordinator is asked for."""
    if sent(request, "key_type") != _TRANSACTION:
        return []
    return sent(request, "coordinator_keys") or [sent(request, "key")]


def _walk(value: Value) -> Iterator[tuple[str, Any]]:
    """Fields of a body by what they name, wherever they stand."""
    for field, _, held in present(value):
        for item in held if isinstance(held, list) else (held,):
            if isinstance(item, Value):
                yield from _walk(item)
            elif field.entity:
                yield field.entity, item


def _put(found: Named, entity: str, held: Any) -> None:
    if entity == "producerId" and held not in (None, NO_PRODUCER_ID):
        found.producer_ids.add(held)
    elif entity == "transactionalId" and held:
        found.transactional_ids.add(text_of(held))
