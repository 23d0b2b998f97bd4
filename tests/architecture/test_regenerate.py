"""`python -m tests.regenerate` knows all that is generated."""

import re
from pathlib import Path

import pytest

from tests import regenerate
from tests.regenerate import PARTS, Part
from tests.support.console import CHECKOUT

READS = re.compile(r"environ(?:\.get\(|\[)\s*\"KDISSECT_UPDATE\"")


def files_that_write() -> list[str]:
    return [
        path.relative_to(CHECKOUT).as_posix()
        for folder in ("tests", "benchmarks", "captures", "fuzz")
        for path in (CHECKOUT / folder).rglob("*.py")
        if READS.search(path.read_text())
    ]


def test_every_file_that_writes_is_in_a_part() -> None:
    run = {word.partition("::")[0] for part in PARTS for word in part.command}
    writing = files_that_write()
    assert len(writing) > 5
    missing = [name for name in writing if not {name, *map(str, Path(name).parents)} & run]
    assert missing == []


def test_what_parts_name_is_there() -> None:
    for part in PARTS:
        paths = [word.partition("::")[0] for word in part.command if "/" in word]
        for name in (*paths, *part.written):
            assert (CHECKOUT / name).exists(), name


def test_what_changed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    for name in ("same", "other", "gone"):
        (tmp_path / "out" / name).write_text(name)
    program = (
        "import os; from pathlib import Path; out = Path('out'); (out / 'gone').unlink();"
        "(out / 'other').write_text(os.environ['KDISSECT_UPDATE']); "
        "(out / 'made').write_text(''); print('sorry'); exit(3)"
    )
    monkeypatch.setattr(regenerate, "CHECKOUT", tmp_path)
    assert not regenerate.regenerate(Part("some", "of it", ("-c", program), ("out",)))
    assert capsys.readouterr().out.splitlines() == [
        "some: changed",
        "  deleted  out/gone",
        "  new      out/made",
        "  changed  out/other",
        "  failed, exit code 3:",
        "    sorry",
    ]
    assert (tmp_path / "out" / "other").read_text() == "1"


@pytest.mark.exhaustive
def test_one_part_leaves_what_is_fresh(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert regenerate.main(["registry"]) == 0
    assert capsys.readouterr().out == "registry: unchanged\n"


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        regenerate.main(["nothing"])
    assert "no such part: nothing" in capsys.readouterr().err
