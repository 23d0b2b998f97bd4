"""Files of `records --format parquet` have the same rows with the compiled hot path and without."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from tests.support.console import CAPTURES
from tests.support.python_side import PythonSide

pytest.importorskip("pyarrow", reason="needs the extra arrow")

EVERY = sorted(path for path in CAPTURES.iterdir() if re.search(r"\.pcap(ng)?(\.gz)?$", path.name))
# Some batches have no records, some fields no topic.
SOME = ("kafka44_sarama_groups", "kafka44_kafkajs_transactions", "kafka44_java_share", "tansu_rdk216_txn")


def written(capture: str, out: str, *options: str) -> Any:
    """Return the table that is written of a capture; its row groups are another matter."""
    from pyarrow.parquet import read_table

    main(["records", capture, "--format", "parquet", "-o", out, *options])
    return read_table(out).combine_chunks()


def check(path: Path, native: Any, python_side: PythonSide, folder: Path) -> None:
    for options in (
        (), ("--topic", "*e*"), ("--limit", "7"), ("-e", "number,value,headers", "--value-format", "text"),
        ("--key-format", "hex", "--value-format", "base64", "--show-secrets"),
    ):  # fmt: skip
        mine = written(str(path), str(folder / "a"), *options)
        theirs = python_side.call(written, str(path), str(folder / "b"), *options)
        assert theirs.schema == mine.schema
        assert theirs.equals(mine), options


@pytest.mark.parametrize("path", [p for p in EVERY if p.name.startswith(SOME)], ids=lambda path: path.name)
def test_files_are_the_same(path: Path, native: Any, python_side: PythonSide, tmp_path: Path) -> None:
    check(path, native, python_side, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", EVERY[::2], ids=lambda path: path.name)
def test_files_of_all_captures_are_the_same(
    path: Path, native: Any, python_side: PythonSide, tmp_path: Path
) -> None:
    check(path, native, python_side, tmp_path)


def test_arrow_comes_without_numpy_in_a_process_of_its_own(tmp_path: Path) -> None:
    """It takes longer to load than a small capture to read."""
    out = str(tmp_path / "a.parquet")
    code = (
        "import sys; from kdissect.cli import main; main();"
        "assert 'pyarrow' in sys.modules; assert 'numpy' not in sys.modules"
    )
    capture = next(str(path) for path in EVERY if path.name.startswith("tansu_rdk216_txn"))
    command = [sys.executable, "-c", code, "records", capture, "--format", "parquet", "-o", out]
    ran = subprocess.run(command, cwd=CAPTURES.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    from pyarrow.parquet import read_table

    assert read_table(out).num_rows


@pytest.mark.parametrize(
    ("given", "pool"), [({}, "system"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")]
)
def test_arrow_gives_memory_back_unless_told_otherwise(
    given: dict[str, str], pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow

    if pool not in pyarrow.supported_memory_backends():
        pytest.skip(f"this pyarrow has no {pool}")
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    code = (
        "from kdissect.model import extras; extras.is_own_process = True;"
        "from kdissect.cli.load_arrow import load_arrow; load_arrow();"
        "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == pool
