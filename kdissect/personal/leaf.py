"""A text or number in a value."""

from __future__ import annotations

from typing import NamedTuple


class Leaf(NamedTuple):
    """A text or number. `name` is the field's name, with that of the struct around it if it says little.

    `holder` is the number of the struct or list that has it, `holder_name` the name of that struct. `start`
    and `end` are characters of the value's own text, -1 where it was decoded by a schema. `is_item`: it is in
    a list. `is_key`: it is the name of a field. `is_part`: it is in a text that is a leaf itself. `is_alone`:
    it is examined without that text, which may have it in codes, or without its name. `escapes`: how many
    times its characters in the text are escaped as strings of JSON.
    """

    path: str
    name: str
    text: str
    is_number: bool = False
    holder: int = 0
    holder_name: str = ""
    start: int = -1
    end: int = -1
    is_item: bool = False
    is_key: bool = False
    is_part: bool = False
    is_alone: bool = False
    escapes: int = 0
