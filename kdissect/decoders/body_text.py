"""Bodies as JSON text, compiled: what orjson makes of the dicts of `nested_json`.

The compiled reader goes by the layout that all of them share (`native_layout`). It says nothing about bodies
that do not fit, are not UTF-8 where they should be, hold payloads or floats, or have tags out of order;
`nested_json` and what stands behind it do.
"""

from functools import cache, lru_cache
from typing import Any, Protocol

from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.native_layout import native_layout
from kdissect.decoders.nested_json import foreign_start, plain_body
from kdissect.decoders.records.json_batches import inflated
from kdissect.decoders.records.plain_records import PLAIN_BYTES, PLAIN_RECORDS
from kdissect.model.native import native
from kdissect.schema.logs import all_logs


class Nest(Protocol):
    """What records are told by: raises ValueError where the general path must be taken."""

    def name(self, topic_id: bytes) -> str | None:
        """The topic of an id, None if nobody knows."""

    def unusual(self, data: bytes, start: int, end: int, topic: str | None) -> bytes:
        """The text of a records field with batches that are not plain, or of one of Kafka's own topics."""


class BodyText(Protocol):
    """Bodies of one version of a message."""

    def text(self, data: bytes, offset: int, nest: Nest | None) -> bytes | None:
        """The body from `offset` to the end as JSON, None where it is not plain.

        Without `nest` records are but counted. Raises what `nest` does beside ValueError.
        """


@lru_cache(maxsize=CACHE_SIZE)
def body_text(api_key: int, api_version: int, is_response: bool) -> BodyText | None:
    """Of a body; None where nothing is compiled, and for what is no `plain_body`."""
    message = plain_body(api_key, api_version, is_response)
    if native is None or message is None:
        return None
    layout, *_ = native_layout(message, api_version)
    made: BodyText = native.BodyText(layout, _batches(), foreign_start(api_key, is_response))
    return made


@cache
def _batches() -> Any:
    own = [log.name.encode() for log in all_logs()]
    return native.BatchText(inflated, own, PLAIN_BYTES, PLAIN_RECORDS)
