"""Whether to colour the output, and how."""

import os

# Select Graphic Rendition, ECMA-48 section 8.3.117: the eight colours every terminal has, so that its own
# palette decides.
_STYLES = {"bold": "1", "dim": "2", "bad": "1;31", "good": "32", "odd": "33", "name": "36"}
# Those of coloring rules (`kdissect.config.coloring`).
_COLORS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}
_STYLES |= {"reverse": "7", **_COLORS, **{f"bold {name}": f"1;{code}" for name, code in _COLORS.items()}}


def wants_colour(choice: str, is_terminal: bool) -> bool:
    """`choice` is `--color`: auto, always or never.

    NO_COLOR (no-color.org), FORCE_COLOR, CLICOLOR_FORCE and CLICOLOR (bixense.com/clicolors) decide `auto`
    before the terminal does.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        forced = os.environ.get(name, "")
        if forced and (forced != "0" or name == "FORCE_COLOR"):
            return forced != "0"
    if os.environ.get("CLICOLOR") == "0":
        return False
    return is_terminal and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str) -> str:
    """`text` in a style: bold, dim, bad, good, odd, name, or one of `_COLORS`; plain for an empty style."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text else text
