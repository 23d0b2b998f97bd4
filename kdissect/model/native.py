"""The compiled hot path, where it was built into the installation (docs/native.md).

It does nothing that Python does not do; without it everything is the same, and slower. `KDISSECT_NATIVE=0` in
the environment leaves it unused.
"""

import os
from importlib import import_module
from typing import Any

# What this version and the library expect of each other.
INTERFACE = 3


def _load() -> Any:
    if os.environ.get("KDISSECT_NATIVE") == "0":
        return None
    try:
        module = import_module("kdissect._native")  # by its name: it has no sources, and no layer
    except ImportError:
        return None
    return module if module.INTERFACE == INTERFACE else None


native: Any = _load()
"""The module `kdissect._native`; None where it is not installed, of another version, or not wanted."""


class Pickled:
    """What classes with a base that may be compiled are besides: pickled by the names of their fields.

    `FIELDS` are those of the base, compiled or with slots: so the state is the same with and without, and can
    be read with either.
    """

    __slots__ = ()
    FIELDS: tuple[str, ...]

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        kind = type(self)
        names = (*kind.FIELDS, *(name for cls in kind.__mro__ for name in getattr(cls, "__slots__", ())))
        return None, {name: getattr(self, name) for name in dict.fromkeys(names)}
