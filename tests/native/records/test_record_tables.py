"""The table `records` with schemas has equal rows from the native engine and from Python."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="needs the extra schemas")
pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.cli import main
from kdissect.model.native import native
from kdissect.stages.rows import flow_rows, record_columns
from kdissect.stages.rows.record_columns import RecordColumns
from tests.pipeline.parquet import of_run
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.valued_topics import CUT, FITS, PRODUCE, Valued, capture, registry

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

FOLDER = CAPTURES / "schemas"
NAMES = ("registry", "apicurio", "sources/topics.toml")


def tables(folder: Path, name: str, *words: str) -> list[Any]:
    out = folder / name
    assert main(["tables", *words, "--tables", "records", "--output", str(out)]) == 0
    return list(of_run(out, "records"))


def compared(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[Any]:
    """Return the rows of both engines, which are equal."""
    found = tables(folder, "native", *words)
    with monkeypatch.context() as patch:
        patch.setattr(flow_rows, "is_compiled", False)
        assert tables(folder, "python", *words) == found
    return found


@pytest.mark.parametrize("name", ["schemas.pcap", "java.pcap.gz"])
def test_recorded_values(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = [word for path in NAMES for word in ("--schemas", str(FOLDER / path))]
    assert len(compared(tmp_path, monkeypatch, str(FOLDER / name), *schemas)) > 10


def odd(folder: Path) -> str:
    """Return a capture with fields of several partitions, empty ones, times that are no dates, values that do
    not fit, compressed and cut batches, and a topic of Kafka's own.
    """
    shop = Valued("shop").write(0, [FITS, CUT, b"text", FITS]).write(4, [FITS] * 30)
    batches = [
        batch_bytes(record_bytes(value=FITS), max_timestamp=1 << 62, base_timestamp=1 << 62),
        batch_bytes(record_bytes(value=FITS, headers=(("a", None), ("b", b"\0\xff"))), attributes=16),
        b"",
        batch_bytes(zlib.compress(record_bytes(value=FITS)), attributes=1),
        batch_bytes(record_bytes(value=FITS)) + batch_bytes(record_bytes(value=FITS), crc=1)[:40],
        batch_bytes(record_bytes(value=FITS) * 2, 3),
    ]
    for topic in ("orders", "__consumer_offsets", "other"):
        data = [{"index": index, "records": records} for index, records in enumerate(batches)]
        asked = {"acks": 0, "timeout_ms": 1, "topic_data": [{"name": topic, "partition_data": data}]}
        shop.ask(PRODUCE, 3, {"transactional_id": None, **asked})
    return capture(folder / "odd.pcap", shop.read(2, [FITS, FITS]), Valued("web", 40007).read(0, [FITS] * 9))


def test_odd_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(tmp_path, monkeypatch, odd(tmp_path), "--schemas", registry(tmp_path))
    decoded = [row["decoded"] for row in found if row["topic"] == "orders" and row["decoded"]]
    assert json.loads(decoded[0])["value"] == {"id": 1, "name": "a"}
    assert len({row["section"] for row in found}) > 3
    assert any(row["timestamp_ms"] and row["timestamp"] is None for row in found)


def test_batches_of_columns_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables(tmp_path, "one", odd(tmp_path), "--schemas", registry(tmp_path))
    sizes: list[int] = []
    taken = RecordColumns.take

    def take(columns: RecordColumns, table: str) -> Any:
        sizes.append(columns.rows(table))
        return taken(columns, table)

    monkeypatch.setattr(RecordColumns, "take", take)
    monkeypatch.setattr(record_columns, "_MAX_ROWS", 5)
    monkeypatch.setattr(record_columns, "_MAX_STORED", 1)
    assert tables(tmp_path, "many", odd(tmp_path), "--schemas", registry(tmp_path)) == before
    assert len(sizes) > 3
