"""What a run of one target left behind."""

import hashlib
import traceback
from pathlib import Path
from typing import Any, NamedTuple


class Bug(NamedTuple):
    """An input that broke something; `key` is the same for bugs that look the same."""

    key: str
    text: str
    data: bytes

    def keep(self, folder: Path, target: str) -> Path:
        """Write the input and what happened."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{target}-{hashlib.sha256(self.data).hexdigest()[:12]}"
        path.write_bytes(self.data)
        path.with_suffix(".txt").write_text(self.text)
        return path


def bug_of(error: BaseException, data: bytes) -> Bug:
    """Return a bug by the exception it raised: its type, and the two innermost places."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-2:]]
    key = f"{type(error).__name__} at {' < '.join(reversed(inner))}"
    text = "".join(traceback.format_exception(error, limit=30))
    return Bug(key, text, data)


class Outcome(NamedTuple):
    """The figures of a run.

    Times are CPU seconds; `worst_per_mb` is that of long inputs, `slowest_ms` of a short one, each the least
    of some runs.
    """

    target: str
    inputs: int
    seconds: float
    corpus: int
    reached: int
    lines: int
    all_lines: int
    worst_per_mb: float
    slowest_ms: float
    peak_mb: float
    bugs: dict[str, int]

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return self._asdict()
