"""APIs as users name them: `Fetch`, `fetch`, `1`."""

from kdissect.schema.protocol_messages import api, api_by_name, api_keys, api_name
from kdissect.schema.types import Api


def api_of(text: str) -> Api:
    """The API of a name or key. Raises ValueError, with a likely name, where there is none."""
    found = api(int(text)) if text.isdecimal() else api_by_name(text)
    if found is None:
        raise ValueError(f"no API {text!r}{_hint(text)}; `kdissect schema` lists all")
    return found


def api_key_of(text: str) -> int:
    """The key of an API by name, or any number: somebody may send a key that Kafka never had."""
    return int(text) if text.removeprefix("-").isdecimal() else api_of(text).key


def _hint(text: str) -> str:
    from difflib import get_close_matches

    names = {(api_name(key) or "").casefold(): api_name(key) for key in api_keys()}
    near = get_close_matches(text.casefold(), names, 1)
    return f"; did you mean {names[near[0]]}?" if near else ""
