"""Reading the schema's `.table` files: one fact a line, words separated by spaces, `#` before a comment."""

import os
from collections.abc import Iterator

from kdissect.model.errors import SchemaError

FOLDER = os.path.dirname(__file__)  # noqa: PTH120


_kept: dict[str, str] = {}


def keep_texts() -> None:
    """Read all files into memory, for a process that cannot read the folder later: 0.2 MB."""
    for folder, _, names in os.walk(FOLDER):
        for name in names:
            if name.endswith((".table", ".schema")):
                path = os.path.relpath(os.path.join(folder, name), FOLDER)  # noqa: PTH118
                _kept[path] = read_text(path)


def read_text(path: str) -> str:
    """Return the text of a file. `path` is relative to the schema folder. Raises OSError if there is none."""
    if path in _kept:
        return _kept[path]
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return file.read()


def file_names(folder: str) -> list[str]:
    """Return the names of the files in one of the schema's folders, in no order."""
    if _kept:
        return [name for at, name in map(os.path.split, _kept) if at == folder]
    with os.scandir(os.path.join(FOLDER, folder)) as entries:  # noqa: PTH118
        return [entry.name for entry in entries]


def read_rows(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of one table in this folder as (`file:line`, words), without blank lines and
    comments.
    """
    yield from parse_rows(read_text(name), name)


def parse_rows(text: str, source: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a table's text, as `read_rows`."""
    for number, line in enumerate(text.splitlines(), 1):
        words = [] if line.startswith("#") else line.partition(" #")[0].split()  # a URL may hold a #
        if words:
            yield f"{source}:{number}", words


def whole_number(word: str, place: str) -> int:
    """Return an integer from a table. Raises SchemaError that names `place` (`file:line`)."""
    try:
        return int(word)
    except ValueError:
        raise SchemaError(f"{place}: '{word}' is no number") from None
