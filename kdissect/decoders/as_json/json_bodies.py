"""Bodies as dicts for JSON, quirks and payloads included.

This module is separate from `bodies`, which the list of exchanges needs and which does not load it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from kdissect.decoders import quirks
from kdissect.decoders.as_json.jsonable import Jsonable, blanked, may_be_misread
from kdissect.decoders.body_schemas import CACHE_SIZE, body_message, known_body
from kdissect.decoders.generated.compiled import Decoder, decoder
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.payloads.scope import GUESSED, NEAR_SECRETS
from kdissect.schema.all_fields import has_payloads
from kdissect.schema.secrets import is_secretive
from kdissect.schema.types import Message


class JsonBody(NamedTuple):
    """A body as a dict for JSON.

    `end` is `len(data)` unless bytes are left over. `problems` name the payloads that do not fit, a line
    each.
    """

    body: dict[str, Any]
    end: int
    problems: tuple[str, ...] = ()


_NO_FACTS: Mapping[str, Any] = {}


def request_to_jsonable(
    data: bytes,
    offset: int,
    api_key: int,
    api_version: int,
    show_secrets: bool = False,
    facts: Mapping[str, Any] = _NO_FACTS,
) -> JsonBody:
    """Return the request body as a dict for JSON. `facts` help to decode payloads (`payloads.scope`).

    Raises DecodeError.
    """
    message = body_message(api_key, api_version, False, offset)
    found = _json_body(message, api_version, data, offset, show_secrets, facts)
    if found.end != len(data) and quirks.is_ignorable_tail(api_key, api_version, data, found.end):
        found = found._replace(end=len(data))
    return _judged(found, api_key, len(data), show_secrets, facts)


def response_to_jsonable(
    data: bytes,
    offset: int,
    api_key: int,
    api_version: int,
    show_secrets: bool = False,
    facts: Mapping[str, Any] = _NO_FACTS,
) -> JsonBody:
    """Return the response body as a dict for JSON, like `request_to_jsonable`."""
    version = quirks.response_body_version(api_key, api_version, data, offset)
    message = body_message(api_key, version, True, offset)
    found = _json_body(message, version, data, offset, show_secrets, facts)
    return _judged(found, api_key, len(data), show_secrets, facts)


def _judged(
    found: JsonBody, api_key: int, size: int, show_secrets: bool, facts: Mapping[str, Any]
) -> JsonBody:
    """Near secrets, blank each value that is not where it belongs, as trees do
    (`masking.conceal_misread`).
    """
    near = facts.get(NEAR_SECRETS)
    if show_secrets or not (near or is_secretive(api_key)):
        return found
    if near != GUESSED and found.end == size and not found.problems and not may_be_misread(found.body):
        return found
    return found._replace(body=blanked(found.body))


@lru_cache(maxsize=CACHE_SIZE)
def json_reader(api_key: int, api_version: int, is_response: bool, show_secrets: bool) -> Decoder | None:
    """Return a decoder equal to `request_to_jsonable` or `response_to_jsonable` for nearly all bodies.

    `(data, offset) -> (dict, end)`, which raises DecodeError. None for bodies with payloads, that may be in
    another version, or that the schema does not know.
    """
    message = known_body(api_key, api_version, is_response)
    if message is None or has_payloads(message):
        return None
    if is_response and quirks.may_answer_in_other_version(api_key):
        return None
    return json_decoder(message, api_version, show_secrets)


@lru_cache(maxsize=CACHE_SIZE)
def json_decoder(message: Message, version: int, show_secrets: bool = False) -> Decoder:
    """Return `(data, offset) -> (dict, end)` for one version of a message: fields in the order of the wire.

    Raises what `compiled.decoder` does.
    """
    read = decoder(message, version)
    made = Jsonable(show_secrets, layout=Layout(message, version))

    def json_of(data: bytes, offset: int) -> tuple[dict[str, Any], int]:
        value, end = read(data, offset)
        return made.struct(value), end

    return json_of


def _json_body(
    message: Message, version: int, data: bytes, offset: int, show_secrets: bool, facts: Mapping[str, Any]
) -> JsonBody:
    if not has_payloads(message):
        return JsonBody(*json_decoder(message, version, show_secrets)(data, offset))
    from kdissect.decoders.payloads.nesting import jsonable_body  # few bodies have payloads

    value, end = decoder(message, version)(data, offset)
    problems: list[str] = []
    body = jsonable_body(value, show_secrets, facts, problems)
    return JsonBody(body, end, tuple(problems))
