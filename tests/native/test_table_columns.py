"""Tables whose rows the compiled part makes as columns are those of the row makers, damaged captures too."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import native
from kdissect.schema.logs import METADATA_TOPIC_ID
from tests.history.cluster import CLICKS, FETCH, ORDERS, Client
from tests.history.test_topic_names import TOPIC_ID, topic_batch
from tests.support.console import CAPTURES
from tests.support.packets.pcaps import write_pcap, write_side_by_side
from tests.support.python_side import PythonSide

pa = pytest.importorskip("pyarrow")
from kdissect.query.fields.field_table import FIELDS  # noqa: E402  needs pyarrow
from kdissect.stages.one_process import produce  # noqa: E402
from kdissect.stages.per_flow import OF_CONNECTIONS  # noqa: E402
from kdissect.stages.rows import table_rows  # noqa: E402  needs pyarrow
from kdissect.stages.rows.compiled_rows import CompiledRows  # noqa: E402
from kdissect.stages.rows.flow_rows import ExchangeTables  # noqa: E402

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

# Old formats and cut batches, topic ids, errors, transactions, control records, acks=0, share groups, pieces
# of snapshots, SASL tokens, the metadata log.
NAMES = (
    "kafka28_scala_consumer.pcapng", "kafka28zk_franz_raw.pcapng", "kafka37_snapshot.pcapng.gz",
    "kafka44_java_errors.pcapng", "kafka44_franz_transactions.pcapng", "kafka44_franz_sasl.pcapng",
    "kafka44_java_produce.pcapng", "kafka40_java_share.pcapng", "tansu_rdk216_acks.pcap",
)  # fmt: skip
DEFAULT = frozenset(TABLES) - {"records"}
SETS = (
    DEFAULT,
    OF_CONNECTIONS - {FIELDS},
    frozenset({"batches"}),
    frozenset({"anomalies"}),
    frozenset({"topics"}),
)
Found = dict[str, Any]


def tables_of(paths: list[str], tables: frozenset[str]) -> Found:
    """Return all rows of tables."""
    found: Found = {name: arrow_schema(TABLES[name]).empty_table() for name in TABLES if name in tables}
    for name, batch in produce(Dissection(paths), tables):
        assert batch.schema.equals(found[name].schema, check_metadata=True)
        batch.validate(full=True)
        found[name] = pa.concat_tables([found[name], pa.Table.from_batches([batch])])
    return {name: table.combine_chunks() for name, table in found.items()}


def rows_of(paths: list[str], tables: frozenset[str]) -> dict[str, list[Any]]:
    return {name: table.to_pylist() for name, table in tables_of(paths, tables).items()}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("tables", SETS, ids=["default", "records too", "batches", "anomalies", "topics"])
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_python(name: str, tables: frozenset[str], python_side: PythonSide) -> None:
    paths = [str(CAPTURES / name)]
    expected = python_side.call(rows_of, paths, tables)
    assert rows_of(paths, tables) == expected
    assert any(expected.values()) or len(tables) == 1


@pytest.mark.parametrize("other", [NAMES[0], "kafka44_aiokafka_groups.pcapng"], ids=["the same", "another"])
def test_rows_of_sets_that_are_read_in_turns_are_those_of_python(
    other: str, tmp_path: Path, python_side: PythonSide
) -> None:
    sources = {tmp_path / "a.pcap": CAPTURES / NAMES[0], tmp_path / "b.pcap": CAPTURES / other}
    paths = write_side_by_side(sources)
    found = rows_of(paths, DEFAULT)
    assert found == python_side.call(rows_of, paths, DEFAULT)
    assert {row["capture_set"] for row in found["exchanges"]} == {"a", "b"}
    assert any(row["same_as"] for row in found["exchanges"]) == (other == NAMES[0])


def damaged(data: bytes, seed: int) -> bytes:
    """Change some bytes after the header of the file."""
    dice = random.Random(seed)
    changed = bytearray(data)
    for _ in range(40):
        at = dice.randrange(400, len(changed))
        changed[at] ^= dice.choice((1, 0x10, 0x80, 0xFF))
    return bytes(changed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["kafka44_java_produce.pcapng", "kafka28zk_franz_raw.pcapng"])
def test_rows_of_damaged_captures_are_those_of_python(
    name: str, seed: int, tmp_path: Path, python_side: PythonSide
) -> None:
    path = tmp_path / "damaged.pcapng"
    path.write_bytes(damaged((CAPTURES / name).read_bytes(), seed))
    tables = DEFAULT
    assert rows_of([str(path)], tables) == python_side.call(rows_of, [str(path)], tables)


class Sometimes(CompiledRows):
    """Leaves every third exchange to the row makers, as if it were unusual."""

    count = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        add = self.add

        def add_most(*event: Any) -> bool:
            Sometimes.count += 1
            return Sometimes.count % 3 > 0 and add(*event)

        self.add = add_most


def test_rows_of_both_kinds_stand_in_the_order_of_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(CAPTURES / "kafka39_franz_raw.pcapng")]
    tables = OF_CONNECTIONS - {"records", FIELDS}
    expected = rows_of(paths, tables)
    monkeypatch.setattr("kdissect.stages.rows.flow_rows.CompiledRows", Sometimes)
    monkeypatch.setattr(table_rows, "BATCH_ROWS", 7)
    monkeypatch.setattr(table_rows, "COLUMN_ROWS", 50)
    assert rows_of(paths, tables) == expected
    assert Sometimes.count > 100


def test_nearly_all_exchanges_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Iterator[Any]:
        nonlocal left
        left += 1
        return iter(())

    left = 0
    monkeypatch.setattr(ExchangeTables, "_record_sets", refused)
    rows = rows_of([str(CAPTURES / "kafka39_franz_raw.pcapng")], frozenset({"batches"}))["batches"]
    assert len(rows) > 100
    assert left < len(rows) / 10


def test_errors_of_partitions_are_columns(
    tmp_path: Path, python_side: PythonSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stands beside the records of its own partition, also of two topics that have the same one."""
    parts = [
        {"partition_index": number, "error_code": code, "aborted_transactions": None, "records": b""}
        for number, code in ((0, 0), (1, 1), (2, 6), (2, 3))
    ]
    asked = {"topics": [{"topic_id": topic, "partitions": [{"partition": 1}]} for topic in (ORDERS, CLICKS)]}
    others = [parts[1] | {"error_code": 0}, parts[0] | {"error_code": 999}]
    answer = {
        "responses": [
            {"topic_id": ORDERS, "partitions": parts},
            {"topic_id": CLICKS, "partitions": others},
        ]
    }
    client = Client().metadata("c", orders=ORDERS, clicks=CLICKS)
    for _ in range(5):
        client.ask(FETCH, 13, asked, answer)
    paths = [write_pcap(tmp_path / "errors.pcap", client.packets)]
    expected = python_side.call(rows_of, paths, DEFAULT)
    errors = [row["error"] for row in expected["topic_partitions"]][:6]
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"  # the last one that is said of a partition
    assert errors == [None, "OFFSET_OUT_OF_RANGE", unknown, unknown, None, "ERROR_999"]
    monkeypatch.setattr(ExchangeTables, "_record_sets", lambda *_: pytest.fail("rows were made by Python"))
    assert rows_of(paths, DEFAULT) == expected


