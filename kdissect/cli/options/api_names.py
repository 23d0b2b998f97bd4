"""APIs as users name them: `Fetch`, `fetch`, `1`."""

from kdissect.cli.options.wanted_names import near_names
from kdissect.schema.protocol_messages import api, api_by_name, api_keys, api_name
from kdissect.schema.types import Api


def api_of(text: str) -> Api:
    """Return the API of a name or key. Raises ValueError, with a likely name, for an unknown one."""
    found = api(int(text)) if text.isdecimal() else api_by_name(text)
    if found is None:
        raise ValueError(f"no API {text!r}{_hint(text)}; `kdissect schema` lists all")
    return found


def api_key_of(text: str) -> int:
    """Return the key of an API by name, or any number: somebody may send a key that Kafka never had."""
    return int(text) if text.removeprefix("-").isdecimal() else api_of(text).key


def _hint(text: str) -> str:
    names = {(api_name(key) or "").casefold(): api_name(key) for key in api_keys()}
    near = near_names(text.casefold(), names)
    return f"; did you mean {names[near[0]]}?" if near else ""
