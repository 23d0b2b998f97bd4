"""Finds the nearest configuration file: a look that every run can afford. `config.read` reads it."""

import os
from collections.abc import Callable

OWN = "kdissect.toml"
SHARED = "pyproject.toml"
"""Of the whole project: ours is its table `tool.kdissect`."""
# A project file is a page or two. What is larger is read no further for the mention of our section.
MAX_PROJECT_BYTES = 4 << 20
_HEADER = b"[tool.kdissect"


def nearest(start: str, is_ours: Callable[[str], bool]) -> str | None:
    """Return the path, from here, of the nearest file that configures kdissect, None if there is none up to
    the root.

    In one directory `kdissect.toml` goes before `pyproject.toml`, which counts if `is_ours` accepts it.
    """
    try:
        folder = os.path.abspath(start)  # noqa: PTH100  importing pathlib costs more than the search
    except FileNotFoundError:  # the working directory was removed
        return None
    while True:
        own, shared = os.path.join(folder, OWN), os.path.join(folder, SHARED)  # noqa: PTH118
        if os.path.isfile(own):  # noqa: PTH113
            return os.path.relpath(own)
        if os.path.isfile(shared) and is_ours(shared):  # noqa: PTH113
            return os.path.relpath(shared)
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def has_header(path: str) -> bool:
    """Return whether a project file has a section of ours, without reading it as TOML."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return _HEADER in file.read(MAX_PROJECT_BYTES)
    except OSError:
        return False
