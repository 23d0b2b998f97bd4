"""Arrow tables that the compiled package makes of records equal those made of rows."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.engine.records.record_rows import TopicNames
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.model.anomaly import Anomaly
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.captures import manifest
from tests.support.console import CAPTURES
from tests.support.messages.batches import (
    batch_bytes,
    kafka_python_batch,
    kafka_python_messages,
    message_bytes,
    record_bytes,
)

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
NOW = 1_700_000_000_000
Forms = tuple[str | None, str | None]


def check(
    sets: list[RecordSet],
    forms: Forms = (None, None),
    topic_name: TopicNames | None = None,
    columns: Sequence[str] = (),
) -> Any:
    """Return the table that the compiled records make of fields, which is the one made of rows."""
    from kdissect.engine.records.compiled_tables import CompiledTables
    from kdissect.engine.records.record_schema import arrow_schema
    from kdissect.engine.records.row_tables import arrow_row, in_tables, table_rows

    files, schema = ["file"] * 9, arrow_schema(*forms, columns)
    compiled_faults: list[Anomaly] = []
    faults: list[Anomaly] = []
    rows = table_rows(files, forms, topic_name=topic_name)
    compiled = CompiledTables(schema, forms, files, rows, compiled_faults.extend, fail, topic_name).records
    tables = [table for records in sets if compiled.add(records) for table in compiled.close()]
    tables += compiled.close()
    plain_rows = table_rows(files, forms, topic_name=topic_name)
    made = [arrow_row(row) for records in sets for row in plain_rows.rows(records, faults)]
    empty = schema.empty_table()
    fast = pa.concat_tables([empty, *tables])
    slow = pa.concat_tables([empty, *in_tables(made, schema)])
    for name in schema.names:
        assert plain(fast[name]) == plain(slow[name]), name
    assert compiled_faults == faults
    fast.validate(full=True)
    return fast


def fail(error: Exception, _exchange: Exchange) -> None:
    """Nothing goes wrong."""
    raise error


def plain(column: Any) -> list[Any]:
    """Return values; times as numbers, as most 64-bit numbers are no `datetime`."""
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()


def field(data: bytes, topic: str | None = "t", is_response: bool = True, partition: int = 0) -> RecordSet:
    """Return a records field of a frame that has nothing else."""
    info = ConnectionInfo("0" * 16, "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), NOW)
    exchange = Exchange(info, 0)
    exchange.api_key, exchange.api_version = (1 if is_response else 0), 4
    frame = Frame(data, len(data), 1, 1, NOW * 10**6, NOW * 10**6)
    if is_response:
        exchange.response = frame
    else:
        exchange.request = frame
    records_field = RecordsField(topic, None if topic else bytes(15) + b"\7", partition, None, 0, len(data))
    return RecordSet(exchange, is_response, frame, records_field)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_shipped_captures(path: Path) -> None:
    check([records for exchange in Dissection(str(path)) for records in record_sets(exchange)])


def test_reference_captures_with_every_codec_damaged_and_old(reference: Path) -> None:
    for name in (
        "tansu_rdk216_mss_codecs.pcap", "dmg_tansu_rdk216_codecs_badcrc.pcap", "tansu_kp147v09_codecs.pcap",
        "tansu_kp202_codecs.pcap", "dmg_tansu_rdk216_codecs_loss1.pcap",
    ):  # fmt: skip
        path = str(reference / "captures" / name)
        table = check([records for exchange in Dissection(path) for records in record_sets(exchange)])
        if name == "tansu_rdk216_mss_codecs.pcap":
            assert table.num_rows == manifest(reference)[name]["records"]


SAMPLES = [
    (
        NOW + i,
        None if i % 3 == 0 else b"k%d" % i,
        None if i % 5 == 0 else b"v" * (i % 30),
        [("h", b"x")] * (i % 3),
    )
    for i in range(100)
]
ODD = [
    batch_bytes(record_bytes(value=b"plain")),
    kafka_python_batch(SAMPLES, 0),
    kafka_python_batch(SAMPLES, 1) + kafka_python_batch(SAMPLES[:7], 4),
    kafka_python_batch(
        SAMPLES, 2, is_transactional=True, producer_id=7, producer_epoch=1, base_sequence=0x7FFFFFF0
    ),
    kafka_python_batch(SAMPLES, 3),
    batch_bytes(b"", 0, attributes=1),
    b"",
    batch_bytes(record_bytes(), crc=5),
    batch_bytes(record_bytes(), 2),
    batch_bytes(record_bytes(value=b"1"), attributes=8),
    batch_bytes(record_bytes(value=b"1"), base_timestamp=-1),
    batch_bytes(
        record_bytes(key=b"\0\0\0\1", value=b"\0\0\0\0\0\5"), attributes=0x30, producer_id=4, epoch=0
    ),
    batch_bytes(record_bytes(key=b"\xff\xfe", value=b"\xff" * 40, headers=[("h", b"\xff")])),
    batch_bytes(record_bytes(headers=[("h", b"")] * 70)),
    batch_bytes(b"zzz", attributes=5) + batch_bytes(record_bytes(value=b"behind")),
    batch_bytes(record_bytes(0, 1 << 62), base_timestamp=1 << 62),
    batch_bytes(record_bytes(5), base_offset=(1 << 63) - 3),
    kafka_python_messages(SAMPLES, 1, 1) + message_bytes(b"x", magic=0) + batch_bytes(record_bytes()),
    batch_bytes(record_bytes(value=b"whole")) + batch_bytes(record_bytes(value=b"cut"))[:40],
]


@pytest.mark.parametrize("is_response", [True, False])
@pytest.mark.parametrize("forms", [(None, None), ("text", "text"), ("hex", "base64"), ("json", None)])
def test_odd_batches_in_any_company(forms: Forms, is_response: bool) -> None:
    sets = [field(data, is_response=is_response, partition=i) for i, data in enumerate(ODD)]
    table = check(sets, forms)
    assert table["number"].to_pylist() == list(range(1, table.num_rows + 1))


def test_records_of_own_topics_are_decoded_and_masked() -> None:
    scram = (
        b"\x01\x0b\x00" + b"\x02u" + b"\x01" + b"\x02s" + b"\x02k" + b"\x02v" + b"\x00\x00\x10\x00" + b"\x00"
    )
    data = batch_bytes(record_bytes(value=scram))
    table = check([field(data, "__cluster_metadata"), field(data)], ("hex", "hex"))
    assert table["value"].to_pylist() == ["***", scram.hex()]
    assert "UserScramCredentialRecord" in table["decoded"][0].as_py()


def test_names_of_topic_ids() -> None:
    table = check([field(ODD[0], None)], topic_name=lambda _: "named")
    assert (table["topic"].to_pylist(), table["topic_id"].to_pylist()) == (
        ["named"],
        ["AAAAAAAAAAAAAAAAAAAABw"],
    )


@pytest.mark.parametrize("columns", [["value", "offset"], ["headers", "number", "time"], ["connection"]])
def test_some_columns(columns: list[str]) -> None:
    table = check([field(data) for data in ODD], ("hex", "text"), columns=columns)
    assert table.schema.names == columns


def test_many_fields() -> None:
    check([field(data, is_response=i % 2 == 0) for i in range(6) for data in ODD])


@pytest.mark.parametrize("form", ["text", "hex", "json", "base64"])
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=5))
def test_forms_of_any_bytes(form: str, values: list[bytes]) -> None:
    records = [record_bytes(key=value, value=value, headers=[("h", value)]) for value in values]
    table = check([field(batch_bytes(record)) for record in records], (form, form))
    expected = {
        "hex": bytes.hex,
        "base64": lambda value: base64.b64encode(value).decode(),
    }.get(form, lambda value: value.decode("utf-8", "backslashreplace"))
    texts = [expected(value) for value in values]
    assert (table["key"].to_pylist(), table["value"].to_pylist()) == (texts, texts)


@pytest.mark.parametrize(
    "values", [("é", "ü" * 9), ("", "é", ""), (b"\xc3", b"\xa9"), (b"a", b"\xed\xa0\x80")]
)
def test_text_is_looked_at_value_by_value(values: tuple[str | bytes, ...]) -> None:
    raw = [value.encode() if isinstance(value, str) else value for value in values]
    table = check(
        [field(batch_bytes(record_bytes(key=None, value=value))) for value in raw], ("text", "text")
    )
    assert table["value"].to_pylist() == [value.decode("utf-8", "backslashreplace") for value in raw]
