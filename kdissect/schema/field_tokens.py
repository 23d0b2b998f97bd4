"""The words of a field's line: version ranges, and types with their nullability and default."""

from functools import lru_cache
from typing import NamedTuple

from kdissect.schema.types import NO_UPPER_BOUND, NO_VERSIONS, Versions

_INTEGERS = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64"})
_BOOLEANS = {"true": True, "false": False}
# The default of a field without a written one (org.apache.kafka.message.FieldSpec).
_ZEROS: dict[str, object] = {
    **dict.fromkeys(_INTEGERS, 0),
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
    "records": None,
}
# distinct version ranges and type tokens, of which the whole shipped schema has about 500
_CACHED_TOKENS = 1024


class TypeToken(NamedTuple):
    """The parts of a token such as `[]FetchTopic?12+(null)`."""

    name: str
    is_array: bool
    nullable: Versions | None  # None: not nullable; NO_VERSIONS: wherever the field is
    default: object


@lru_cache(maxsize=_CACHED_TOKENS)
def parse_versions(word: str) -> Versions:
    """Return the versions of `3`, `0-14`, `12+` or `none`. Raises ValueError."""
    if word == "none":
        return NO_VERSIONS
    first, dash, last = word.partition("-")
    try:
        if dash:
            return Versions(int(first), int(last))
        if word[-1] == "+":
            return Versions(int(word[:-1]), NO_UPPER_BOUND)
        return Versions(int(word), int(word))
    except ValueError:
        raise ValueError(f"'{word}' is no version range (3, 0-14, 12+, none)") from None


@lru_cache(maxsize=_CACHED_TOKENS)
def parse_type(token: str) -> TypeToken:
    """Return the parts of `[]FetchTopic?12+(null)`. Raises ValueError."""
    body, parenthesis, written = token.partition("(")
    if parenthesis and not written.endswith(")"):
        raise ValueError(f"'{token}': the default is not closed by ')'")
    name, question, range_ = body.partition("?")
    is_array = name.startswith("[]")
    name = name.removeprefix("[]")
    nullable = None
    if question:
        nullable = parse_versions(range_) if range_ else NO_VERSIONS
    default = _default(name, is_array, written[:-1] if parenthesis else None)
    return TypeToken(name, is_array, nullable, default)


def _default(type_name: str, is_array: bool, written: str | None) -> object:
    if written is None:
        return () if is_array else _ZEROS.get(type_name)
    if written == "null":
        return None
    if is_array:
        raise ValueError("an array's default can only be null")
    try:
        return _typed_default(type_name, written)
    except (KeyError, ValueError):
        raise ValueError(f"the default '{written}' does not fit {type_name}") from None


def _typed_default(type_name: str, written: str) -> object:
    if type_name in _INTEGERS:
        return int(written)
    if type_name == "bool":
        return _BOOLEANS[written]
    if type_name == "float64":
        return float(written)
    if type_name == "string" and len(written) >= 2 and written[0] == written[-1] == '"':
        return written[1:-1]
    raise ValueError
