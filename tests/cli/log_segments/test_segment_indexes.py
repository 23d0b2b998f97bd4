"""`kdissect segments` over the files beside segments: against what kafka-dump-log prints, and damaged."""

import json
import re
import shutil
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from crc32c import crc32c

from kdissect.cli import main
from kdissect.engine.segments.index_kinds import KINDS
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes

LOGS = CAPTURES / "logs"
SUFFIXES = ("index", "timeindex", "txnindex", "snapshot")
DUMPS = sorted(dump for suffix in SUFFIXES for dump in LOGS.rglob(f"*.{suffix}.dump.txt"))
# What kafka-dump-log prints for fields of ours.
NAMES = {
    "offset": "offset", "position": "position", "version": "version", "producerId": "producer_id",
    "firstOffset": "first_offset", "lastOffset": "last_offset", "lastStableOffset": "last_stable_offset",
    "producerEpoch": "producer_epoch", "coordinatorEpoch": "coordinator_epoch", "offsetDelta": "offset_delta",
    "currentTxnFirstOffset": "current_txn_first_offset", "lastTimestamp": "last_timestamp_ms",
    "firstSequence": "first_sequence", "lastSequence": "last_sequence",
}  # fmt: skip
NONE = ("None", "OptionalLong.empty")
NOW = 1_700_000_000_000
STEM = "00000000000000000000"


def run(capfd: pytest.CaptureFixture[str], *paths: object, code: int = 0) -> tuple[list[Any], str]:
    assert main(["segments", *map(str, paths), "--format", "jsonl"]) == code
    out, err = capfd.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


def told(line: str, suffix: str) -> dict[str, int | None]:
    """One line of kafka-dump-log in our names."""
    names = NAMES | {"timestamp": "last_timestamp_ms" if suffix == "snapshot" else "timestamp_ms"}
    found = {}
    for name, text in re.findall(r"(\w+): (\S+)", line):
        digits = re.search(r"-?\d+", text)
        found[names[name]] = None if text in NONE or digits is None else int(digits[0])
    return found


def test_every_kind_was_recorded() -> None:
    held = {dump.name.split(".")[1] for dump in DUMPS if len(dump.read_text().splitlines()) > 1}
    assert held == set(SUFFIXES)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: f"{dump.parent.name}/{dump.name}")
