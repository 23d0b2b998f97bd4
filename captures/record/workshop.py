"""Where downloads, builds and running clusters live: never inside the repository."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).resolve().parent
CAPTURES = RECORD.parent
BUILD_S = 3600.0
"""Seconds that a program may take to build."""
HOME = Path(os.environ.get("KDISSECT_RECORD_HOME", "~/.cache/kdissect-record")).expanduser()


class MissingProgramError(Exception):
    """A program the recording needs is not there; the text is the one line to show."""


def folder(*parts: str, fresh: bool = False) -> Path:
    """Return a folder of the workshop, made if need be; `fresh` empties it first."""
    path = HOME.joinpath(*parts)
    if fresh and path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def program(name: str, purpose: str) -> str:
    """Return the path of a program.

    Raises MissingProgramError with a line that says what it is needed for.
    """
    found = shutil.which(name)
    if found is None:
        raise MissingProgramError(f"{name} is not installed: needed to {purpose}")
    return found


def run(command: Sequence[str], *, cwd: Path | None = None, timeout: float = 600) -> str:
    """Run a command to its end; its standard output. Raises RuntimeError with the tail of what it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise RuntimeError(f"{' '.join(command[:3])} ... ended with {done.returncode}:\n{tail}")
    return done.stdout


def ends(command: Sequence[str], *, timeout: float = 60) -> str:
    """Run a command that may fail to its end, with nothing to read; all that it printed."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False
    )
    return done.stdout + done.stderr
