"""Commands run in this process as a shell runs them: what they print, say and write."""

import io
import os
import secrets
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple

from kdissect.cli import main

# In memory where there is such a place: a target writes some files for each input.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
FIRST_OUT = 1


class Ran(NamedTuple):
    """What a run left: exit code, standard output and error, files below the folder of outputs by their
    paths."""

    code: int
    out: bytes
    err: str
    files: dict[str, bytes]


class Workplace:
    """A folder with the input `in` and the outputs `out/...`, at the same paths in every process."""

    def __init__(self, name: str) -> None:
        self.place = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-", dir=MEMORY))
        weakref.finalize(self, shutil.rmtree, self.place, ignore_errors=True)
        (self.place / "out").mkdir()

    def run(self, words: Sequence[str], content: bytes, name: str = "in") -> Ran:
        """Run a command in which IN and OUT stand for the paths; OUT/ is as the run before left it."""
        given = self.place / name
        given.write_bytes(content)
        return run(str(given), str(self.place / "out"), words)

    def clear(self) -> None:
        """Forget all outputs."""
        _clear(self.place / "out")


def run(given: str, out: str, words: Sequence[str], clear: bool = False) -> Ran:
    """Run a command; with `clear` in an empty folder, in which nothing but the input decides: what is made up
    for each run is always the same."""
    if clear:
        _clear(Path(out))
        secrets.token_bytes = bytes  # type: ignore[assignment]
        uuid.uuid4 = lambda: uuid.UUID(int=1)
    said = io.StringIO()
    with tempfile.TemporaryFile(dir=MEMORY) as printed:
        before = os.dup(FIRST_OUT)
        os.dup2(printed.fileno(), FIRST_OUT)
        try:
            with redirect_stderr(said):
                code = main([word.replace("IN", given).replace("OUT", out) for word in words])
        finally:
            os.dup2(before, FIRST_OUT)
            os.close(before)
        printed.seek(0)
        return Ran(code, printed.read(), said.getvalue(), files(Path(out)))


def files(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _clear(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
