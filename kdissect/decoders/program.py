"""The steps of a route as plain numbers, for the walk that is compiled (native/src/walk.rs)."""

from kdissect.decoders.outline import OutlineRoute
from kdissect.decoders.walk import Step
from kdissect.schema.types import Array, Field, Primitive, Struct

# Kinds of steps, as the compiled walk has them too. Those of an array's elements stand OF_ARRAY higher.
PASS, ERROR, ACKS, ID, TEXT, STRING, BYTES, STRUCT = range(8)
OF_ARRAY = 8
_ID_BYTES = 16

PlainStep = tuple[int, int, bool]
"""Its kind, a width or the number of a struct, whether it may be null."""
PlainStruct = tuple[list[PlainStep], list[int]]
"""Its steps, and the tags that are looked at."""


def program_of(route: OutlineRoute) -> list[PlainStruct]:
    """The structs of a message, the root first; those in a struct stand behind it."""
    # One struct twice where it stands in two places: a number tells how deep it lies.
    waiting = [route.root]
    found: list[PlainStruct] = []
    for struct in waiting:  # which grows
        steps = [_plain(step, waiting) for step in route.steps(struct)]
        tags = [tag for tag in route.tags(struct) if tag is not None] if route.layout.flexible else []
        found.append((steps, tags))
    return found


def _plain(step: Step, waiting: list[Struct]) -> PlainStep:
    width, field, wanted, nullable = step
    if field is None:
        return PASS, width, False
    if field.is_error:
        return ERROR, 2, False
    kind = field.type
    if not isinstance(kind, Array):
        return _one(field, kind, width, wanted, waiting), _number(kind, width, waiting), nullable
    element = kind.element
    if width and not wanted:
        return OF_ARRAY + PASS, width, nullable
    return OF_ARRAY + _one(field, element, width, wanted, waiting), _number(element, width, waiting), nullable


def _one(field: Field, kind: object, width: int, wanted: bool, waiting: list[Struct]) -> int:
    if isinstance(kind, Struct):
        waiting.append(kind)
        return STRUCT
    if width:
        return ID if width == _ID_BYTES else ACKS
    if kind is Primitive.STRING:
        return TEXT if wanted else STRING
    return BYTES


def _number(kind: object, width: int, waiting: list[Struct]) -> int:
    return len(waiting) - 1 if isinstance(kind, Struct) else width