def rows_read_once(paths: list[str], tables: frozenset[str]) -> dict[str, list[Any]]:
    """Return the same of a stream: it has the names of topics that came before."""
    dissection = Dissection(paths)
    dissection.topics = TopicNames()
    found: dict[str, list[Any]] = {}
    for name, batch in produce(dissection, tables):
        found.setdefault(name, []).extend(batch.to_pylist())
    return found


def test_names_are_known_from_the_exchange_on_that_tells_them(
    tmp_path: Path, python_side: PythonSide
) -> None:
    """Exchanges that tell names stand in the middle of a block: Metadata, and a Fetch of the metadata log."""
    part = {"partition_index": 0, "aborted_transactions": None, "records": topic_batch()}
    log = {"topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [{"partition": 0}]}]}
    answer = {"responses": [{"topic_id": METADATA_TOPIC_ID, "partitions": [part]}]}
    client = Client().metadata("c", other=bytes(15) + b"\7")
    for _ in range(3):
        client.fetch(ORDERS, CLICKS).fetch(TOPIC_ID).fetch(CLICKS)
    client.metadata("c", sales=ORDERS).fetch(ORDERS, CLICKS).ask(FETCH, 13, log, answer).fetch(TOPIC_ID)
    client.metadata("c", clicks=CLICKS).fetch(CLICKS, ORDERS)
    paths = [write_pcap(tmp_path / "names.pcap", client.packets)]
    expected = python_side.call(rows_read_once, paths, DEFAULT)
    assert {row["topic"] for row in expected["topics"]} >= {"orders", "sales", "clicks", None}
    for tables in (DEFAULT, frozenset({"topics"}), frozenset({"exchanges"})):
        assert rows_read_once(paths, tables) == python_side.call(rows_read_once, paths, tables)
