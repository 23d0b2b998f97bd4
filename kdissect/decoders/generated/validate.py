"""Validate bodies: whether the bytes are exactly the body, its error codes, its batches.

For counts over whole captures, which need no values. The native engine walks each body. Without it, code from
the emitter of `compiled` does so, with a sink that skips unwanted fields.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import CACHE_SIZE, known_body
from kdissect.decoders.generated.compiled import FAULTS, compile_function
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.quirks import UNSUPPORTED_VERSION, may_answer_in_other_version
from kdissect.decoders.records.records_fields import has_pieces
from kdissect.decoders.records.tally import count_batches
from kdissect.model.native import is_compiled, native
from kdissect.schema.all_fields import has_errors, has_payloads, holds_records
from kdissect.schema.types import Field, Message, MessageKind, Type


class Validation(NamedTuple):
    """Results of validating a body that fits to the last byte.

    `errors` are the distinct error codes that are not zero, in order of appearance; `batches` counts batches
    of records, all of them right.
    """

    errors: tuple[int, ...]
    batches: int


CLEAN = Validation((), 0)  # what nearly all bodies come to

Validator = Callable[[bytes, int], Validation | None]


@lru_cache(maxsize=CACHE_SIZE)
def validator(api_key: int, api_version: int, is_response: bool) -> Validator:
    """Return `(data, offset) -> Validation` for bodies of an API's version, which raises nothing.

    It returns None if more is needed: for bytes that do not fit or are left over, faulty batches, payloads
    inside the body, and APIs and versions that the schema does not know. Without the native engine also for
    tagged fields.
    """
    message = known_body(api_key, api_version, is_response)
    if message is None or has_pieces(message):
        return unclear
    look = _walking(message, api_version) if is_compiled else _coded(message, api_version)
    return _of_one_version(look) if is_response and may_answer_in_other_version(api_key) else look


def unclear(_data: bytes, _offset: int) -> None:
    """Return None: validation cannot decide."""


def _of_one_version(look: Validator) -> Validator:
    def validate(data: bytes, offset: int) -> Validation | None:
        found = look(data, offset)
        # Whichever version that is written in.
        return None if found is None or UNSUPPORTED_VERSION in found.errors else found

    return validate


def _walking(message: Message, version: int) -> Validator:
    """Compiled only (native/src/bodies/validate.rs)."""
    layout, may_be_cut = native_layout(message, version)[0], message.kind is MessageKind.RESPONSE
    return native.Validators(layout, Validation, CLEAN, count_batches, may_be_cut).validate


def _coded(message: Message, version: int) -> Validator:
    """By code for one version."""
    if has_payloads(message):
        return unclear
    emitter = Emitter(message, version, _ValidationSink(message))
    emitter.emit_root(depth=2)
    lines = ["def validate(b, p):", "    end = len(b)", "    count = 0", "    errors = {}"]
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return None"]
    lines += ["    if p != end: return None"]
    lines += ["    return Validation(tuple(errors), count) if count or errors else CLEAN"]
    names = emitter.names | {"CLEAN": CLEAN, "Validation": Validation, "count_batches": count_batches}
    found: Validator = compile_function(lines, names, f"<{message.name} v{version} validated>")
    return found


class _ValidationSink(Sink):
    """Finds error codes and counts batches."""

    def __init__(self, message: Message) -> None:
        self._may_be_cut = message.kind is MessageKind.RESPONSE

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return a local for a wanted value or a container of one. Tagged fields need a slower check."""
        if emitter.layout.is_tagged(field):
            return None
        if field.is_error:
            return emitter.fresh("v")
        return "inner" if self.wants(field.type) else None

    def wants(self, of: Type) -> bool:
        """Return whether there are error codes or records below."""
        return has_errors(of) or holds_records(of)

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Error codes, unless zero."""
        emitter.emit(f"if {target}: errors[{target}] = None")

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit the count of the batches of records."""
        emitter.emit(f"if {stop} > end: raise ValueError")
        emitter.emit(f"count += count_batches(b, {start}, {stop}, {self._may_be_cut})")

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """Return a statement that raises, because the values of unknown tags may not fit."""
        return "raise ValueError"
