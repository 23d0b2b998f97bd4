"""The hostile set through the screen, the HTML report and the tasks of the pipeline.

All small files at once, and a few alone; the whole set, file by file, goes through
`python -m tests.hostile.on_screen FOLDER`, `python -m tests.hostile.commands FOLDER` (reports) and
`python -m tests.hostile.on_spark FOLDER`, which take many minutes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.hostile.files import FILES
from tests.hostile.pages import assert_inactive

SMALL = 20_000
# Trees and values without end.
ALONE = ("json-in-json", "envelope-in-envelope")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small files."""
    made = tmp_path_factory.mktemp("hostile")
    for name, file in FILES.items():
        content = file.make()
        if "bomb" not in name and content is not None and (len(content) < SMALL or name in ALONE):
            (made / f"{name}.pcap").write_bytes(content)
    assert len(list(made.iterdir())) > 70
    return made


@pytest.mark.exhaustive
def test_on_the_screen_all_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual", reason="needs textual")
    from tests.hostile.on_screen import look

    assert asyncio.run(look(folder, monkeypatch)) > 300


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ALONE)
def test_on_the_screen(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual", reason="needs textual")
    from tests.hostile.on_screen import look

    asyncio.run(look(folder / f"{name}.pcap", monkeypatch))


@pytest.mark.parametrize("name", ["", *ALONE])
def test_the_html_report_holds_nothing_that_acts(name: str, folder: Path, tmp_path: Path) -> None:
    path = folder / f"{name}.pcap" if name else folder
    report = tmp_path / "report.html"
    assert main(["check", str(path), "--exit-zero", "--report", f"html={report}"]) in (0, 3, 4)
    assert_inactive(report.read_text())


def is_whole(name: str) -> bool:
    """Return whether all there is of a file can be read, to its end."""
    return FILES[name].is_readable and FILES[name].tells != "cut_capture"


@pytest.mark.exhaustive
def test_through_the_tasks_of_the_pipeline(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    from kdissect.engine.tables.all_tables import TABLES
    from kdissect.pipeline.inputs import find
    from kdissect.pipeline.job import Job, run
    from kdissect.pipeline.task_setup import Setup
    from tests.pipeline.frames import Frames
    from tests.pipeline.parquet import of_one_process, of_run

    paths = sorted(folder.iterdir())
    inputs = find([str(path) for path in paths])
    job = Job(inputs, Setup.of(inputs), str(tmp_path / "tables"), frozenset(TABLES), parts=2)
    summary = run(Frames(), job)  # type: ignore[arg-type]
    unread = {Path(file.file).stem for file in summary.unread}
    assert unread == {path.stem for path in paths if not is_whole(path.stem)}
    one = of_one_process(paths)
    for table in TABLES:  # as texts: a metric that is not a number equals itself
        assert repr(of_run(tmp_path / "tables", table)) == repr(one[table]), table
