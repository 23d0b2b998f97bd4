"""Memory of an analysis that is over.

Native objects call methods of the objects that own them, and the garbage collector does not see references of
most native objects. So owners let their native objects go, or an analysis would stay in memory for ever.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import suppress
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType

from kdissect.model.native import is_compiled, native

_NATIVE = tuple(one for one in vars(native).values() if isinstance(one, type)) if is_compiled else ()
_OURS = __name__.partition(".")[0]


def release(*parts: object) -> None:
    """Let the garbage collector free objects and everything below them, unless something else uses it.

    They cannot be used any more.
    """
    waiting, seen = list(parts), set(map(id, parts))
    owners: list[tuple[object, str]] = []
    while waiting:
        one = waiting.pop()
        if type(one).__module__.startswith(f"{_OURS}."):
            owners += [(one, name) for name, value in _attributes(one) if _is_native(value)]
        for found in gc.get_referents(one):
            if id(found) not in seen and not isinstance(found, type | ModuleType | FunctionType):
                seen.add(id(found))
                waiting.append(found)
    for owner, name in owners:
        with suppress(AttributeError):
            delattr(owner, name)


def trim() -> None:
    """Give free memory back to the system: the C library of most Linux systems keeps it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)  # malloc_trim(3), of glibc


def _is_native(value: object) -> bool:
    if isinstance(value, BuiltinMethodType | MethodType):
        value = value.__self__
    return isinstance(value, _NATIVE)


def _attributes(one: object) -> Iterator[tuple[str, object]]:
    yield from getattr(one, "__dict__", {}).items()
    for kind in type(one).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(one, name):
                yield name, getattr(one, name)
