"""Captures named by URLs: through pyarrow (`file://`) and through fsspec (`memory://`)."""

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.files import open_captures
from kdissect.capture.input_paths import begins_like_capture, find_inputs
from kdissect.capture.objects import ObjectSource
from kdissect.cli import main
from kdissect.model.extras import how_to_install

fs = pytest.importorskip("pyarrow.fs", reason="URLs are read by pyarrow")
memory = pytest.importorskip("fsspec.implementations.memory", reason="fsspec is not installed")

CAPTURES = Path(__file__).parents[2] / "captures"
WHOLE = CAPTURES / "kafka44_java_transactions.pcapng"


@pytest.fixture
def store() -> Iterator[Any]:
    """Yield an object store in memory."""
    store = memory.MemoryFileSystem()
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


def errors_of(url: str) -> list[str | None]:
    return [file.error.why if file.error else None for file in find_inputs([url])]


def test_a_file_is_read_as_by_its_path() -> None:
    of_path = list(open_captures([str(WHOLE)]).packets())
    captures = open_captures([WHOLE.as_uri()])
    assert list(captures.packets()) == of_path
    assert captures.bytes_read == captures.total_bytes == WHOLE.stat().st_size
    assert captures.files[0].capture_set == WHOLE.stem


def test_topic_names_are_found_by_reading_it_again(capfd: pytest.CaptureFixture[str]) -> None:
    def rows(place: str) -> str:
        assert main(["inspect", "--format", "jsonl", place]) == 0
        return capfd.readouterr().out.replace(place, "")

    by_path = rows(str(WHOLE))
    assert by_path.count('"topics":["') > 10
    assert rows(WHOLE.as_uri()) == by_path


def test_a_directory_gives_its_captures(store: Any) -> None:
    for name in ("t10.pcapng", "t9.pcapng", ".t1.pcapng", "notes.txt", "below/t1.pcapng"):
        store.pipe_file(f"/traces/{name}", b"no capture" if name == "notes.txt" else WHOLE.read_bytes())
    assert [file.path for file in find_inputs(["memory://traces/"])] == [
        "memory://traces/t9.pcapng",
        "memory://traces/t10.pcapng",
    ]
    assert [file.path for file in find_inputs(["memory://traces"], recursive=True)] == [
        "memory://traces/t9.pcapng",
        "memory://traces/t10.pcapng",
        "memory://traces/below/t1.pcapng",
    ]
    assert [file.path for file in find_inputs(["memory://traces/t1*"])] == ["memory://traces/t10.pcapng"]
    assert len(find_inputs(["memory://traces/t9.pcapng"] * 2)) == 1


def test_rotated_and_compressed_objects_are_one_capture_set(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = sorted(CAPTURES.glob("kafka44_java_*.pcapng"))[:3]
    for number, part in enumerate(parts, 1):
        name = f"/traces/host1_{number:05}_2026010112000{number}.pcap.gz"
        store.pipe_file(name, gzip.compress(part.read_bytes()))
    assert len(parts) == 3
    captures = open_captures(["memory://traces"])
    assert {file.capture_set for file in captures.files} == {"host1"}
    packets = list(captures.packets())
    monkeypatch.setattr("kdissect.capture.files.MAX_OPEN_FILES", 1)  # each is closed between two reads
    monkeypatch.setattr("kdissect.capture.objects._REQUEST", 1 << 15)
    assert list(open_captures(["memory://traces"]).packets()) == packets
    assert len(packets) == sum(len(list(open_captures([str(part)]).packets())) for part in parts)


def test_what_cannot_be_read_says_why(store: Any, tmp_path: Path) -> None:
    assert errors_of("memory://nowhere/x.pcap")[0]
    assert errors_of((tmp_path / "absent.pcap").as_uri())[0]
    assert errors_of(tmp_path.as_uri()) == ["no captures there"]
    assert errors_of("nonsense://bucket/x.pcap") == ["Protocol not known: nonsense"]


def test_credentials_in_a_url_are_refused_and_not_printed() -> None:
    (file,) = find_inputs(["s3://AKIA:hush@bucket/trace.pcap"])
    assert file.error is not None
    assert "hush" not in str(file.error)
    assert "credentials" in file.error.why


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    (why,) = errors_of("s3://bucket/trace.pcap")
    assert why is not None
    assert how_to_install("arrow") in why


def test_a_store_that_fails_in_the_middle_loses_nothing_before(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.pipe_file("/trace.pcapng", WHOLE.read_bytes())
    size = WHOLE.stat().st_size // 2
    monkeypatch.setattr("kdissect.capture.objects._REQUEST", size)
    opened = memory.MemoryFile.read

    def read(file: Any, length: int = -1) -> Any:
        if file.tell() >= size:
            raise RuntimeError("token expired")  # file systems have errors of their own
        return opened(file, length)

    monkeypatch.setattr(memory.MemoryFile, "read", read)
    file = CaptureFile("memory://trace.pcapng", ObjectSource("memory://trace.pcapng"), None)
    assert sum(len(batch.places) for batch in file.batches()) > 0
    assert file.error is not None
    assert "token expired" in file.error.why


def test_a_question_mark_in_a_path_begins_no_options(tmp_path: Path) -> None:
    assert begins_like_capture(str(tmp_path / "what?.pcap"))  # cannot be opened, and counts by its name
