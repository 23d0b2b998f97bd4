"""Which message of the schema a body is."""

from functools import lru_cache

from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message

CACHE_SIZE = 4096  # hostile requests can name 2^32 pairs of key and version; Kafka has 736
"""For each body: its schema and its decoders."""


@lru_cache(maxsize=CACHE_SIZE)
def known_body(api_key: int, api_version: int, is_response: bool) -> Message | None:
    """Return the schema of a body; None for an API or version not in it."""
    message = (
        protocol_messages.response_message(api_key)
        if is_response
        else protocol_messages.request_message(api_key)
    )
    return message if message and api_version in message.versions else None


def body_message(api_key: int, api_version: int, is_response: bool, offset: int = 0) -> Message:
    """Return the schema of a body. Raises DecodeError at `offset` for an API or version not in it."""
    message = known_body(api_key, api_version, is_response)
    if message:
        return message
    name = protocol_messages.api_name(api_key)
    why = f"version {api_version} of {name}" if name else f"API key {api_key}"
    raise DecodeError("", offset, f"{why} is not in the schema,")
