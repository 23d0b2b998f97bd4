"""The session that a Fetch names, and whether its response brought anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kdissect.decoders.listed_partitions import topic_namer
from kdissect.engine.records.record_sets import lone_batch, record_batches
from kdissect.engine.transfer_rows import Place, unread_places
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import PartitionKey, partition_of
from kdissect.session.exchange import Exchange

Told = tuple[int, int, int, int]
"""Values of a partition in a response: its number, error code, high watermark, log start."""
StatedTopics = list[tuple[str | bytes, list[Told]]]
AskedTopics = list[tuple[str | bytes, list[tuple[int, int]]]]
"""Topics of a request, each with its partitions and the leader epochs that it names for them."""
BatchEpochs = list[tuple[PartitionKey, int]]
"""Partitions with records, each with the highest leader epoch of its batches."""
UNKNOWN_EPOCH = -1  # RecordBatch.NO_PARTITION_LEADER_EPOCH
EPOCHS_FROM = 9  # the first version whose requests name leader epochs (KIP-320)


def _no_rows() -> tuple[bool, bool]:
    return False, False


class FetchParts(NamedTuple):
    """Parts of both bodies, which fit. Parts of the response are 0 and False without a response.

    `asked` and `answers` count the named topics, `forgets` the topics to forget; `is_refused`: the response
    has an error code outside its partitions. `session_id` and `epoch` are 0 in versions without sessions.
    """

    session_id: int
    epoch: int
    forgets: int
    max_wait_ms: int
    min_bytes: int
    asked: int
    is_answered: bool = False
    is_refused: bool = False
    answered_session: int = 0
    throttle_ms: int = 0
    answers: int = 0
    rows: Callable[[], tuple[bool, bool]] = _no_rows

    @property
    def tells_anything(self) -> bool:
        """Whether a partition of the answer has an error code, or names another replica (KIP-392)."""
        return self.rows()[0]

    @property
    def has_records(self) -> bool:
        """Whether one has records."""
        return self.rows()[1]


def brings_records(answer: Any) -> bool:
    """Return whether a partition of a Fetch response, decoded, has records."""
    return any(row.records for topic in answer.responses or () for row in topic.partitions or ())


def fetch_parts(exchange: Exchange) -> FetchParts | None:
    """Return the parts of a Fetch; None where a body does not fit. Raises nothing."""
    found = unread_places(exchange)
    read = None if found is None else _read(*found)
    if read is not None:
        return read
    request, response = exchange.bodies()
    if request is None or not request.fits or (response is None and exchange.response is not None):
        return None
    if response is None:
        return parts_of(request.value, None)
    return parts_of(request.value, response.value) if response.fits else None


def parts_of(request: Any, response: Any) -> FetchParts:
    """Return the parts of bodies that fit; `response` is None without one."""
    forgotten = getattr(request, "forgotten_topics_data", None)
    asked = (
        getattr(request, "session_id", 0), getattr(request, "session_epoch", 0),
        len(forgotten) if forgotten else 0, request.max_wait_ms, request.min_bytes, len(request.topics or ()),
    )  # fmt: skip
    if response is None:
        return FetchParts(*asked)
    responses = response.responses or ()
    return FetchParts(
        *asked, True, bool(getattr(response, "error_code", 0)), getattr(response, "session_id", 0),
        getattr(response, "throttle_time_ms", 0), len(responses), partial(_rows, responses),
    )  # fmt: skip


def _rows(responses: Any) -> tuple[bool, bool]:
    tells_anything = has_records = False
    for topic in responses:
        for row in topic.partitions or ():
            tells_anything |= row.error_code != 0 or getattr(row, "preferred_read_replica", -1) >= 0
            has_records |= bool(row.records)
    return tells_anything, has_records


def _read(asked: Place, answered: Place | None) -> FetchParts | None:
    """Return the parts as the native engine reads them; None for bodies decoded in Python."""
    rows, frame, offset = asked
    request = rows.facts(frame, offset)
    if request is None:
        return None
    (_, session_id, epoch, forgets, max_wait_ms, min_bytes), topics, _, _, _ = request
    parts = session_id or 0, epoch or 0, forgets or 0, max_wait_ms or 0, min_bytes or 0, topics
    if answered is None:
        return FetchParts(*parts)
    rows, frame, offset = answered
    response = rows.facts(frame, offset)
    if response is None:
        return None
    (answered_session, throttle_ms), answers, is_refused, tells_anything, has_records = response
    rows_told = tells_anything, has_records
    return FetchParts(
        *parts, True, is_refused, answered_session or 0, throttle_ms or 0, answers, lambda: rows_told
    )


def asked_topics(exchange: Exchange) -> AskedTopics | None:
    """Return the topics of a Fetch request; None where it does not fit. Raises nothing."""
    version = exchange.api_version
    if version is None:
        return None
    topics = _read_topics(exchange, False)
    if topics is not None:
        has_epochs = version >= EPOCHS_FROM
        return [
            (name, [(number, epoch if has_epochs else UNKNOWN_EPOCH) for number, _, epoch, _ in rows])
            for name, rows in topics
        ]
    body = exchange.bodies()[0]
    return None if body is None or not body.fits else asked_by(body.value, version)


def asked_by(request: Any, version: int) -> AskedTopics:
    """Return the topics of a decoded request."""
    named = topic_namer(apis.FETCH, version, False)
    return [(named(topic), [*map(_asked, topic.partitions or ())]) for topic in request.topics or ()]


def _asked(row: Any) -> tuple[int, int]:
    return row.partition, getattr(row, "current_leader_epoch", UNKNOWN_EPOCH)


def batch_epochs(exchange: Exchange) -> BatchEpochs:
    """Return the leader epochs in a Fetch response that fits, of batches with right checksums."""
    lone = lone_batch(exchange)
    if lone is not None:
        return [(partition_of(lone.records_field), lone.header[2])]
    epochs: dict[PartitionKey, int] = {}
    for field, found in record_batches(exchange):
        partition = partition_of(field)
        for batch in found.batches:
            if batch.crc_is_right and not batch.faults:
                epochs[partition] = max(epochs.get(partition, UNKNOWN_EPOCH), batch.leader_epoch)
    return [*epochs.items()]


def stated_topics(exchange: Exchange) -> StatedTopics | None:
    """Return the partitions in a Fetch response; None if it does not fit. Raises nothing."""
    topics = _read_topics(exchange, True)
    if topics is not None:
        return topics
    body = exchange.bodies()[1]
    if body is None or not body.fits or exchange.api_version is None:
        return None
    return stated_by(body.value, exchange.api_version)


def stated_by(answer: Any, version: int) -> StatedTopics:
    """Return the topics of a decoded response."""
    named = topic_namer(apis.FETCH, version, True)
    return [(named(topic), [*map(_stated, topic.partitions or ())]) for topic in answer.responses or ()]


def _stated(row: Any) -> Told:
    start = getattr(row, "log_start_offset", 0)
    return row.partition_index, row.error_code, row.high_watermark, start


def _read_topics(exchange: Exchange, is_response: bool) -> StatedTopics | None:
    found = unread_places(exchange)
    place = None if found is None else found[is_response]
    if place is None:
        return None
    rows, frame, offset = place
    return rows.topics(frame, offset)
