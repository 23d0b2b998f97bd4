"""Bodies at a glance: whether the bytes are the body and nothing else, its error codes, its batches.

For counts over whole captures, which need no values. Nearly all bodies of a kind have one of a few shapes
(`shapes`), and whether one does is one unpacking and one comparison. What has no known shape is walked
(`survey`), or, if that happens often, goes through code from the same emitter as `compiled`, with a sink that
skips what it does not want.
"""

from functools import lru_cache
from struct import Struct as Format
from struct import error as StructError  # noqa: N812  an exception class, whatever its case

from kdissect.decoders.body_schemas import CACHE_SIZE, known_body
from kdissect.decoders.compiled import FAULTS, compile_function
from kdissect.decoders.cursor import uvarint
from kdissect.decoders.emitter import Emitter, Sink
from kdissect.decoders.quirks import may_answer_in_other_version
from kdissect.decoders.records.sections import has_pieces
from kdissect.decoders.records.tally import count_batches
from kdissect.decoders.shapes import BATCH, CLEAN, Glance, Glancer, Shapes
from kdissect.schema.types import Field, Message, MessageKind, Type
from kdissect.schema.walk import has_errors, has_payloads, has_records, holds_records

_INT32 = Format(">i").unpack_from
_new = tuple.__new__  # saves the call of a NamedTuple's own constructor


@lru_cache(maxsize=CACHE_SIZE)
def glancer(api_key: int, api_version: int, is_response: bool) -> Glancer:
    """`(data, offset) -> Glance` for bodies of an API's version; raises nothing.

    None where more than a glance is needed: bytes that do not fit or are left over, batches with anything
    wrong, payloads inside the body, APIs and versions that the schema does not know.
    """
    message = known_body(api_key, api_version, is_response)
    if message is None or has_pieces(message):
        return unclear
    shapes = Shapes(message, api_version)
    others = _others(message, api_version, shapes)
    return _with_records(shapes, others) if has_records(message) else _without_records(shapes, others)


def unclear(_data: bytes, _offset: int) -> None:
    """A glance does not tell."""


def _without_records(shapes: Shapes, others: Glancer) -> Glancer:
    known = shapes.known.get

    def glance(data: bytes, offset: int) -> Glance | None:
        shape = known(len(data) - offset)
        if shape is not None and shape[0](data, offset) == shape[1]:
            return shape[2]
        return others(data, offset)

    return glance


def _with_records(shapes: Shapes, others: Glancer) -> Glancer:
    known, compact, may_be_cut = shapes.known.get, shapes.compact, shapes.may_be_cut
    open_shape = shapes.open.get

    def glance(data: bytes, offset: int) -> Glance | None:
        end = len(data)
        shape = known(end - offset)
        if shape is not None and shape[0](data, offset) == shape[1]:
            return shape[2]
        try:
            wanted = open_shape(shapes.head(data, offset))
            if wanted is not None:
                unpack, before, at, behind, unpack_behind, after = wanted
                if compact:
                    size, start = uvarint(data, offset + at)
                    size -= 1
                else:
                    (size,) = _INT32(data, offset + at)
                    start = offset + at + 4
                stop = end - behind
                if (
                    size == stop - start >= 0
                    and unpack(data, offset) == before
                    and unpack_behind(data, stop) == after
                ):
                    count = count_batches(data, start, stop, may_be_cut)
                    return BATCH if count == 1 else _new(Glance, ((), count))
        except (ValueError, IndexError, StructError):
            pass
        return others(data, offset)

    return glance


def _others(message: Message, version: int, shapes: Shapes) -> Glancer:
    """For bodies without known shape: walked until there were too many; then there can be code for them."""
    code: Glancer | None = None

    def glance(data: bytes, offset: int) -> Glance | None:
        found = shapes.walk(data, offset) if shapes.left > 0 else None
        if found is not None:
            return found
        nonlocal code
        if code is None:
            code = _coded(message, version, shapes)
        return code(data, offset)

    return glance


def _coded(message: Message, version: int, shapes: Shapes) -> Glancer:
    assert message.api_key is not None
    if has_payloads(message) or may_answer_in_other_version(message.api_key):
        return shapes.walk
    return compiled_glancer(message, version, shapes)


def compiled_glancer(message: Message, version: int, shapes: Shapes) -> Glancer:
    """The same by code for one version; what that cannot tell of is walked."""
    emitter = Emitter(message, version, _GlanceSink(message))
    emitter.emit_root(depth=2)
    lines = ["def glance(b, p):", "    end = len(b)", "    start = p", "    count = 0", "    errors = None"]
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return walk(b, start)"]
    lines += ["    if p != end: return walk(b, start)"]
    lines += ["    if errors is not None: return new(Glance, (tuple(errors), count))"]
    lines += ["    if count: return BATCH if count == 1 else new(Glance, ((), count))"]
    lines += ["    return CLEAN"]
    names = emitter.names | {
        "BATCH": BATCH,
        "CLEAN": CLEAN,
        "Glance": Glance,
        "count_batches": count_batches,
        "new": _new,
        "walk": shapes.walk,
    }
    found: Glancer = compile_function(lines, names, f"<{message.name} v{version} at a glance>")
    return found


class _GlanceSink(Sink):
    """Finds error codes and counts batches."""

    def __init__(self, message: Message) -> None:
        self._may_be_cut = message.kind is MessageKind.RESPONSE

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """A local for what is wanted, and for containers of it; tagged fields deserve more than a glance."""
        if emitter.layout.is_tagged(field):
            return None
        if field.is_error:
            return emitter.fresh("v")
        return "inner" if self.wants(field.type) else None

    def wants(self, of: Type) -> bool:
        """Whether there are error codes or records below."""
        return has_errors(of) or holds_records(of)

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Error codes, unless zero."""
        emitter.emit(f"if {target}: errors = {{**(errors or {{}}), {target}: None}}")

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """The batches of records."""
        emitter.emit(f"if {stop} > end: raise ValueError")
        emitter.emit(f"count += count_batches(b, {start}, {stop}, {self._may_be_cut})")

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """What stands in them may not fit."""
        return "raise ValueError"
