"""Names of directories that peers choose, where a table is partitioned by what they send."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

import pyarrow as pa
from pyarrow import fs

from kdissect.pipeline.table_files.hive_partitions import LONGEST, directory_of, values_of
from kdissect.pipeline.table_files.parquet_parts import ParquetParts

NAMES = (
    "../../etc/cron.d/x",
    "..",
    "a/b",
    "a=b",
    "\x00\x1b[2J",
    "\u202egpj.exe",
    "con\\aux",
    "t" * 32_000,
    "t" * 31_999 + "u",
    "\u4e2d" * 10_000,
    "%2e%2e%2f",
)


def test_no_name_leaves_its_directory_or_is_too_long_for_one(tmp_path: Path) -> None:
    root = tmp_path / "tables"
    parts = ParquetParts(fs.LocalFileSystem(), str(root), ("topic",), "a")
    parts.add("topics", pa.table({"topic": list(NAMES), "row": list(range(len(NAMES)))}).to_batches()[0])
    written = parts.close()
    assert len({file.path for file in written}) == len(NAMES)
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
    for path in root.rglob("*"):
        assert path.name.isascii()
        assert path.name.isprintable()
    assert all((root / file.path).is_file() and file.path.count("/") == 2 for file in written)


@pytest.mark.parametrize("name", [name for name in NAMES if len(name) < 100])
def test_names_come_back(name: str) -> None:
    assert values_of(directory_of(["topic"], [name])) == {"topic": name}


def test_long_names_are_told_apart_and_begin_as_they_did() -> None:
    one, other = (directory_of(["topic"], [NAMES[at]]) for at in (7, 8))
    assert one != other
    assert one.startswith("topic=tttt")
    assert len(one) == len("topic=") + LONGEST
