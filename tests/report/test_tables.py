"""Tables as a terminal of 90 columns shows them: which columns stay, how wide they are, what is in them.

`python -m tests.regenerate pages` writes them.
"""

import os
import pty
import threading
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.cli.output.test_format_matrix import PARTS, RUNS

GOLDEN = Path(__file__).parent / "tables"
COLUMNS = 90
LINES = 8
# Lists of kdissect's own, and reports that the documents show.
LEFT_OUT = ("fields", "limits", "rules", "check", "info", "upgrade", "diff")
# A file's path, causes, and what these captures lack.
PARTS_LEFT_OUT = (
    ("info", "files"), ("diff", "causes"), ("offsets", "gaps"), ("producers", "events"),
    ("stats", "told_elsewhere"),
)  # fmt: skip
TABLES = {name: run for name, run in RUNS.items() if name not in LEFT_OUT} | {
    f"{name} {part}": [*RUNS[name], "--table", part]
    for name, part in PARTS
    if (name, part) not in PARTS_LEFT_OUT
}


# Columns have a width before all rows are known.
WIDE = {f"{name} wide": TABLES[name] for name in ("inspect", "connections", "records", "segments")}


def on_terminal(arguments: list[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a command prints on a terminal, in this process."""
    leader, follower = pty.openpty()
    printed: list[bytes] = []

    def read() -> None:
        with os.fdopen(leader, "rb", buffering=0) as end:
            try:
                while part := end.read(1 << 16):
                    printed.append(part)
            except OSError:  # Linux: the other end was closed
                return

    reader = threading.Thread(target=read)
    reader.start()
    before = os.dup(1)
    os.dup2(follower, 1)  # commands write to the descriptor
    os.close(follower)
    try:
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("TERM", "xterm")
            main([*arguments, "--color", "never"])
    finally:
        os.dup2(before, 1)
        os.close(before)
    reader.join()
    return b"".join(printed).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("name", [*TABLES, *WIDE])
def test_the_table_is_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, columns = (WIDE[name], 300) if name in WIDE else (TABLES[name], COLUMNS)
    lines = on_terminal(arguments, columns, monkeypatch).splitlines()
    shown = lines if len(lines) <= 2 * LINES else [*lines[:LINES], "[...]", *lines[-LINES:]]
    found = "".join(f"{line.rstrip()}\n" for line in shown)
    golden = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("KDISSECT_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
