"""Settings that last from one run to the next: theme, columns, earlier filters, no content from the wire.

A small JSON file in the user's configuration directory (`XDG_CONFIG_HOME`, and its equivalent on other
systems). A file that is damaged or cannot be written costs only its own content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from kdissect.capture.whole_file import WholeFile


class State:
    """Initial values. The app changes them as the user does, and calls `save` at the end.

    This class forgets them. A subclass that stores them in the user's configuration directory overrides
    `load` and `save`. Neither of them raises an exception.
    """

    def __init__(self) -> None:
        self.theme = "textual-dark"
        self.columns: tuple[str, ...] = ()
        """Names of `exchange_columns.COLUMNS`; none: all that fit."""
        self.history: list[str] = []
        """Filters, the latest last."""
        self.load()

    def load(self) -> None:
        """Load the stored values."""

    def save(self) -> None:
        """Keep it."""


APPLICATION = "kdissect"
_FILE_NAME = "tui.json"
FILTERS_KEPT = 100
# Characters of one filter, and bytes of the file. Users do not type more, and a larger file is not ours.
LONGEST_FILTER = 4096
LARGEST_FILE = 1 << 20
_VERSION = 1


def state_path() -> Path:
    """Return the path of the state file."""
    return user_config_path(APPLICATION, appauthor=False) / _FILE_NAME


class KeptState(State):
    """A state that begins with what was saved to `path`. `load` and `save` raise nothing."""

    def __init__(self, path: Path | None = None, is_saved: bool = True) -> None:
        self.path = path or state_path()
        self._is_saved = is_saved
        super().__init__()

    def load(self) -> None:
        """Read the stored values, if there are any that can be read."""
        with suppress(OSError, ValueError, RecursionError):
            with self.path.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
            if len(data) <= LARGEST_FILE:
                self._take(json.loads(data))

    def save(self) -> None:
        """Write the file: complete, or as it was before. Nothing if the screen may not write files."""
        if not self._is_saved:
            return
        text = json.dumps(self._plain(), indent=1, ensure_ascii=True)
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with WholeFile(str(self.path)) as file:
                file.write(text.encode("ascii") + b"\n")

    def _plain(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "theme": self.theme,
            "columns": list(self.columns),
            "filters": _worth_keeping(self.history),
        }

    def _take(self, found: Any) -> None:
        """Take the values of the right type only."""
        if not isinstance(found, dict):
            return
        theme, columns, filters = found.get("theme"), found.get("columns"), found.get("filters")
        if isinstance(theme, str):
            self.theme = theme
        if isinstance(columns, list):
            self.columns = tuple(value for value in columns if isinstance(value, str))
        if isinstance(filters, list):
            self.history = _worth_keeping(value for value in filters if isinstance(value, str))


def _worth_keeping(filters: Iterable[str]) -> list[str]:
    """Return the latest filters, each once, in the order of their last use."""
    found: dict[str, None] = {}
    for text in filters:
        if text.strip() and len(text) <= LONGEST_FILTER:
            found.pop(text, None)
            found[text] = None
    return list(found)[-FILTERS_KEPT:]
