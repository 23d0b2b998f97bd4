"""Every file of the hostile set: told for what it is by `info` or `inspect`, survived by every command.

The larger files meet the other commands in `python -m tests.hostile.commands FOLDER`, which takes minutes.
"""

from functools import cache
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.hostile.commands import COMMANDS, FINE
from tests.hostile.files import FILES

SMALL = 60_000


@cache
def content(name: str) -> bytes:
    return FILES[name].make()


def run(command: str, name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    path = folder / f"{name}.pcap"
    path.write_bytes(content(name))
    code = main([command, str(path), *(option.format(folder=folder) for option in COMMANDS[command])])
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out + captured.err


def test_there_are_many() -> None:
    assert len(FILES) >= 60


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", FILES)
def test_each_is_told_for_what_it_is(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, told = run("info", name, tmp_path, capfd)
    is_whole = FILES[name].is_readable and FILES[name].tells != "cut_capture"
    assert code == (0 if is_whole else 3)
    if FILES[name].tells not in told:
        told += run("inspect", name, tmp_path, capfd)[1]
    if FILES[name].tells not in told:
        told += run("records", name, tmp_path, capfd)[1]
    assert FILES[name].tells in told


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["inspect", "records", "check", "stats", "extract"])
def test_every_command_survives_them(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    small = [name for name in FILES if len(content(name)) < SMALL and "bomb" not in name]
    assert len(small) > 90
    for name in small:
        code, _ = run(command, name, tmp_path, capfd)
        assert code in FINE, name
