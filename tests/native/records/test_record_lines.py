"""Lines of `records` as TSV, CSV and JSON are the same with the compiled hot path and without."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.cli import main
from kdissect.cli.formats import delimited
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_fields import RECORD_FIELDS
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.anomaly import Anomaly
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.native import native as compiled_part
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.python_side import PythonSide

needs_native = pytest.mark.skipif(compiled_part is None, reason="no compiled hot path (docs/native.md)")
EVERY = sorted(path for path in CAPTURES.iterdir() if re.search(r"\.pcap(ng)?(\.gz)?$", path.name))
# Control records, Kafka's own topics, share groups, pieces of snapshots, codecs, what is damaged.
SOME = (
    "kafka44_sarama_groups",
    "kafka44_kafkajs_transactions",
    "kafka44_java_share",
    "tansu_rdk216_txn",
)
OPTIONS: tuple[tuple[str, ...], ...] = (
    (), ("--topic", "*e*"), ("--limit", "7"), ("-e", "value"),
    ("-e", "headers.key,headers.value,decoded,key"),
    ("--key-format", "hex", "--value-format", "base64", "--show-secrets", "--no-header"),
    ("--value-format", "json"), ("-Y", "api == Produce"),
)  # fmt: skip
ALL = [field.name for field in RECORD_FIELDS]
STYLES = ("tsv", "csv", "jsonl")


def written(capture: str, out: str, *options: str) -> tuple[int, bytes]:
    """Exit code and what is written of a capture."""
    code = main(["records", capture, "-o", out, *options])
    return code, Path(out).read_bytes()


def check(path: Path, python_side: PythonSide, folder: Path) -> None:
    for style in STYLES:
        for options in (*OPTIONS, ("-e", ",".join(ALL))):
            asked = (str(folder / "out"), "--format", style, *options)
            mine = written(str(path), *asked)
            theirs = python_side.call(written, str(path), *asked)
            assert mine == theirs, (style, options)


@pytest.mark.parametrize("path", [p for p in EVERY if p.name.startswith(SOME)], ids=lambda path: path.name)
def test_lines_are_the_same(path: Path, native: Any, python_side: PythonSide, tmp_path: Path) -> None:
    check(path, python_side, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", EVERY[1::2], ids=lambda path: path.name)
def test_lines_of_all_captures_are_the_same(
    path: Path, native: Any, python_side: PythonSide, tmp_path: Path
) -> None:
    check(path, python_side, tmp_path)


@pytest.mark.exhaustive
def test_damaged_captures(native: Any, python_side: PythonSide, tmp_path: Path) -> None:
    """Every 97th byte behind the headers of files is another one, and the end is missing."""
    for path in (path for path in EVERY if path.name.startswith("kafka44_sarama")):
        content = bytearray(path.read_bytes())
        for place in range(1000, len(content), 9700):
            content[place] ^= 0x55
        damaged = tmp_path / path.name
        damaged.write_bytes(content[: len(content) * 9 // 10])
        check(damaged, python_side, tmp_path)


def field(data: bytes, client_id: str | None = "c", topic: str = "t", time_ns: int = 10**18) -> RecordSet:
    """Return a records field of a Produce request that has nothing else."""
    info = ConnectionInfo("0" * 16, "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), time_ns)
    exchange = Exchange(info, 0, 0, 4, client_id=client_id)
    frame = exchange.request = Frame(data, len(data), 1, 1, time_ns, time_ns)
    return RecordSet(exchange, False, frame, RecordsField(topic, None, 0, None, 0, len(data)))


def lines(
    sets: list[RecordSet], style: str, columns: list[str], form: str, file: str = "f"
) -> tuple[list[bytes], int]:
    """Return what the compiled part writes of fields, which is what Python writes; how many it left to
    Python.
    """
    from kdissect.cli.captures.record_lines import CompiledLines

    chosen = columns or ([] if style == "jsonl" else ALL)
    lines_of = delimited(style, chosen, True, False)
    theirs: list[Anomaly] = []
    rows = RecordRows([file], form, form)
    expected = [lines_of.line(row) for records in sets for row in rows.rows(records, theirs)]
    mine: list[Anomaly] = []
    left = LeftRows([file], form, form)
    forms = (form, form)
    compiled = CompiledLines(style, chosen, forms, [file], left, lines_of, mine.extend, _fail).records
    made = [line for records in sets if compiled.add(records) for line in compiled.close()]
    assert b"".join([*made, *compiled.close()]) == b"".join(expected)
    assert mine == theirs
    return expected, left.asked


class LeftRows(RecordRows):
    """Counts fields that are left to Python."""

    asked = 0

    def rows(self, records: RecordSet, anomalies: list[Anomaly]) -> Iterator[Row]:
        self.asked += 1
        return super().rows(records, anomalies)


def _fail(error: Exception, exchange: Exchange) -> None:
    raise error


texts = st.text(max_size=12) | st.text(
    '=+-@\t\n\r \\",\x00\x1b\x7f\x85\xa0\u202e\u3000\uff0b\U000e0001é😀a1', max_size=6
)
contents = st.none() | st.binary(max_size=12) | texts.map(str.encode)


@needs_native
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(contents, contents, st.lists(st.tuples(texts, contents), max_size=3)), max_size=4),
    texts,
    st.none() | texts,
    st.sampled_from(STYLES),
    st.sampled_from(["text", "hex", "base64"]),
    st.sampled_from([[], ["key"], ["headers.value"], ["value", "headers.key"], ["headers"]]),
    st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 1 << 41),
)
def test_any_texts(
    records: list[Any],
    topic: str,
    client_id: str | None,
    style: str,
    form: str,
    columns: list[str],
    time: int,
) -> None:
    samples = [
        record_bytes(index, key=key, value=value, headers=[(name, content) for name, content in headers])
        for index, (key, value, headers) in enumerate(records)
    ]
    data = batch_bytes(b"".join(samples), len(samples), base_timestamp=time)
    _, left = lines([field(data, client_id, topic, time)], style, columns, form)
    assert not left


@pytest.mark.exhaustive
@needs_native
@pytest.mark.parametrize("style", STYLES)
def test_every_character(style: str) -> None:
    """All of Unicode, 256 characters a value."""
    blocks = (range(first, first + 256) for first in range(0, sys.maxunicode, 256))
    values = ["".join(map(chr, block)) for block in blocks if not 0xD800 <= block[0] < 0xE000]
    sets = [field(batch_bytes(record_bytes(value=value.encode()))) for value in values]
    found, left = lines(sets, style, ["value"], "text")
    assert not left
    assert len(found) == len(values)
    if style == "jsonl":
        assert [json.loads(line)["value"] for line in found] == values


@needs_native
@pytest.mark.parametrize("style", STYLES)
def test_a_name_of_a_file_that_is_no_text(style: str) -> None:
    """Python writes such rows: which bytes the name has."""
    _, left = lines([field(batch_bytes(record_bytes()))] * 2, style, ["number", "file"], "text", "a\udcff")
    assert left == 2


@needs_native
def test_numbers_beyond_64_bits_are_told_by_python() -> None:
    far = batch_bytes(record_bytes(5), base_offset=(1 << 63) - 3)
    late = batch_bytes(record_bytes(0, 1 << 62), base_timestamp=1 << 62)
    found, left = lines(
        [field(data) for data in (far, late, batch_bytes(record_bytes()))], "jsonl", [], "text"
    )
    assert left == 2
    assert [json.loads(line)["number"] for line in found] == [1, 2, 3]
