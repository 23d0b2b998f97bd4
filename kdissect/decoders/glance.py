"""Bodies at a glance: whether the bytes are the body and nothing else, its error codes, its records fields.

For counts over whole captures, which need no values: every field is walked, in one pass, and nothing is made
of it. The same emitter as `compiled`, with a sink that skips what it does not want.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import CACHE_SIZE, body_message
from kdissect.decoders.compiled import FAULTS, compile_function
from kdissect.decoders.emitter import Emitter
from kdissect.decoders.quirks import may_answer_in_other_version
from kdissect.decoders.records.sections import SECTION_NAMES, Section, SectionSink, has_records
from kdissect.model.errors import DecodeError
from kdissect.schema.types import Array, Field, Message, Struct, Type
from kdissect.schema.walk import has_payloads


class Glance(NamedTuple):
    """`errors` are the distinct error codes that are not zero, in order of appearance; `sections` the records
    fields that are not null.
    """

    errors: tuple[int, ...]
    sections: list[Section]


Glancer = Callable[[bytes, int], Glance | None]


@lru_cache(maxsize=CACHE_SIZE)
def glancer(api_key: int, api_version: int, is_response: bool) -> Glancer:
    """`(data, offset) -> Glance` for bodies of an API's version; raises nothing.

    None where more than a glance is needed: bytes that do not fit or are left over, tags, payloads inside
    the body, APIs and versions that the schema does not know.
    """
    try:
        message = body_message(api_key, api_version, is_response)
    except DecodeError:
        return _unclear
    if has_payloads(message) or (is_response and may_answer_in_other_version(api_key)):
        return _unclear
    return _compiled(message, api_version)


def _unclear(_data: bytes, _offset: int) -> None:
    return None


def _compiled(message: Message, version: int) -> Glancer:
    emitter = Emitter(message, version, _GlanceSink(message))
    emitter.emit_root(depth=2)
    lines = ["def glance(b, p):", "    end = len(b)", "    found = []", "    errors = {}"]
    lines += ["    topic = topic_id = partition = position = end_offset = epoch = None"]
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return None"]
    lines += ["    if p != end: return None"]
    lines += ["    return new(Glance, (tuple(errors) if errors else (), found))"]
    names = emitter.names | SECTION_NAMES | {"Glance": Glance}
    found: Glancer = compile_function(lines, names, f"<{message.name} v{version} at a glance>")
    return found


class _GlanceSink(SectionSink):
    """Finds records fields as its base does, and error codes besides."""

    def __init__(self, message: Message) -> None:
        super().__init__()
        self._has_records = has_records(message)

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """A local for an error code, else what the base wants; tagged fields deserve more than a glance."""
        if emitter.layout.is_tagged(field):
            return None
        if field.is_error:
            return emitter.fresh("v")
        if isinstance(field.type, Array | Struct) and _has_errors(field.type):
            return "inner"
        return super().target(emitter, owner, field) if self._has_records else None

    def wants(self, of: Type) -> bool:
        """Whether there are error codes or records below."""
        return _has_errors(of) or super().wants(of)

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Error codes, unless zero."""
        if field.is_error:
            emitter.emit(f"if {target}: errors[{target}] = None")

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """What stands in them may not fit."""
        return "raise ValueError"


def _has_errors(of: Type) -> bool:
    if isinstance(of, Struct):
        return any(field.is_error or _has_errors(field.type) for field in of.fields)
    return isinstance(of, Array) and _has_errors(of.element)
