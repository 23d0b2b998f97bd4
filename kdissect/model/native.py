"""The compiled hot path, where it was built into the installation (docs/native.md).

It does nothing that Python does not do; without it everything is the same, and slower. `KDISSECT_NATIVE=0` in
the environment leaves it unused.
"""

import os
from importlib import import_module
from typing import Any

# What this version and the library expect of each other.
INTERFACE = 1


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


def slots_of(state: Any) -> tuple[None, dict[str, Any]]:
    """What pickle keeps of an object without `__dict__`, for its `__getstate__`.

    Fields that a compiled base class holds are among its attributes: so the state is the same with and
    without, and can be read with either.
    """
    kind = type(state)
    names = (*kind.FIELDS, *(name for cls in kind.__mro__ for name in getattr(cls, "__slots__", ())))
    return None, {name: getattr(state, name) for name in dict.fromkeys(names)}
