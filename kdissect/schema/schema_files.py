"""The schema's text files beside this package.

Plain `os` and `open`: importing pathlib (with it urllib and ipaddress) costs more than parsing a file.
"""

import os

FOLDER = os.path.dirname(__file__)  # noqa: PTH120


def read_text(path: str) -> str:
    """The text of a file; `path` is relative to the schema folder. Raises OSError if there is none."""
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return file.read()


def file_names(folder: str) -> list[str]:
    """The names of the files in one of the schema's folders, in no order."""
    with os.scandir(os.path.join(FOLDER, folder)) as entries:  # noqa: PTH118
        return [entry.name for entry in entries]
