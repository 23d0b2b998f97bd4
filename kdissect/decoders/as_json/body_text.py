"""Bodies as JSON text in the native engine, equal to orjson's output for the dicts of `json_bodies`.

The native reader follows the layout that all native readers share (`native_layout`). It says nothing about
bodies that do not fit, are not UTF-8 where they should be, hold payloads or floats, or have tags out of
order.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from struct import error as StructError  # noqa: N812  an exception class, whatever its case

from kdissect.decoders.body_schemas import CACHE_SIZE, known_body
from kdissect.decoders.compression.codec import decompress_usual
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.quirks import foreign_start
from kdissect.decoders.records.reader import LISTED_BYTES, LISTED_RECORDS
from kdissect.decoders.records.records_fields import has_pieces
from kdissect.model.errors import DecodeError
from kdissect.model.native import is_compiled, native
from kdissect.schema.logs import all_logs
from kdissect.schema.secrets import may_hold_secrets
from kdissect.schema.types import Message

NameOfId = Callable[[bytes], str | None]
"""The topic of an id, None if it is not known. Raises ValueError if the caller must take the general path."""
FieldText = Callable[[bytes, int, int, str | None], bytes]
"""The text of a records field, from start to end of the data, of a topic: one that takes the slow path.

Raises ValueError as above.
"""


@lru_cache(maxsize=CACHE_SIZE)
def body_text(api_key: int, api_version: int, is_response: bool) -> "native.BodyText | None":
    """Return the native writer of such a body; None without the native engine, and for a body that is not a
    `plain_body`.
    """
    message = plain_body(api_key, api_version, is_response)
    if not is_compiled or message is None:
        return None
    layout, *_ = native_layout(message, api_version)
    return native.BodyText(layout, _batches(), foreign_start(api_key, is_response))


def plain_body(api_key: int, api_version: int, is_response: bool) -> Message | None:
    """Return the schema of a body that shows what it has as it is, but for payloads.

    None for bodies that may hold secrets, for pieces of snapshots, and for what the schema does not know.
    """
    message = known_body(api_key, api_version, is_response)
    return None if message is None or may_hold_secrets(message) or has_pieces(message) else message


@cache
def _batches() -> "native.BatchText":
    own = [log.name.encode() for log in all_logs()]
    return native.BatchText(_inflated, own, LISTED_BYTES, LISTED_RECORDS)


def _inflated(codec: int, content: bytes) -> bytes | None:
    """Return the decompressed content of a batch; None if decompression fails or the content is large.

    Raises nothing.
    """
    try:
        data = decompress_usual(codec, content)
    except (DecodeError, KeyError, ValueError, IndexError, StructError):
        return None
    return None if len(data) > LISTED_BYTES else data
