"""What the commands share that work on tables which were written."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import TYPE_CHECKING

from kdissect.cli.diagnostics import say
from kdissect.cli.exits import OK, UNREADABLE, USAGE
from kdissect.cli.seconds import seconds
from kdissect.model.extras import how_to_install

if TYPE_CHECKING:
    from kdissect.pipeline.sink.table_directory import StreamDirectory

INSTALL = f"this needs the extra arrow: {how_to_install('arrow')}"


def add_directory(parser: ArgumentParser) -> None:
    """Add the directory of tables."""
    parser.add_argument("directory", metavar="DIR", help="directory of tables: a path, or s3://, hdfs:// ...")


def add_grace(parser: ArgumentParser) -> None:
    """Add `--grace`."""
    parser.add_argument("--grace", metavar="SECONDS", type=seconds, default=300.0, help=(
        "how long files that are no longer part of the tables stay for who is reading them; default: 300"
    ))  # fmt: skip


def with_tables(directory: str, grace_s: float, act: Callable[[StreamDirectory], None]) -> int:
    """Do something with the tables of a directory; gives the exit code.

    What is wrong with the directory, or goes wrong, is told on stderr.
    """
    if not _is_installed():
        say(INSTALL)
        return USAGE
    from kdissect.capture.filesystems import filesystem_of
    from kdissect.pipeline.sink.table_directory import StreamDirectory

    try:
        place = StreamDirectory(*filesystem_of(directory), grace_s)
        if place.manifest() is None:
            say(f"{directory}: no tables are there")
            return UNREADABLE
        act(place)
    except (OSError, ValueError, ImportError) as error:
        say(f"{directory}: {getattr(error, 'strerror', None) or error}")
        return UNREADABLE
    return OK


def _is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None
