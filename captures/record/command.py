"""The command line of recordings: which of them, where to, and on which ports."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path

from captures.record.workshop import MissingProgramError


def recordings_parser(
    folder: Path, names: Iterable[str], port_base: int, what: str = "NAME"
) -> ArgumentParser:
    """Return the parser of `python -m captures.FOLDER`: names, `--output` and `--port-base`."""
    doc = f"Command line: `python -m captures.{folder.name} [{what}...]`."
    parser = ArgumentParser(prog=f"python -m captures.{folder.name}", description=doc)
    parser.add_argument(f"{what.lower()}s", nargs="*", metavar=what, help=f"of {', '.join(names)}")
    parser.add_argument("--output", type=Path, default=folder / "recorded")
    parser.add_argument("--port-base", type=int, default=port_base, help="first of 100 ports to use")
    return parser


def record_each(names: Iterable[str], record: Callable[[str], str]) -> int:
    """Record each, and print what `record` returns of it. The exit code is 1 if one failed."""
    failed = 0
    for name in names:
        try:
            print(f"{name}: {record(name)}", flush=True)
        except (RuntimeError, MissingProgramError) as problem:
            print(f"{name}: {problem}", file=sys.stderr, flush=True)
            failed += 1
    return int(failed > 0)
