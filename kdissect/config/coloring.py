"""Coloring rules of a project: a name, a filter, a colour. Of several that hold the first one counts."""

from typing import Any, NamedTuple

from kdissect.config.read import ConfigFile

KEY = "coloring"
BOLD = "bold "
_COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan", "dim", "reverse")
COLORS = (*_COLORS, *(BOLD + color for color in _COLORS[:6]))
"""Colours that every terminal has, in its own palette."""


class ColoringRule(NamedTuple):
    """One `[[coloring]]` of the file."""

    name: str
    filter: str
    color: str


def parse_coloring(file: ConfigFile) -> list[ColoringRule]:
    """Return the rules in their order. Filters are not compiled. Raises ConfigError."""
    entries = file.table.get(KEY, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise file.error((KEY,), f"write [[{KEY}]] for each rule")
    return [_rule(file, entry, at) for at, entry in enumerate(entries)]


def _rule(file: ConfigFile, entry: dict[str, Any], at: int) -> ColoringRule:
    for key in entry:
        if key not in ColoringRule._fields:
            known = ", ".join(ColoringRule._fields)
            raise file.error((KEY, at, key), f"unknown key {key!r}; known are {known}")
    for key in ColoringRule._fields:
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise file.error((KEY, at, key), f"a coloring rule has a text as {key!r}")
    if entry["color"] not in COLORS:
        raise file.error((KEY, at, "color"), f"no color {entry['color']!r}; there are {', '.join(COLORS)}")
    return ColoringRule(**entry)
