"""The argument parser of a command."""

import os
from argparse import ArgumentParser, HelpFormatter


class _Formatter(HelpFormatter):
    """argparse makes one for every option it adds, and each would import shutil, for the width: 4 ms."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())


def command_parser(name: str, description: str) -> ArgumentParser:
    """The parser of `kdissect NAME`.

    Options are spelled out: an abbreviation would break when an option is added.
    """
    return ArgumentParser(
        prog=f"kdissect {name}", description=description, formatter_class=_Formatter, allow_abbrev=False
    )


def _width() -> int:
    try:
        columns = os.get_terminal_size().columns
    except (OSError, ValueError):
        columns = 0
    return max(columns or 80, 40) - 2
