"""Tables in texts whose cells bars separate: Markdown, and what psql and mysql print."""

from __future__ import annotations

import re

from kdissect.personal.bounds import MAX_LEAVES
from kdissect.personal.leaf import Leaf
from kdissect.personal.leaves import leaf_in_text
from kdissect.personal.telling_names import of_name

_RULER = re.compile(r"[ \t|+:=-]*-{2,}[ \t|+:=-]*")
_MOST_COLUMNS = 200
_OF_THINGS = frozenset({"thing", "no_address", "version"})


def table_leaves(text: str) -> list[Leaf]:
    """Return the cells of tables whose first row names the columns, at least one of them tellingly."""
    leaves: list[Leaf] = []
    if "|" not in text or "--" not in text:
        return leaves
    names: list[str] = []
    before, at = "", 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        plain = line.strip()
        if _RULER.fullmatch(plain):
            columns = [cell.strip() for _, cell in _cells(before)]
            if len(columns) > 1:
                names = columns if any(of_name(one).tags - _OF_THINGS for one in columns) else []
        elif names:
            cells = _cells(line)
            if len(cells) != len(names):
                names = []
            else:
                leaves += [
                    leaf_in_text(name, cell, at + start, number)
                    for name, (start, cell) in zip(names, cells, strict=True)
                ]
        if len(leaves) >= MAX_LEAVES:
            break
        before, at = line, at + len(line)
    return [leaf for leaf in leaves if leaf.text]


def _cells(line: str) -> list[tuple[int, str]]:
    """Return the offset and the text of the cells of a line."""
    if "|" not in line:
        return []
    start = len(line) - len(line.lstrip())
    start += line[start] == "|"
    end = len(line.rstrip())
    end -= line[:end].endswith("|")
    cells: list[tuple[int, str]] = []
    for part in line[start:end].split("|")[:_MOST_COLUMNS]:
        blanks = len(part) - len(part.lstrip())
        cells.append((start + blanks, part.strip()))
        start += len(part) + 1
    return cells
