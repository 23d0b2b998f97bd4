"""The hostile set on the screen: `python -m tests.hostile.on_screen FOLDER [NAME...]`.

Each file is opened as `kdissect tui` opens it, all views are looked at, the first exchanges with all their
fields and bytes, and the stream. Nothing fails, and nothing on screen but what moves and hides nothing.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.hostile.files import FILES
from tests.tui.screens import screen, text_of, until

VIEWS = "12345678"
ROWS = 3  # exchanges whose fields are all opened


def check(app: Any) -> str:
    """Nothing on screen but letters that have a width and stand where they are; gives the text."""
    text = text_of(app)
    for line in text.split("\n"):
        assert all(letter.isprintable() and cell_len(letter) for letter in line), repr(line)
    return text


async def look(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Look at a file in all views; gives its exchanges."""
    async with screen(monkeypatch, path, size=(160, 50)) as (app, pilot):
        failed = [trouble for trouble in app.session.troubles if "a bug of kdissect" in trouble]
        assert not failed, failed
        for key in VIEWS:
            await pilot.press(key)
            await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
            await pilot.pause()
            check(app)
        await pilot.press("1")
        for _ in range(min(ROWS, len(app.session.log))):
            await _open_fields(app, pilot)
            await pilot.press("down")
        if len(app.session.log):
            await pilot.press("s")
            await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
            await pilot.pause()
            check(app)
        return len(app.session.log)


async def _open_fields(app: Any, pilot: Any) -> None:
    from kdissect.tui.panes.field_tree import FieldTree

    tree = app.query_one(FieldTree)
    row = app.view.rows.row
    await until(pilot, lambda: tree.dissected is not None and tree.dissected.row == row)
    check(app)
    for root in tree.dissected.roots:
        tree.choose(root)
        tree.action_open_all()
        await pilot.pause()
        check(app)


def main(folder: Path, names: list[str]) -> int:
    """Look at every file; 1 if one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()  # what the application remembers stays out of the way
    failed = 0
    for name in names or FILES:
        path = folder / f"{name}.pcap"
        path.write_bytes(FILES[name].make())
        begin = time.monotonic()
        with pytest.MonkeyPatch.context() as monkeypatch:
            try:
                told = f"{asyncio.run(look(path, monkeypatch))} exchanges"
            except Exception as error:  # whatever it is, the file broke something
                failed += 1
                told = f"FAILED: {type(error).__name__}: {error}"
        print(f"{name}: {time.monotonic() - begin:.1f} s, {told}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(names or FILES)} files, {failed} failures, peak memory {peak} MB, workers included")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
