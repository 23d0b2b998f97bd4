"""Bodies of exchanges with the records in them, decoded in one pass where nothing is odd about them.

What `bodies` and `nested_records` make together, in a third of the time; they are the way for everything
else. A test holds both equal.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.nested_json import NestedDecoder, nested_decoder
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.json_batches import user_batches
from kdissect.engine.nested_records import batch_values
from kdissect.engine.record_sets import records_side
from kdissect.model.record_batch import RecordFault
from kdissect.schema.logs import all_logs
from kdissect.schema.metadata_topic import METADATA_TOPIC, may_be_metadata_topic
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo

Body = dict[str, Any]
NameOf = Callable[[ConnectionInfo, bytes], str | None]
"""The name of a topic id on a connection. May raise ValueError: then the general path is taken."""
_KAFKA = ExchangeKind.KAFKA


class NestedBodies:
    """Decodes both bodies of exchanges. `name_of` tells topics; without it records are but counted."""

    def __init__(self, name_of: NameOf | None, show_secrets: bool) -> None:
        self._name_of = name_of
        self._show_secrets = show_secrets
        self._own = frozenset(log.name for log in all_logs())
        self._nest = _count if name_of is None else self._nested
        self._exchange: Exchange | None = None  # whose bodies are being decoded

    def of(self, exchange: Exchange) -> tuple[Body | None, Body | None] | None:
        """The bodies of request and response, None for a frame that is not there. Raises nothing.

        None where one of them must be looked at by `bodies`.
        """
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None or exchange.kind is not _KAFKA or exchange.is_near_secrets:
            return None
        decode_request, decode_response = _decoders(key, version)
        request, response = exchange.request, exchange.response
        self._exchange = exchange
        asked = answered = None
        if request is not None:
            data = request.data
            if decode_request is None or len(data) != request.size:
                return None
            asked = decode_request(data, exchange.request_body_offset, self._nest)
            if asked is None:
                return None
        if response is not None:
            data = response.data
            if decode_response is None or len(data) != response.size:
                return None
            answered = decode_response(data, exchange.response_body_offset, self._nest)
            if answered is None:
                return None
        return asked, answered

    def _nested(
        self, data: bytes, start: int, end: int, topic: str | None, topic_id: bytes | None
    ) -> dict[str, Any]:
        """What stands in the place of a records field. Raises ValueError where anything is wrong in it."""
        if topic_id is not None:
            topic = self.name(topic_id)
        if start == end:
            return {"bytes": 0, "batches": []}
        if end > len(data):
            raise ValueError
        batches = None if topic in self._own else user_batches(data, start, end)
        if batches is not None:
            return {"bytes": end - start, "batches": batches}
        return self.unusual_records(data, start, end, topic)

    def name(self, topic_id: bytes) -> str | None:
        """The topic of an id on the connection of the exchange at hand. Raises ValueError as above."""
        assert self._exchange is not None
        assert self._name_of is not None
        found = self._name_of(self._exchange.connection, topic_id)
        # Where the metadata log was asked for, records of a topic that nobody knows may be of secrets.
        if found is None and self._exchange.is_of_metadata and may_be_metadata_topic(topic_id):
            return METADATA_TOPIC
        return found

    def unusual_records(self, data: bytes, start: int, end: int, topic: str | None) -> dict[str, Any]:
        """A records field with batches that `user_batches` does not know. Raises ValueError as above."""
        assert self._exchange is not None
        assert self._exchange.api_key is not None
        found = split_batches(data, start, end, may_be_cut=bool(records_side(self._exchange.api_key)))
        faults: list[tuple[int, RecordFault]] = []
        batches = batch_values(found.batches, topic, faults, self._show_secrets)
        if faults or found.faults:
            raise ValueError
        told = {"bytes": end - start, "batches": batches}
        return told | {"cut": found.cut} if found.cut else told


def _count(_data: bytes, start: int, end: int, _topic: str | None, _topic_id: bytes | None) -> dict[str, Any]:
    """Without a look at the records."""
    return {"bytes": end - start}


@lru_cache(maxsize=CACHE_SIZE)
def _decoders(key: int, version: int) -> tuple[NestedDecoder | None, NestedDecoder | None]:
    return nested_decoder(key, version, is_response=False), nested_decoder(key, version, is_response=True)
