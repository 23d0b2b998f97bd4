"""What a tagged field takes on the wire if it holds its default, which writers leave out.

A missing tag stands for the default (KIP-482 Proposed Changes), so that a tag with these bytes is not the
form that writers give a body.
"""

import struct

from kdissect.decoders.generated.struct_layout import FIXED, Layout
from kdissect.schema.types import Array, Field, Struct

_NULL = b"\0"  # a compact length, or the marker of a struct in a tag (`quirks.is_null_marker`)
_NO_TAGS = b"\0"


def default_bytes(layout: Layout, field: Field) -> bytes:
    """The bytes of the default of a field, in a flexible version."""
    kind, default = field.type, field.default
    if isinstance(kind, Struct):
        if layout.is_nullable(field):
            return _NULL
        return b"".join(default_bytes(layout, inner) for inner in layout.plain_fields(kind)) + _NO_TAGS
    if default is None:
        return _NULL
    if isinstance(kind, Array):
        return b"\1"  # no element: a default that is not null is empty
    if kind in FIXED:
        return struct.pack(f">{FIXED[kind][0]}", default)
    content = default.encode() if isinstance(default, str) else bytes(default)  # type: ignore[call-overload]
    return bytes([len(content) + 1]) + content
