"""Where the fields of a struct stand in one version: order, widths, smallest sizes, bytes of defaults.

Shared by everything that walks the schema (`emitter`, `tree_decoder`), so that the walks cannot
disagree.
"""

from collections.abc import Iterable
from struct import pack

from kdissect.schema.protocol_messages import is_never_compact
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

# struct format character and width in bytes of the fixed-width primitives, all big-endian
# (org.apache.kafka.common.protocol.types.Type).
FIXED: dict[Primitive, tuple[str, int]] = {
    Primitive.BOOL: ("?", 1),
    Primitive.INT8: ("b", 1),
    Primitive.INT16: ("h", 2),
    Primitive.UINT16: ("H", 2),
    Primitive.INT32: ("i", 4),
    Primitive.UINT32: ("I", 4),
    Primitive.INT64: ("q", 8),
    Primitive.FLOAT64: ("d", 8),
    Primitive.UUID: ("16s", 16),
}

# An element that takes no byte would let a count of 2^31 loop for free. No shipped schema has such an
# element.
MIN_ELEMENT = 1


class Layout:
    """One version of a message.

    `flexible` says whether lengths are compact and structs end with tags (KIP-482).
    """

    __slots__ = ("_least", "_plain", "_tagged", "flexible", "message", "version")

    def __init__(self, message: Message, version: int) -> None:
        self.message = message
        self.version = version
        self.flexible = message.is_flexible(version)
        self._plain: dict[Struct, list[Field]] = {}
        self._tagged: dict[Struct, list[Field]] = {}
        self._least: dict[Type, int] = {}

    def plain_fields(self, struct: Struct) -> list[Field]:
        """Untagged fields on the wire, in order."""
        found = self._plain.get(struct)
        if found is None:
            found = self._plain[struct] = self.plain_of(struct.fields)
        return found

    def plain_of(self, fields: Iterable[Field]) -> list[Field]:
        """Return the `plain_fields` among some fields of a struct."""
        return [f for f in fields if self.version in f.versions and not self.is_tagged(f)]

    def tagged_fields(self, struct: Struct) -> list[Field]:
        """Return fields that may stand in the struct's tag section, by ascending tag."""
        found = self._tagged.get(struct)
        if found is None:
            found = self._tagged[struct] = self.tagged_of(struct.fields)
        return found

    def tagged_of(self, fields: Iterable[Field]) -> list[Field]:
        """Return the `tagged_fields` among some fields of a struct."""
        return sorted(filter(self.is_tagged, fields), key=lambda f: f.tag or 0)

    def is_tagged(self, field: Field) -> bool:
        """Return whether `field` travels in the tag section in this version."""
        return field.tag is not None and self.flexible and self.version in field.tagged

    def is_nullable(self, field: Field) -> bool:
        """Return whether null is allowed for `field` in this version."""
        return self.version in field.nullable

    def is_compact(self, field: Field) -> bool:
        """Return whether the length of `field` is a uvarint of n + 1."""
        return self.flexible and not is_never_compact(self.message, field)

    def type_name(self, field: Field, of: Type) -> str:
        """Return the type of a field, or of its elements, for people: `int16`, `compact string`,
        `[]FetchTopic`.
        """
        if isinstance(of, Struct):
            return of.name
        if isinstance(of, Array):
            element = of.element
            return f"[]{element.name if isinstance(element, Struct) else element}"
        compact = of not in FIXED and self.is_compact(field)
        return f"compact {of}" if compact else str(of)

    def fixed_size(self, of: Type) -> int | None:
        """Return bytes every value of a type takes, or None where it varies."""
        if isinstance(of, Primitive):
            return FIXED[of][1] if of in FIXED else None
        if isinstance(of, Array) or self.flexible:
            return None
        total = 0
        for field in self.plain_fields(of):
            size = None if self.is_nullable(field) else self.fixed_size(field.type)
            if size is None:
                return None
            total += size
        return total or None

    def min_element(self, of: Type) -> int:
        """Return the fewest bytes an array element can take: what a count is checked against before anything
        is allocated.
        """
        found = self._least.get(of)
        if found is None:
            found = self._least[of] = max(self._min_size(of), MIN_ELEMENT)
        return found

    def _min_size(self, of: Type) -> int:
        if isinstance(of, Primitive) and of in FIXED:
            return FIXED[of][1]
        if not isinstance(of, Struct):
            return 1 if self.flexible else 2 if of is Primitive.STRING else 4
        total = 1 if self.flexible else 0
        for field in self.plain_fields(of):
            total += 1 if self.is_nullable(field) else self._min_size(field.type)
        return total

    def default_bytes(self, field: Field) -> bytes:
        """Return the bytes of a field in a flexible version if it has its default, which writers leave out in
        a tag (KIP-482 Proposed Changes).
        """
        kind, default = field.type, field.default
        if isinstance(kind, Struct) and not self.is_nullable(field):
            return b"".join(map(self.default_bytes, self.plain_fields(kind))) + b"\0"  # no tags
        if default is None:
            return b"\0"  # a compact length, or the marker of a struct in a tag (`quirks.is_null_marker`)
        if isinstance(kind, Primitive) and kind in FIXED:
            return pack(f">{FIXED[kind][0]}", default)
        content = default.encode() if isinstance(default, str) else bytes(default)  # type: ignore[call-overload]
        return bytes([len(content) + 1]) + content