def test_entries_are_those_of_kafka_dump_log(dump: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = Path(str(dump).removesuffix(".dump.txt"))
    rows, err = run(capfd, path)
    lines = dump.read_text().splitlines()[1:]
    if not path.read_bytes().strip(b"\0"):
        lines = []  # of a new index, allocated and without an entry, the tool prints the first zeros
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        theirs = told(line, dump.name.split(".")[1])
        assert {name: row[name] for name in theirs} == theirs
        assert row["faults"] == []
    assert not err


def test_indexes_of_real_brokers_agree_with_their_segments(capfd: pytest.CaptureFixture[str]) -> None:
    """spec/001 5.4 "Reads": they give the place in the file at which an offset is found."""
    assert main(["segments", str(LOGS)]) == 0
    assert not capfd.readouterr().err


def damage(path: Path, at: int, value: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    if path.suffix == ".snapshot":
        data[2:6] = pack(">I", crc32c(bytes(data[6:])))
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "at", "value", "why"),
    [
        ("{2}.index", 4, pack(">i", 181), "entry 0 at byte 0: no batch begins at position 181"),
        ("{2}.index", 0, pack(">i", 77), "entry 0 at byte 0: offset 79 is not in the batches"),
        ("{2}.timeindex", 0, bytes(8), "entry 0 at byte 0: timestamp 0: the largest of"),
        ("{2}.timeindex", 8, pack(">i", 60), "entry 0 at byte 0: offset 62 is not in the segment"),
        ("{2}.txnindex", 0, b"\0\1", "entry 0 at byte 0: there is no version 1"),
        ("{2}.txnindex", 9, b"\7", "entry 0 at byte 0: no abort marker of producer 7 is at offset 5"),
        ("{2}.txnindex", 17, b"\2", "entry 0 at byte 0: the transaction began at offset 3, not at 2"),
        ("{2}.txnindex", 25, b"\3", "entry 0 at byte 0: offsets 3 to 3, last stable offset 6: out of order"),
        ("{2}.txnindex", 33, b"\7", "entry 0 at byte 0: offsets 3 to 5, last stable offset 7: out of order"),
        ("{6}.snapshot", 19, b"\1", "entry 0 at byte 10: epoch 1: the log gives 0"),
        ("{6}.snapshot", 23, b"\4", "entry 0 at byte 10: last sequence 4: the log gives 3"),
        ("{6}.snapshot", 31, b"\5", "entry 0 at byte 10: last offset 5: the log gives 4"),
        ("{6}.snapshot", 31, b"\6", "entry 0 at byte 10: last offset 6 lies behind the snapshot"),
        ("{6}.snapshot", 48, pack(">q", 3), "byte 10: open transaction 3: the log gives None"),
    ],
)  # fmt: skip
def test_what_disagrees_with_the_segment_is_told(
    name: str, at: int, value: bytes, why: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Files of a 2.8.2 broker, damaged; what the segments say stays as it is."""
    folder = tmp_path / "ledger-0"
    shutil.copytree(LOGS / "kafka28_ledger-0", folder)
    path = folder / re.sub(r"\{(\d+)\}", lambda match: f"{int(match[1]):020}", name)
    damage(path, at, value)
    rows, err = run(capfd, folder, code=3)
    assert len(rows) == 4  # the batches are printed all the same
    assert f"{path}: " in err
    assert why in err
    only_by_the_log = path.suffix == ".snapshot" and "the log gives" in why
    rows, err = run(capfd, path, code=0 if only_by_the_log else 3)
    assert len(rows) == 1


def test_segments_in_any_order(capfd: pytest.CaptureFixture[str]) -> None:
    """Named one by one, the last first: what was not read before is not compared."""
    folder = LOGS / "kafka44_ledger-0"
    names = [f"{2:020}.log", f"{0:020}.log", f"{2:020}.log"]
    _, err = run(capfd, *(folder / name for name in names))
    assert not err


def test_a_segment_left_out_is_no_fault(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What the producer wrote in between was not read."""
    for offset in (0, 2, 4):
        batch = batch_bytes(
            record_bytes() * 2, 2, base_offset=offset, sequence=offset, producer_id=7, epoch=0
        )
        (tmp_path / f"{offset:020}.log").write_bytes(batch)
    entry = pack(">qhiqiqiq", 7, 0, 3, 3, 1, NOW, -1, -1)
    body = pack(">i", 1) + entry
    (tmp_path / f"{4:020}.snapshot").write_bytes(pack(">hI", 1, crc32c(body)) + body)
    assert not run(capfd, tmp_path)[1]
    assert not run(capfd, tmp_path / f"{0:020}.log", tmp_path / f"{4:020}.log")[1]
    (tmp_path / f"{2:020}.log").write_bytes(b"")
    (tmp_path / f"{4:020}.log").write_bytes(b"")
    assert not run(capfd, tmp_path)[1]
    (tmp_path / f"{4:020}.snapshot").write_bytes(b"nothing")
    assert "7 bytes are no producer snapshot" in run(capfd, tmp_path, code=3)[1]


def test_a_missing_entry_of_an_aborted_transaction(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "ledger-0"
    shutil.copytree(LOGS / "kafka28_ledger-0", folder)
    (folder / f"{2:020}.txnindex").write_bytes(b"")
    _, err = run(capfd, folder, code=3)
    assert "no entry for the transaction of producer 0 aborted at offset 5" in err


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Return a segment of five batches of 69 bytes, without index files."""
    folder = tmp_path / "orders-3"
    folder.mkdir()
    batches = [batch_bytes(record_bytes(value=b"%d" % i), base_offset=i) for i in range(5)]
    (folder / f"{STEM}.log").write_bytes(b"".join(batches))
    return folder


@pytest.mark.parametrize(
    ("suffix", "data", "why"),
    [
        ("index", pack(">iiii", 3, 207, 2, 138), "byte 8: offset 2 at 138 does not follow 3 at"),
        ("index", pack(">iiii", 3, 207, 4, 207), "byte 8: offset 4 at 207 does not follow 3 at"),
        ("index", pack(">ii", -3, 69), "byte 0: offset -3 and position 69 lie"),
        ("index", pack(">iib", 3, 207, 1), "1 byte after the last entry at byte 8"),
        ("timeindex", pack(">qiqi", 9, 1, 9, 2), "byte 12: timestamp 9 for offset 2 does not"),
        ("timeindex", b"\1" * 23, "11 bytes after the last entry at byte 12"),
        ("txnindex", pack(">hqqqq", 0, 1, 2, 1, 0), "offsets 2 to 1"),
        ("txnindex", pack(">hqqqqhqqqq", 0, 1, 2, 9, 0, 0, 1, 3, 9, 0), "byte 34: last offset 9 does not"),
        ("snapshot", b"\0\1\0", "3 bytes are no producer snapshot"),
        ("snapshot", pack(">hIi", 2, 0, 0), "version at byte 0: there is no version 2"),
        ("snapshot", pack(">hIi", 1, 7, 0), "CRC at byte 2: says 0x00000007, the bytes give 0x"),
        ("snapshot", pack(">hIi", 1, crc32c(b"\0\0\0\2"), 2), "count at byte 6: 2 entries, room"),
        ("snapshot", pack(">hIi", 1, crc32c(b"\xff" * 4), -1), "count at byte 6: -1 entries, room"),
    ],
)  # fmt: skip
def test_corrupt_by_itself(
    suffix: str, data: bytes, why: str, orders: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = orders / f"{STEM}.{suffix}"
    path.write_bytes(data)
    for named in (path, orders):
        _, err = run(capfd, named, code=3)
        assert f"{path}: " in err
        assert why in err


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_or_random_file_raises_nothing(
    suffix: str, orders: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = orders / f"{STEM}.{suffix}"
    whole = bytes(range(256)) * 2
    for data in (*(whole[:size] for size in range(0, 100, 7)), b"\xff" * 184, whole):
        path.write_bytes(data)
        assert main(["segments", str(path)]) in (0, 3)
        assert main(["segments", str(orders)]) in (0, 3)
        capfd.readouterr()


def test_room_that_was_allocated_is_no_entry(orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = orders / f"{STEM}.index"
    path.write_bytes(pack(">iiii", 1, 69, 3, 207) + bytes(4096))
    rows, _ = run(capfd, path)
    assert [(row["offset"], row["position"]) for row in rows] == [(1, 69), (3, 207)]
    path.write_bytes(pack(">ii", 3, 207) + bytes(4096))
    assert len(run(capfd, path)[0]) == 1
    path.write_bytes(bytes(4096))
    assert run(capfd, path)[0] == []


def test_few_lines_for_many_faults(orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = orders / f"{STEM}.index"
    path.write_bytes(pack(">ii", 1, 1) * 5000)
    for named in (path, orders):
        _, err = run(capfd, named, code=3)
        assert len(err.splitlines()) == 20


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_have_every_field(suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    paths = LOGS.rglob(f"*.{suffix}")
    rows, _ = run(capfd, *paths)
    fields = [field.name for field in KINDS[f".{suffix}"].fields()]
    assert all(list(row) == fields for row in rows)
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parquet_and_tables(suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    paths = [str(path) for path in sorted(LOGS.rglob(f"*.{suffix}"))]
    target = tmp_path / "out.parquet"
    assert main(["segments", *paths, "--format", "parquet", "-o", str(target)]) == 0
    rows, _ = run(capfd, *paths)
    held = parquet.read_table(target)
    for name in rows[0].keys() - {"timestamp", "last_timestamp"}:
        assert held[name].to_pylist() == [row[name] for row in rows]
    for form in ("table", "tsv", "csv"):
        assert main(["segments", *paths, "--format", form]) == 0
        assert len(capfd.readouterr().out.splitlines()) == len(rows) + 1


def test_files_of_a_segment_that_is_about_to_go(orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = orders / f"{STEM}.index.deleted"
    path.write_bytes(pack(">ii", 1, 70))
    (orders / f"{STEM}.log").rename(orders / f"{STEM}.log.deleted")
    rows, _ = run(capfd, path, code=3)
    assert rows[0]["faults"] == ["no batch begins at position 70"]
    assert "no batch begins at position 70" in run(capfd, orders, code=3)[1]


def test_usage(orders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    index = str(orders / f"{STEM}.index")
    for arguments in ([index, str(orders)], [index, "--records"], [index, "-e", "crc"]):
        assert main(["segments", *arguments]) == 2
    assert "no field 'crc'" in capfd.readouterr().err
    assert run(capfd, index, code=3)[1].endswith("No such file or directory\n")
