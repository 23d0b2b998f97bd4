"""The way to the records of a body as steps of numbers, for the compiled walk
(native/src/records/program.rs).

The same fields as `sections` keeps and passes over, in the same order; a test holds both equal.
"""

from functools import cache

from kdissect.decoders.layout import FIXED, Layout
from kdissect.decoders.section_parts import part_of
from kdissect.schema.types import Array, Field, Message, Primitive, Struct
from kdissect.schema.walk import holds_records

Step = tuple[int, int, int, int]
"""What is done, flags, and two numbers: a width or least width, the number of the step behind."""

# As `Step::of` in program.rs has them.
SKIP, TEXT, BYTES, RECORDS, PARTITION, TOPIC_ID, PASS, LOOP, NEXT, MAYBE, TAGS = range(11)
COMPACT, NULLABLE, WANTED = 1, 2, 4


@cache
def program(message: Message, version: int) -> list[Step] | None:
    """The steps through one version; None where something is in the way that the walk does not know."""
    try:
        return _Program(message, version).steps
    except ValueError:
        return None


class _Program:
    """Writes the steps. Raises ValueError for what the walk does not know."""

    def __init__(self, message: Message, version: int) -> None:
        self._layout = Layout(message, version)
        self.steps: list[Step] = []
        self._struct(message.root)

    def _struct(self, of: Struct) -> None:
        for field in self._layout.plain_fields(of):
            self._field(field)
        for field in self._layout.tagged_fields(of):
            kind = field.type
            if holds_records(kind) if isinstance(kind, Array | Struct) else part_of(field):
                raise ValueError("a tagged field is wanted")
        if self._layout.flexible:
            self.steps.append((TAGS, 0, 0, 0))

    def _field(self, field: Field) -> None:
        kind = field.type
        if isinstance(kind, Array):
            self._array(field, kind.element)
        elif isinstance(kind, Struct):
            self._maybe(field, kind)
        elif kind in FIXED:
            self._fixed(FIXED[kind][1], part_of(field))
        else:
            compact = self._layout.is_compact(field) if kind is Primitive.STRING else self._layout.flexible
            self._variable(kind, self._flags(compact, field), part_of(field) == "topic")

    def _flags(self, compact: bool, field: Field) -> int:
        return COMPACT * compact | NULLABLE * self._layout.is_nullable(field)

    def _fixed(self, width: int, part: str | None) -> None:
        if (part, width) == ("partition", 4):
            self.steps.append((PARTITION, 0, 0, 0))
        elif (part, width) == ("topic_id", 16):
            self.steps.append((TOPIC_ID, 0, 0, 0))
        elif part is not None:
            raise ValueError(f"no step for {part}")
        elif self.steps and self.steps[-1][0] == SKIP:
            self.steps[-1] = (SKIP, 0, self.steps[-1][2] + width, 0)
        else:
            self.steps.append((SKIP, 0, width, 0))

    def _variable(self, kind: Primitive, flags: int, wanted: bool) -> None:
        step = TEXT if kind is Primitive.STRING else RECORDS if kind is Primitive.RECORDS else BYTES
        self.steps.append((step, flags | WANTED * wanted, 0, 0))

    def _maybe(self, field: Field, of: Struct) -> None:
        if not self._layout.is_nullable(field):
            self._struct(of)
            return
        place = len(self.steps)
        self.steps.append((MAYBE, 0, 0, 0))
        self._struct(of)
        self._end(place, (MAYBE, 0, len(self.steps), 0))

    def _array(self, field: Field, element: Primitive | Struct) -> None:
        flags = self._flags(self._layout.flexible, field)
        width = self._layout.fixed_size(element)
        if width and not holds_records(element):
            self.steps.append((PASS, flags, width, 0))
            return
        place = len(self.steps)
        self.steps.append((LOOP, flags, 0, 0))
        if isinstance(element, Struct):
            self._struct(element)
        else:
            self._variable(element, COMPACT * self._layout.flexible, wanted=False)
        self.steps.append((NEXT, 0, 0, 0))
        self._end(place, (LOOP, flags, self._layout.min_element(element), len(self.steps)))

    def _end(self, place: int, step: Step) -> None:
        """A step of which it is known now where it leads. Bytes behind are not skipped with those before."""
        self.steps[place] = step
        if step[0] == MAYBE:
            self.steps.append((SKIP, 0, 0, 0))
