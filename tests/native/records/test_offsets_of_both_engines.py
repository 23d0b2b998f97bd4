"""Offsets that a broker assigned to produced records: both engines print the same."""

from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from tests.engine.records.test_assigned_offsets import produced, sent
from tests.support.messages.batches import message_bytes
from tests.support.python_side import PythonSide

LARGEST = (1 << 63) - 1


def lines_of(path: str, out: str, style: str) -> bytes:
    assert main(["records", path, "--port", "9092", "-o", out, "--format", style]) == 0
    return Path(out).read_bytes()


@pytest.mark.parametrize("base", [21, LARGEST - 1, LARGEST])
@pytest.mark.parametrize("cut", [0, 3])
@pytest.mark.parametrize("style", ["tsv", "csv", "jsonl"])
def test_both_engines_have_the_same_offsets(
    base: int, cut: int, style: str, native: Any, python_side: PythonSide, tmp_path: Path
) -> None:
    batches = {0: sent(2) + sent(1), 1: sent(1, attributes=7), 2: message_bytes(b"a")}
    answers = [(number, 0, base) for number in batches]
    path, out = produced(tmp_path, 3, batches, answers, cut), str(tmp_path / "out")
    assert lines_of(path, out, style) == python_side.call(lines_of, path, out, style)
