"""Writes manual pages from the help texts: kdissect.1, and kdissect-COMMAND.1 for each command.

python packaging/man.py ~/.local/share/man/man1
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kdissect import __version__
from kdissect.cli import COMMANDS, JOBS
from kdissect.cli.options.examples import examples_of
from kdissect.cli.reference.completion_command import parser_of

_GENERAL = "0 all read, 1 findings, 2 wrong usage, 3 some input could not be read, 4 nothing to judge."


def main(arguments: Sequence[str]) -> int:
    """Write the pages into the folder that is named; gives the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python packaging/man.py FOLDER\n")
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
    return 0


def pages() -> dict[str, str]:
    """Return the pages by their file names."""
    found = {"kdissect.1": _text(_overview())}
    for command in COMMANDS:
        found[f"kdissect-{command}.1"] = _text(_command(command))
    return found


def _overview() -> Iterator[str]:
    yield from _head("kdissect", "decodes Kafka traffic and explains what goes wrong in it")
    yield ".SH SYNOPSIS"
    yield "kdissect COMMAND ... | FILE | \\-t FILE"
    yield ".SH COMMANDS"
    for job, commands in JOBS.items():
        yield f".SS {_escaped(job)}"
        for name, (_, what) in commands.items():
            yield from (".TP", f"\\fBkdissect\\-{_escaped(name)}\\fR(1)", _escaped(what))
    yield from (".SH EXIT STATUS", _escaped(_GENERAL))


def _command(name: str) -> Iterator[str]:
    parser = parser_of(name)
    yield from _head(f"kdissect-{name}", COMMANDS[name][1])
    yield ".SH SYNOPSIS"
    yield _escaped(" ".join(parser.format_usage().removeprefix("usage: ").split()))
    if parser.description:
        yield from (".SH DESCRIPTION", _escaped(parser.description))
    yield ".SH OPTIONS"
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:  # noqa: SLF001  argparse has no other way to ask
        if action.help != argparse.SUPPRESS:
            names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            if action.option_strings and action.nargs != 0:
                names += f" {formatter._format_args(action, action.dest.upper())}"  # noqa: SLF001
            help_text = formatter._expand_help(action) if action.help else ""  # noqa: SLF001
            yield from (".TP", f"\\fB{_escaped(names)}\\fR", _escaped(" ".join(help_text.split())))
    yield ".SH EXAMPLES"
    yield ".nf"
    yield from map(_escaped, examples_of(name).splitlines()[2:])
    yield ".fi"
    yield from (".SH SEE ALSO", "\\fBkdissect\\fR(1)")


def _head(name: str, what: str) -> Iterator[str]:
    yield f'.TH "{_escaped(name.upper())}" 1 "" "kdissect {__version__}"'
    yield from (".SH NAME", f"{_escaped(name)} \\- {_escaped(what)}")


def _text(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    """Return text for roff: backslashes and hyphens as they are, no line that begins like a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
