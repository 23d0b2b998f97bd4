"""Whether to colour the output, and how."""

import os

# Select Graphic Rendition, ECMA-48 section 8.3.117: the eight colours every terminal has, so that its own
# palette decides.
_STYLES = {"bold": "1", "dim": "2", "bad": "1;31", "good": "32", "odd": "33", "name": "36"}


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
    """`text` in a style: bold, dim, bad, good, odd, name; plain for an empty style or text."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text else text
