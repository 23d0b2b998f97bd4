"""Tables whose rows the compiled part makes as columns are those of the row makers, damaged captures too."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.model.native import native
from tests.native.python_side import PythonSide
from tests.support.console import CAPTURES

pa = pytest.importorskip("pyarrow")
from kdissect.stages import table_rows  # noqa: E402  needs pyarrow
from kdissect.stages.compiled_rows import CompiledRows  # noqa: E402
from kdissect.stages.connection_rows import ExchangeTables  # noqa: E402
from kdissect.stages.one_process import produce  # noqa: E402
from kdissect.stages.per_flow import OF_CONNECTIONS  # noqa: E402

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

# Old formats and cut batches, topic ids, errors, transactions, control records, acks=0, share groups, pieces
# of snapshots, SASL tokens, the metadata log.
NAMES = (
    "kafka28_scala_consumer.pcapng", "kafka28zk_franz_raw.pcapng", "kafka37_snapshot.pcapng.gz",
    "kafka44_java_errors.pcapng", "kafka44_franz_transactions.pcapng", "kafka44_franz_sasl.pcapng",
    "kafka44_java_produce.pcapng", "kafka40_java_share.pcapng", "tansu_rdk216_acks.pcap",
)  # fmt: skip
SETS = (OF_CONNECTIONS - {"records"}, OF_CONNECTIONS, frozenset({"batches"}), frozenset({"anomalies"}))
Found = dict[str, Any]


def tables_of(paths: list[str], tables: frozenset[str]) -> Found:
    """All rows of tables."""
    found: Found = {name: arrow_schema(TABLES[name]).empty_table() for name in TABLES if name in tables}
    for name, batch in produce(Dissection(paths), tables):
        assert batch.schema.equals(found[name].schema, check_metadata=True)
        batch.validate(full=True)
        found[name] = pa.concat_tables([found[name], pa.Table.from_batches([batch])])
    return {name: table.combine_chunks() for name, table in found.items()}


def rows_of(paths: list[str], tables: frozenset[str]) -> dict[str, list[Any]]:
    return {name: table.to_pylist() for name, table in tables_of(paths, tables).items()}


@pytest.mark.parametrize("tables", SETS, ids=["default", "records too", "batches", "anomalies"])
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_python(name: str, tables: frozenset[str], python_side: PythonSide) -> None:
    paths = [str(CAPTURES / name)]
    expected = python_side.call(rows_of, paths, tables)
    assert rows_of(paths, tables) == expected
    assert any(expected.values()) or tables == {"anomalies"}


def damaged(data: bytes, seed: int) -> bytes:
    """Some bytes changed behind the header of the file."""
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
    tables = OF_CONNECTIONS - {"records"}
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
    tables = OF_CONNECTIONS - {"records"}
    expected = rows_of(paths, tables)
    monkeypatch.setattr("kdissect.stages.connection_rows.CompiledRows", Sometimes)
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
