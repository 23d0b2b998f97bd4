"""The compiled hot path, where it was built into the installation (docs/native.md).

It has no function of its own: without it the output is equal, and slower. `KDISSECT_NATIVE=0` in the
environment leaves it unused.
"""

import os

__all__ = ["INTERFACE", "is_compiled", "native", "why_without", "wish_for"]

# Version of the interface between this version and the library.
INTERFACE = 32


def _look() -> tuple[bool, str]:
    """Return whether it can be used, and the reason if it cannot and the reason is known here."""
    if os.environ.get("KDISSECT_NATIVE") == "0":
        return False, "KDISSECT_NATIVE=0"
    try:
        import kdissect._native as found  # not there where it was not compiled
    except ModuleNotFoundError:
        return False, ""
    except ImportError as error:
        return False, f"it cannot be loaded: {error}"
    if getattr(found, "INTERFACE", None) != INTERFACE:
        return False, "it was built for another version of kdissect"
    return True, ""


is_compiled, _trouble = _look()
"""Whether `native` is there: installed, of this version, and wanted. Ask before it is used."""
if is_compiled:
    import kdissect._native as native
else:
    native = None  # type: ignore[assignment]  # no type is "a module or None": the check sees the module


def why_without() -> str:
    """Return why it is not compiled, in one line, where that is known."""
    if _trouble:
        return _trouble
    from pathlib import Path  # not what a command starts with

    try:  # native/hatch_build.py writes it
        told = Path(__file__).parent.parent.joinpath("_native_missing.txt").read_text("utf-8", "replace")
    except OSError:
        return "it was not built here"
    return " ".join(told.split())


def wish_for() -> str:
    """Say that the native engine is missing and how to get it, in one line.

    Empty if it is there, or if the user chose to install or run without it.
    """
    if is_compiled:
        return ""
    why = why_without()
    if why.startswith("KDISSECT_NATIVE=0"):
        return ""
    return (
        f"note: slow, as the native engine is missing: {why}; install Rust 1.88 or later (https://rustup.rs) "
        "and reinstall kdissect, or set KDISSECT_NATIVE=0 to hide this line"
    )
