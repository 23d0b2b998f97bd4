"""The compiled hot path, where it was built into the installation (docs/native.md).

It does nothing that Python does not do; without it everything is the same, and slower. `KDISSECT_NATIVE=0` in
the environment leaves it unused.
"""

import os
from importlib import import_module
from typing import Any

# What this version and the library expect of each other.
INTERFACE = 5


def _load() -> tuple[Any, str]:
    if os.environ.get("KDISSECT_NATIVE") == "0":
        return None, "KDISSECT_NATIVE=0"
    try:
        module = import_module("kdissect._native")  # by its name: it has no sources, and no layer
    except ModuleNotFoundError:
        return None, ""
    except ImportError as error:
        return None, f"it cannot be loaded: {error}"
    if module.INTERFACE != INTERFACE:
        return None, "it was built for another version of kdissect"
    return module, ""


native: Any
"""The module `kdissect._native`; None where it is not installed, of another version, or not wanted."""
native, _trouble = _load()


def why_without() -> str:
    """Why `native` is None, in one line, where that is known."""
    if _trouble:
        return _trouble
    from pathlib import Path  # not what a command starts with

    try:  # native/hatch_build.py writes it
        told = Path(__file__).parent.parent.joinpath("_native_missing.txt").read_text("utf-8", "replace")
    except OSError:
        return "it was not built here"
    return " ".join(told.split())


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
