"""Loads pyarrow without its own further imports."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from kdissect.model import extras

# Half a second of unused imports: pyarrow works without them if they are not available.
_NOT_NEEDED = ("numpy", "pandas")


def load_arrow() -> None:
    """Load pyarrow, in a process of our own without numpy and pandas, which are not needed here.

    There it allocates as little as it can, unless the environment says how.
    """
    if not extras.is_own_process or not sys.modules.keys().isdisjoint({"pyarrow", *_NOT_NEEDED}):
        return
    # The allocator of the C library gives back what a row group took: 30 MB less, for the same CPU.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    for name in _NOT_NEEDED:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import_module("pyarrow").array(())  # the first array is when it looks for pandas, once
    finally:
        for name in _NOT_NEEDED:
            del sys.modules[name]
