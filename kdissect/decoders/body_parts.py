"""Bodies that were cut, or have a field that does not fit, as far as they go.

Trees use the same walk (`tree_decoder`), so that all outputs show such a body in the same manner.
"""

from typing import Any

from kdissect.decoders import quirks
from kdissect.decoders.as_json.jsonable import blanked, to_jsonable
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.payloads.nesting import jsonable_body
from kdissect.decoders.payloads.scope import Facts, may_hold_secrets
from kdissect.decoders.trees.tree_decoder import Part, decode_part
from kdissect.schema.all_fields import has_payloads


def body_part(
    data: bytes, offset: int, api_key: int, api_version: int, is_response: bool, facts: Facts
) -> Part | None:
    """Return the part of the body at `offset` that can be decoded; None if the schema does not know the body.

    Raises nothing.
    """
    version = quirks.response_body_version(api_key, api_version, data, offset) if is_response else api_version
    message = known_body(api_key, version, is_response)
    if message is None:
        return None
    return decode_part(message, version, data, offset, enter=not may_hold_secrets(api_key, facts))


def part_jsonable(part: Part, api_key: int, show_secrets: bool, facts: Facts) -> dict[str, Any]:
    """Return a part of a body as a dict for JSON.

    Near secrets all is masked that may be a piece of one, as in trees.
    """
    if has_payloads(part.message):
        body = jsonable_body(part.value, show_secrets, facts, [])
    else:
        body = to_jsonable(part.value, show_secrets)
    return body if show_secrets or not may_hold_secrets(api_key, facts) else blanked(body)
