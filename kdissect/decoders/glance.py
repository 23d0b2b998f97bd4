"""Bodies at a glance: whether the bytes are the body and nothing else, its error codes, its batches.

For counts over whole captures, which need no values. Nearly all bodies of a kind have one of a few shapes
(`shapes`), and whether one does is one unpacking and one comparison. What has no known shape is walked
(`walk`), or, if that happens often, goes through code from the same emitter as `compiled`, with a sink that
skips what it does not want. Bodies with records have no shape: their kinds have that code at once.
"""

from functools import lru_cache

from kdissect.decoders.bodies import has_payloads
from kdissect.decoders.body_schemas import CACHE_SIZE, known_body
from kdissect.decoders.compiled import FAULTS, compile_function
from kdissect.decoders.emitter import Emitter, Sink
from kdissect.decoders.quirks import may_answer_in_other_version
from kdissect.decoders.records.sections import has_pieces, has_records, holds_records
from kdissect.decoders.records.tally import count_batches
from kdissect.decoders.shapes import BATCH, CLEAN, Glance, Glancer, Shapes
from kdissect.decoders.walk import has_errors
from kdissect.schema.types import Field, Message, MessageKind, Type


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
    return (
        compiled_glancer(message, api_version, shapes)
        if has_records(message)
        else _walking(message, api_version, shapes)
    )


def unclear(_data: bytes, _offset: int) -> None:
    """A glance does not tell."""


def _walking(message: Message, version: int, shapes: Shapes) -> Glancer:
    """Bodies are walked until there were too many shapes."""
    known, code = shapes.known.get, None

    def glance(data: bytes, offset: int) -> Glance | None:
        shape = known(len(data) - offset)
        if shape is not None and shape[0](data, offset) == shape[1]:
            return shape[2]
        if shapes.left > 0:
            return shapes.walk(data, offset)
        nonlocal code
        if code is None:
            code = _coded(message, version, shapes)
        return code(data, offset)

    return glance


def _coded(message: Message, version: int, shapes: Shapes) -> Glancer:
    """Code for bodies without known shape, where there can be some."""
    assert message.api_key is not None
    if has_payloads(message) or may_answer_in_other_version(message.api_key):
        return shapes.walk
    return compiled_glancer(message, version, shapes)


def compiled_glancer(message: Message, version: int, shapes: Shapes) -> Glancer:
    """The same by code for one version: a body that is clean and has no records leaves its shape."""
    emitter = Emitter(message, version, _GlanceSink(message))
    emitter.emit_root(depth=2)
    lines = ["def glance(b, p):", "    end = len(b)", "    shape = known(end - p)"]
    lines += ["    if shape is not None and shape[0](b, p) == shape[1]: return shape[2]"]
    lines += ["    start = p", "    count = 0", "    errors = None"]
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return walk(b, start)"]
    lines += ["    if p != end: return walk(b, start)"]
    lines += ["    if errors is not None: return new(Glance, (tuple(errors), count))"]
    lines += ["    if count: return BATCH if count == 1 else new(Glance, ((), count))"]
    lines += ["    return walk(b, start) if shapes.left > 0 else CLEAN"]
    names = emitter.names | {
        "BATCH": BATCH,
        "CLEAN": CLEAN,
        "Glance": Glance,
        "count_batches": count_batches,
        "known": shapes.known.get,
        "new": tuple.__new__,
        "shapes": shapes,
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
