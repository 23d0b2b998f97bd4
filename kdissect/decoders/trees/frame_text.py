"""Frames as the text of their trees in the native engine, equal to `tree.render` for trees that `frames`
dissects.

The native engine does not write frames that do not fit, hold tags that the schema does not know, or have text
that is not ASCII or numbers beyond reason. Python writes the payloads in a frame.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from kdissect.decoders.body_schemas import CACHE_SIZE, known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.headers import (
    REQUEST,
    RESPONSE,
    request_header_version,
    response_header_version,
)
from kdissect.decoders.quirks import foreign_start
from kdissect.decoders.records.records_fields import has_pieces
from kdissect.decoders.trees.tree_text import API_FIELDS
from kdissect.model.native import is_compiled, native
from kdissect.schema import protocol_messages
from kdissect.schema.enums import enumeration
from kdissect.schema.error_codes import all_errors
from kdissect.schema.secrets import is_sensitive
from kdissect.schema.types import Array, Field, Message

Meanings: TypeAlias = tuple[dict[int, bytes], dict[bytes, bytes]]
"""Names of values that are numbers, and names of text values."""
Row: TypeAlias = tuple[bytes, bytes, int | None, int]
"""`name: type` of a field, the type of its elements, the index of its values' meanings, and its part in what
is secret (native/src/bodies/tree_text.rs, `Use`).
"""
MessageRows: TypeAlias = "tuple[native.Layout, bytes, list[tuple[list[Row], list[Row]]]]"
"""Layout, `name: type`, and for each struct its fields and its tagged fields."""
_SECRET, _CONFIG_VALUE = 1, 2
_OF_CONFIG = {"name": 4, "is_sensitive": 8, "config_type": 16}  # what `is_sensitive` reads besides the value


@lru_cache(maxsize=CACHE_SIZE)
def tree_text(
    api_key: int, api_version: int, is_response: bool, margin: str, show_secrets: bool = False
) -> "native.TreeText | None":
    """Return the writer of such trees, each line after `margin`.

    None without the native engine, for pieces of snapshots, and for frames that the schema does not know.
    """
    body = known_body(api_key, api_version, is_response)
    if not is_compiled or body is None or has_pieces(body):
        return None
    of_version = response_header_version if is_response else request_header_version
    plain = 0 if is_response else 1  # the version of a header without tags
    version = of_version(api_key, api_version)
    if version < plain:
        return None
    header = protocol_messages.header_message(RESPONSE if is_response else REQUEST)
    labels = _Labels(show_secrets)
    return native.TreeText(
        b"Response: frame" if is_response else b"Request: frame",
        labels.rows(header, plain),
        labels.rows(body, api_version),
        labels.meanings,
        version > plain,
        foreign_start(api_key, is_response),
        margin.encode(),
        _is_public,
    )


def _is_public(name: str | None, value: str | None) -> bool:
    """Return whether the value of a config is no secret, unless other fields of its struct say so."""
    return not is_sensitive({"name": name, "value": value})


class _Labels:
    """Labels on the lines of a message; `meanings` grow as fields name them."""

    def __init__(self, show_secrets: bool) -> None:
        self._show_secrets = show_secrets
        self.meanings: list[Meanings] = []
        self._known: dict[str, int] = {}

    def rows(self, message: Message, version: int) -> MessageRows:
        """Return the labels for one version of a message."""
        made, structs, _ = native_layout(message, version)
        layout = Layout(message, version)
        rows = [
            (self._rows(layout, layout.plain_fields(of)), self._rows(layout, layout.tagged_fields(of)))
            for of in structs
        ]
        return made, f"{message.name}: {message.root.name}".encode(), rows

    def _rows(self, layout: Layout, fields: Iterable[Field]) -> list[Row]:
        return [self._row(layout, field) for field in fields]

    def _row(self, layout: Layout, field: Field) -> Row:
        kind = field.type
        element = layout.type_name(field, kind.element) if isinstance(kind, Array) else ""
        line = f"{field.name}: {layout.type_name(field, kind)}"
        return line.encode(), element.encode(), self._meaning(field), self._use(field)

    def _use(self, field: Field) -> int:
        if self._show_secrets:
            return 0
        own = _SECRET * field.is_secret | _CONFIG_VALUE * field.is_config_value
        return own | _OF_CONFIG.get(field.name, 0)

    def _meaning(self, field: Field) -> int | None:
        """Return the index of a field's table of meanings, which `tree` uses, too."""
        if field.is_error:
            return self._number("error", {error.code: error.name for error in all_errors()})
        found = enumeration(field.enum) if field.enum else None
        if found is not None:
            return self._number(found.name, found.values)
        if field.enum is None and field.name in API_FIELDS:
            return self._number(
                "api", {key: protocol_messages.api_name(key) or "" for key in protocol_messages.api_keys()}
            )
        return None

    def _number(self, name: str, values: dict[int | str, str] | dict[int, str]) -> int:
        if name not in self._known:
            self._known[name] = len(self.meanings)
            self.meanings.append(_split(values))
        return self._known[name]


def _split(values: dict[int | str, str] | dict[int, str]) -> Meanings:
    numbers = {key: name.encode() for key, name in values.items() if isinstance(key, int)}
    texts = {key.encode(): name.encode() for key, name in values.items() if isinstance(key, str)}
    return numbers, texts
