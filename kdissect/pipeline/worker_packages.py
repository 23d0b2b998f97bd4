"""Packages that the driver has and a worker lacks."""

from __future__ import annotations

import re
from collections.abc import Collection
from socket import gethostname

from kdissect.model.extras import missing_personal
from kdissect.serdes.decoders import missing_modules
from kdissect.stages.per_flow import OF_PERSONAL

_RAISED = re.compile(rf"{ModuleNotFoundError.__name__}: (on \S+, [^\n]+)")


def require_here(modules: tuple[str, ...], tables: Collection[str]) -> None:
    """Raise ModuleNotFoundError with `missing_here`, if this host lacks packages."""
    missing = missing_here(modules, tables)
    if missing is not None:
        raise ModuleNotFoundError(missing)


def missing_there(error: Exception) -> str | None:
    """Return the message of `require_here` on a worker, which Spark's exception has in its text, or None."""
    found = _RAISED.search(str(error))
    return None if found is None else found[1]


def missing_here(modules: tuple[str, ...], tables: Collection[str]) -> str | None:
    """Return the message that this host lacks packages for some tables; None if it has all.

    `modules` are those for values with schemas, as `installed_modules` lists them on the driver.
    """
    missing = missing_modules(modules)
    if missing is None and not OF_PERSONAL.isdisjoint(tables):
        missing = missing_personal()
    return None if missing is None else f"on {gethostname()}, {missing}"
