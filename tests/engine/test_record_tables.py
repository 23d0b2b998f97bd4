"""Columns of Arrow tables equal rows, whichever way a record goes."""

from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.decoders.records.sections import Section
from kdissect.engine.record_sets import RecordSet, record_sets
from kdissect.model.anomaly import Anomaly
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
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
NOW = 1_700_000_000_000
Forms = tuple[str | None, str | None]


def both(
    sets: list[RecordSet], forms: Forms = (None, None), **options: Any
) -> tuple[Any, Any, list[Anomaly], list[Anomaly]]:
    """The table made of columns, the one made of rows, and what each reported."""
    from kdissect.engine.record_tables import RecordTables
    from kdissect.engine.row_tables import RowTables

    fast_faults: list[Anomaly] = []
    slow_faults: list[Anomaly] = []
    fast = RecordTables(["file"] * 9, forms, fast_faults.extend, **options)
    tables = [table for records in sets if fast.held.add_set(records) for table in fast.close()]
    tables += fast.close()
    slow = RowTables(fast.schema, ["file"] * 9, forms, slow_faults.extend, False, options.get("topic_name"))
    rows = [table for records in sets for table in slow.tables(records)]
    empty = fast.schema.empty_table()
    return pa.concat_tables([empty, *tables]), pa.concat_tables([empty, *rows]), fast_faults, slow_faults


def check(sets: list[RecordSet], forms: Forms = (None, None), **options: Any) -> Any:
    fast, slow, fast_faults, slow_faults = both(sets, forms, **options)
    for name in fast.schema.names:
        assert plain(fast[name]) == plain(slow[name]), name
    assert fast_faults == slow_faults
    fast.validate(full=True)
    return fast


def plain(column: Any) -> list[Any]:
    """Values; times as numbers, as most 64-bit numbers are no `datetime`."""
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()


def field(data: bytes, topic: str | None = "t", is_response: bool = True, partition: int = 0) -> RecordSet:
    """A records field of a frame that has nothing else."""
    info = ConnectionInfo("0" * 16, "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), NOW)
    exchange = Exchange(info, 0)
    exchange.api_key, exchange.api_version = (1 if is_response else 0), 4
    frame = Frame(data, len(data), 1, 1, NOW * 10**6, NOW * 10**6)
    section = Section(topic, None if topic else bytes(15) + b"\7", partition, None, 0, len(data))
    return RecordSet(exchange, is_response, frame, section)


@pytest.mark.sampled(8)
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


def test_groups_end_where_they_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.engine import held_fields, record_groups

    whole = check([field(data) for data in ODD * 3])
    monkeypatch.setattr(held_fields, "GROUP_BYTES", 2000)
    monkeypatch.setattr(record_groups, "GROUP_OUTPUT", 4000)
    # Where groups end, dictionaries do: rows are compared, not the places of their texts.
    grouped = check([field(data) for data in ODD * 3])
    assert grouped.unify_dictionaries().combine_chunks().equals(whole.unify_dictionaries().combine_chunks())


def test_some_columns() -> None:
    table = check([field(data) for data in ODD], columns=["value", "offset"])
    assert table.schema.names == ["value", "offset"]


def test_many_fields_in_lockstep() -> None:
    check([field(data, is_response=i % 2 == 0) for i in range(6) for data in ODD])


def test_fields_held_by_exchange_are_those_held_one_by_one() -> None:
    from kdissect.engine.record_sets import exchange_sections
    from kdissect.engine.record_tables import RecordTables

    exchanges = list(Dissection(str(CAPTURES / "kafka44_java_produce.pcapng")))
    tables = RecordTables(["file"], (None, None), lambda _: None)
    for exchange in exchanges:
        found = exchange_sections(exchange)
        if found is not None:
            assert not tables.held.add(exchange, found[1], found[2])
    whole = check([records for exchange in exchanges for records in record_sets(exchange)])
    assert pa.concat_tables(tables.close()).equals(whole)


@pytest.mark.parametrize(
    "values", [("é", "ü" * 9), ("", "é", ""), (b"\xc3", b"\xa9"), (b"a", b"\xed\xa0\x80")]
)
def test_text_is_looked_at_value_by_value(values: tuple[str | bytes, ...]) -> None:
    raw = [value.encode() if isinstance(value, str) else value for value in values]
    table = check(
        [field(batch_bytes(record_bytes(key=None, value=value))) for value in raw], ("text", "text")
    )
    assert table["value"].to_pylist() == [value.decode("utf-8", "backslashreplace") for value in raw]
