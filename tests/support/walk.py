"""Walks through a page: runs the lines of its console blocks in order, in one folder, as a reader does."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.console import CHECKOUT

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_LINE = re.compile(r"\$ (.*)\n((?:(?!\$ ).*\n)*)")


def walk(page: Path, folder: Path, update: bool, tidy: Callable[[str], str] = str) -> None:
    """Run every line; what it prints, standard error behind standard output, must be what stands below it.

    In the folder `captures` is that of the checkout, and `kdissect` this one. `update` writes the page anew.
    `tidy` takes out of outputs what differs from run to run.
    """
    text = page.read_text()
    _prepare(folder)

    def block(match: re.Match[str]) -> str:
        lines = [(each[1], each[2]) for each in _LINE.finditer(match[1])]
        return "```console\n" + "".join(f"$ {line}\n{tidy(_run(line, folder))}" for line, _ in lines) + "```"

    found = _BLOCK.sub(block, text)
    if update:
        page.write_text(found)
    else:
        assert found == text


def _prepare(folder: Path) -> None:
    (folder / "captures").symlink_to(CHECKOUT / "captures")
    shim = folder / ".bin" / "kdissect"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m kdissect "$@"\n')
    shim.chmod(0o755)


def _run(line: str, folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}", "TZ": "UTC"}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, check=False, timeout=600
    )
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    return "".join(f"{each.rstrip()}\n" for each in said.splitlines())
