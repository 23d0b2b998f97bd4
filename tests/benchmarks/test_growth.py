"""What growth.py measures: captures whose connections have the same traffic, however many there are."""

import shutil
from pathlib import Path

import pytest

from tests.benchmarks.generated import Generate


def test_table(
    tmp_path: Path, benchmarks_on_path: Path, capsys: pytest.CaptureFixture[str], generate: Generate
) -> None:
    pytest.importorskip("crc32c", reason="the generator needs the `test` extra")
    import growth

    assert growth.main(["--connections", "20", "10", "--rounds", "1", "--folder", str(tmp_path)]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "connections" in line]
    assert [row[2].strip() for row in rows] == ["10 connections", "20 connections"]
    with pytest.raises(SystemExit):
        growth.main(["--connections", "15"])


def test_instructions_need_valgrind(
    benchmarks_on_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import growth

    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as stop:
        growth.main(["--connections", "10", "--count", "instructions"])
    assert stop.value.code == 2
    assert "needs valgrind, which is not installed" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_instructions(
    benchmarks_on_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], generate: Generate
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    import growth

    counted = ["--count", "instructions", "--rounds", "1", "--folder", str(tmp_path)]
    assert growth.main(["--connections", "10", "20", *counted]) == 0
    fewer, more = (float(line.split("|")[4]) for line in capsys.readouterr().out.splitlines()[2:])
    assert 10 < fewer < more  # millions: starting Python takes more than ten
