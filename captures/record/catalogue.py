"""Finds the scenarios: every module in `scenarios` that has a NAME, a BROKER and a run."""

import importlib
import pkgutil
from types import ModuleType

from captures.record import scenarios


def catalogue() -> dict[str, ModuleType]:
    """Return the scenarios by name, in order of their names."""
    found = {}
    for entry in pkgutil.iter_modules(scenarios.__path__):
        module = importlib.import_module(f"{scenarios.__name__}.{entry.name}")
        if hasattr(module, "NAME"):
            found[module.NAME] = module
    return dict(sorted(found.items()))


def story(module: ModuleType) -> str:
    """Return what a scenario says of itself, as one line."""
    return " ".join((module.__doc__ or "").split())
