"""Produce and Fetch bodies as the compiled part reads them: rows by partition, and a few facts of each body.

This module defines the wanted fields, once for all code that counts or follows them
(native/src/bodies/partition_rows.rs).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.listed_partitions import partition_lists
from kdissect.model.native import is_compiled, native
from kdissect.schema.types import Message
from kdissect.session.exchange import Exchange

PRODUCE, FETCH = 0, 1  # org.apache.kafka.common.protocol.ApiKeys
_VERSIONS = 64  # of both APIs
_Wanted = dict[tuple[int, bool], tuple[str, ...]]
_VALUES: _Wanted = {
    (PRODUCE, False): (),
    (PRODUCE, True): ("error_code", "base_offset"),
    (FETCH, False): ("fetch_offset", "current_leader_epoch"),
    (FETCH, True): ("error_code", "high_watermark", "log_start_offset"),
}
"""Numbers of a partition, by API and whether it is the response, except numbers that a version lacks."""
_FACTS: _Wanted = {
    (PRODUCE, False): ("acks", "transactional_id"),
    (PRODUCE, True): (),
    (FETCH, False): (
        "replica_id", "session_id", "session_epoch", "forgotten_topics_data", "max_wait_ms", "min_bytes"
    ),
    (FETCH, True): ("session_id", "throttle_time_ms"),
}  # fmt: skip
"""Facts of the body: numbers, lengths of texts, how many are in a list; None if there is no such field."""
_DELAY_VALUES: _Wanted = {
    (PRODUCE, False): (),
    (PRODUCE, True): ("error_code", "base_offset"),
    (FETCH, False): ("fetch_offset",),
    (FETCH, True): ("error_code", "high_watermark", "last_stable_offset", "aborted_transactions"),
}
"""The same for delays (native/src/transfers/delays.rs). A list counts by its length."""
_DELAY_FACTS: _Wanted = {
    (PRODUCE, False): ("acks",),
    (PRODUCE, True): (),
    (FETCH, False): ("replica_id", "isolation_level"),
    (FETCH, True): (),
}
_STABLE_SINCE = 4  # KIP-98
_SINCE = {"log_start_offset": 5, "current_leader_epoch": 9}  # spec/003 "Fetch API"
_REPLICA_ID, _REPLICA_STATE = "replica_id", "replica_state"  # in a tag since version 15 (KIP-903)

Place = tuple["native.PartitionRows", bytes, int]
"""How a body is read, the frame, and where in it the body begins."""


class TransferRows(NamedTuple):
    """How the bodies of an API in one version are read."""

    request: native.PartitionRows
    response: native.PartitionRows


@lru_cache(maxsize=_VERSIONS)
def transfer_rows(api_key: int, version: int) -> TransferRows | None:
    """Return how a Produce or a Fetch is read; None for a version that is not known. Compiled only."""
    return _both(api_key, version, _VALUES, _FACTS)


@lru_cache(maxsize=_VERSIONS)
def delay_rows(api_key: int, version: int) -> TransferRows | None:
    """Return the same for delays. None also for a Fetch before version 4, which has no last stable offset.
    Compiled only.
    """
    if api_key == FETCH and version < _STABLE_SINCE:
        return None
    return _both(api_key, version, _DELAY_VALUES, _DELAY_FACTS)


def _both(api_key: int, version: int, values: _Wanted, facts: _Wanted) -> TransferRows | None:
    request, response = (
        _rows_of(api_key, version, is_response, values, facts) for is_response in (False, True)
    )
    return None if request is None or response is None else TransferRows(request, response)


def _rows_of(
    api_key: int, version: int, is_response: bool, all_values: _Wanted, all_facts: _Wanted
) -> native.PartitionRows | None:
    message = known_body(api_key, version, is_response)
    lists = None if message is None else partition_lists(message, version)
    if message is None or lists is None:
        return None
    kind = api_key, is_response
    values = [name for name in all_values[kind] if version >= _SINCE.get(name, 0)]
    facts = [_path(message, version, name) for name in all_facts[kind]]
    return native.PartitionRows(native_layout(message, version)[0], lists, values, facts)


def _path(message: Message, version: int, name: str) -> str:
    """Return the path of a field in a version, or an empty text without one."""
    fields = [field.name for field in message.root.fields if version in field.versions]
    if name == _REPLICA_ID and _REPLICA_STATE in fields:
        return f"{_REPLICA_STATE}.{name}"
    return name if name in fields else ""


def unread_places(exchange: Exchange) -> tuple[Place, Place | None] | None:
    """Return `transfer_places` of an exchange whose bodies are not decoded yet; None without the native
    engine.
    """
    return transfer_places(exchange) if is_compiled and exchange.bodies_cache is None else None


def transfer_places(exchange: Exchange) -> tuple[Place, Place | None] | None:
    """Return where both bodies of a Produce or Fetch stand; None for one that is not whole, or from a request
    log.

    Compiled only.
    """
    # Hot, once an exchange.
    request, response = exchange.request, exchange.response
    if exchange.api_key is None or exchange.api_version is None or request is None or request.is_logged:
        return None
    rows = transfer_rows(exchange.api_key, exchange.api_version)
    if rows is None or request.is_cut:
        return None
    asked = rows.request, request.data, exchange.request_body_offset
    if response is None:
        return asked, None
    return None if response.is_cut else (asked, (rows.response, response.data, exchange.response_body_offset))
