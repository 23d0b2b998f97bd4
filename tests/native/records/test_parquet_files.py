"""Files of `records --format parquet` are the same bytes with the compiled hot path and without."""

import re
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from tests.native.python_side import PythonSide
from tests.support.console import CAPTURES

pytest.importorskip("pyarrow", reason="needs the extra arrow")

EVERY = sorted(path for path in CAPTURES.iterdir() if re.search(r"\.pcap(ng)?(\.gz)?$", path.name))
# Some batches have no records, some fields no topic.
SOME = ("kafka44_sarama_groups", "kafka44_kafkajs_transactions", "kafka44_java_share", "tansu_rdk216_txn")


def written(capture: str, out: str, *options: str) -> bytes:
    """The file that is made of a capture."""
    main(["records", capture, "--format", "parquet", "-o", out, *options])
    return Path(out).read_bytes()


def check(path: Path, native: Any, python_side: PythonSide, folder: Path) -> None:
    for options in ((), ("--topic", "*e*"), ("--limit", "7")):
        mine = written(str(path), str(folder / "a"), *options)
        assert python_side.call(written, str(path), str(folder / "b"), *options) == mine, options


@pytest.mark.parametrize("path", [p for p in EVERY if p.name.startswith(SOME)], ids=lambda path: path.name)
def test_files_are_the_same(path: Path, native: Any, python_side: PythonSide, tmp_path: Path) -> None:
    check(path, native, python_side, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_files_of_all_captures_are_the_same(
    path: Path, native: Any, python_side: PythonSide, tmp_path: Path
) -> None:
    check(path, native, python_side, tmp_path)
