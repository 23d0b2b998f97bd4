"""Which configuration file holds: the nearest, from a directory upwards."""

import os

from kdissect.config.read import OWN, SHARED, has_section

_SECTION = b"kdissect"
# A project file is a page or two. What is larger is read no further for the mention of our section.
_MAX_PROJECT_BYTES = 4 << 20


def find_config(start: str) -> str | None:
    """Path, from here, of the nearest file that configures kdissect, None if there is none up to the root.

    In one directory `kdissect.toml` goes before `pyproject.toml`, and a `pyproject.toml` that does not name
    kdissect configures others.
    """
    try:
        folder = os.path.abspath(start)  # noqa: PTH100  importing pathlib costs more than the search
    except FileNotFoundError:  # the working directory was removed
        return None
    while True:
        own, shared = os.path.join(folder, OWN), os.path.join(folder, SHARED)  # noqa: PTH118
        if os.path.isfile(own):  # noqa: PTH113
            return os.path.relpath(own)
        if _names_us(shared):
            return os.path.relpath(shared)
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def _names_us(path: str) -> bool:
    """Whether a project file may hold our section: a cheap look before TOML is parsed."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            if _SECTION not in file.read(_MAX_PROJECT_BYTES):
                return False
    except OSError:
        return False
    return has_section(path)
