"""What stays from one run to the next: theme, columns, filters used before. No secrets, nothing from the wire
but the filters a person typed.

A small JSON file in the user's configuration directory (`XDG_CONFIG_HOME` and what other systems have in its
place). A file that is damaged or cannot be written costs what stands in it, and nothing else.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

APPLICATION = "kdissect"
FILE_NAME = "tui.json"
FILTERS_KEPT = 100
# Of one filter, and of the file: nobody types more, and whatever else stands there is not ours.
LONGEST_FILTER = 4096
LARGEST_FILE = 1 << 20
_VERSION = 1


def state_path() -> Path:
    """Where the state is kept."""
    from platformdirs import user_config_path

    return user_config_path(APPLICATION, appauthor=False) / FILE_NAME


class State:
    """`theme`, `columns` by view (names in their order), `filters` (the latest last), `path` to the file.

    `load` and `save` raise nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.theme: str | None = None
        self.columns: dict[str, list[str]] = {}
        self.filters: list[str] = []

    @classmethod
    def load(cls, path: Path | None = None) -> State:
        """What was saved; a new state where there is none, or none that can be read."""
        state = cls(path or state_path())
        with suppress(OSError, ValueError, RecursionError):
            assert state.path is not None
            with state.path.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
            if len(data) <= LARGEST_FILE:
                state._take(json.loads(data))
        return state

    def remember(self, text: str) -> None:
        """A filter was used."""
        text = text.strip()
        if text and len(text) <= LONGEST_FILTER:
            self.filters = [known for known in self.filters if known != text][1 - FILTERS_KEPT :] + [text]

    def save(self) -> bool:
        """Write the file: complete, or as it was before. Whether it could be written."""
        if self.path is None:
            return False
        text = json.dumps(self._plain(), indent=1, ensure_ascii=True)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=FILE_NAME, dir=self.path.parent)
        except OSError:
            return False
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(text + "\n")
            Path(name).replace(self.path)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            return False
        return True

    def _plain(self) -> dict[str, Any]:
        return {"version": _VERSION, "theme": self.theme, "columns": self.columns, "filters": self.filters}

    def _take(self, found: Any) -> None:
        """Take what is of the right type, and nothing else."""
        if not isinstance(found, dict):
            return
        theme, columns, filters = found.get("theme"), found.get("columns"), found.get("filters")
        if isinstance(theme, str):
            self.theme = theme
        if isinstance(columns, dict):
            self.columns = {view: _texts(names) for view, names in columns.items() if isinstance(names, list)}
        if isinstance(filters, list):
            for text in _texts(filters):
                self.remember(text)


def _texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]
