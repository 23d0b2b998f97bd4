"""`--baseline` and `--write-baseline`: findings that are known, of `check` and `conform`."""

import os
from argparse import Namespace
from collections.abc import Callable

from kdissect.capture.whole_file import WholeFile
from kdissect.cli.diagnostics import UNREADABLE, USAGE, say
from kdissect.model.wording import plural
from kdissect.report.baseline import Baseline, baseline_text, parse_baseline
from kdissect.report.verdict import Verdict


def add_baseline(add: Callable[..., object]) -> None:
    """Add the options to a parser or group."""
    add("--baseline", metavar="FILE", help="findings recorded in FILE are known: they fail nothing")
    add("--write-baseline", metavar="FILE", help="record the findings of this run in FILE; exit with 0")


def read_baseline(options: Namespace) -> Baseline | None:
    """Return the baseline, None without one. Leaves with exit code 2 where it cannot be used."""
    path = options.baseline
    if path is None or (options.write_baseline and not os.path.exists(path)):  # noqa: PTH110  about to be made
        return None
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  importing pathlib costs more
            return parse_baseline(path, file.read())
    except OSError as error:
        hint = f"; --write-baseline {path} makes it" if isinstance(error, FileNotFoundError) else ""
        say(f"{path}: {error.strerror or error}{hint}")
    except ValueError as error:
        say(str(error))
    raise SystemExit(USAGE)


def write_baseline(path: str, verdict: Verdict) -> int:
    """Record the findings and return the exit code."""
    try:
        with WholeFile(path) as file:
            file.write(baseline_text(verdict.findings).encode())
    except OSError as error:
        say(f"{path}: {error.strerror or error}")
        return UNREADABLE
    say(f"{plural(len(verdict.findings), 'finding')} recorded in {path}")
    return 0
