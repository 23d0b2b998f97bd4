"""Fast decoders, compiled from the schema at first use and kept: one per version of a message.

They take `bytes` (no memoryview) and an offset. Bytes after the body are not an error: compare the end with
`len(data)`. Anything that does not fit raises DecodeError, whose path and offset `tree_decoder` finds by
going over the same bytes again.
"""

from collections.abc import Callable
from functools import lru_cache
from struct import error as StructError  # noqa: N812  an exception class, whatever its case
from types import CodeType, FunctionType
from typing import Any

from kdissect.decoders.generated.emitter import Emitter
from kdissect.decoders.generated.sinks import ObjectSink
from kdissect.model.errors import DecodeError
from kdissect.schema.types import Message

Decoder = Callable[[bytes, int], tuple[Any, int]]
# Name in the emitted code of what it raises on bytes that do not fit. UnicodeDecodeError is a ValueError too.
FAULTS = "FAULTS"
_FAULTS = (ValueError, IndexError, StructError)
# Number of sources whose code is cached, some 5 KB each: a capture has some hundred, and equal sources come
# soon after each other.
_KEPT_CODES = 256

_OBJECT, _QUIETLY = "objects", "objects, quietly"

_decoders: dict[tuple[Message, int, str, bool], Decoder] = {}


def decoder(message: Message, version: int) -> Decoder:
    """Return `(data, offset) -> (value, end)` for one version; `value` is an object of `values`.

    `version` must be one of `message.versions`. The decoder raises DecodeError.
    """
    return _cached(message, version, _OBJECT)


def fits(message: Message, version: int, data: bytes, offset: int) -> bool:
    """Return whether the bytes from `offset` on are exactly one body. Raises nothing.

    No caller asks for the reason, which would take several times as long to find.
    """
    try:
        return _cached(message, version, _QUIETLY)(data, offset)[1] == len(data)
    except DecodeError:
        return False


def _cached(message: Message, version: int, form: str, lenient: bool = False) -> Decoder:
    key = message, version, form, lenient
    found = _decoders.get(key)
    if found is None:
        found = _decoders[key] = _build(message, version, form, lenient)
    return found


def _build(message: Message, version: int, form: str, lenient: bool) -> Decoder:
    """Compile.

    Unless `lenient`, the code takes strings for UTF-8 and hands over to the lenient decoder where one is
    not.
    """
    emitter = Emitter(message, version, ObjectSink(lenient))
    owner = emitter.emit_root(depth=2)
    lines = ["def decode(b, p):", "    start = p", "    end = len(b)"]
    if any("m[" in line for line in emitter.lines):
        lines.append("    m = memoryview(b)")
    lines += ["    try:", *emitter.lines]
    if not lenient:
        lines += ["    except UnicodeDecodeError:", "        return retry(b, start)"]
    lines += [f"    except {FAULTS} as error:", "        fault(b, start, error)", f"    return {owner}, p"]

    def retry(data: bytes, offset: int) -> tuple[Any, int]:
        return _cached(message, version, form, lenient=True)(data, offset)

    def fault(data: bytes, offset: int, error: Exception) -> None:
        if form == _QUIETLY:
            raise DecodeError(message.name, offset, "bytes do not fit") from None
        raise _diagnose(message, version, data, offset, error) from None

    names = emitter.names | {"retry": retry, "fault": fault}
    decode: Decoder = compile_function(lines, names, f"<{message.name} v{version} to {form}>")
    return decode


def compile_function(lines: list[str], names: dict[str, Any], title: str) -> Any:
    """Return the one function that `lines` define, with `names` as its globals.

    `title` appears in tracebacks.
    """
    names[FAULTS] = _FAULTS
    return FunctionType(_code("\n".join(lines)).replace(co_filename=title), names)


@lru_cache(maxsize=_KEPT_CODES)
def _code(source: str) -> CodeType:
    """Return the code of the one function in a source.

    Compiling is the largest part of a body's cost at first use, and one in four shares its source with
    another: versions that are the same on the wire, or messages without a field that a summary wants.
    """
    # Not `compile`, whose first call makes the hundred classes of syntax trees: 4 % of a small capture.
    made: dict[str, Any] = {}
    exec(source, made)  # emitted from the schema. It is one `def`, and no other code runs
    code: CodeType = made.popitem()[1].__code__
    return code


def _diagnose(message: Message, version: int, data: bytes, offset: int, error: Exception) -> DecodeError:
    from kdissect.decoders.trees.tree_decoder import locate  # only bytes that do not fit need it

    found = locate(message, version, data, offset)
    return found or DecodeError(message.name, offset, f"bytes do not fit ({error})")
