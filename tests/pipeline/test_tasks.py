"""How a run is dealt out to tasks, and that what one of them lacks comes from the others."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.engine.shards import Shard
from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline import job, share_task
from kdissect.pipeline.inputs import Input, Inputs
from kdissect.pipeline.job import MissingPackagesError
from kdissect.pipeline.shares import Task, tasks_of
from kdissect.serdes.schema_files import load_schemas
from kdissect.stages.per_flow import OF_CAUSES, OF_CONNECTIONS, OF_JUDGES, OF_PERSONAL, OF_STATES
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import compare, of_run
from tests.support.messages.valued_topics import poisoned, registry

CAPTURES = CHECKOUT / "captures"
ALL = frozenset(TABLES) - {"records"}
MB = 10**6


def dealt(sizes: list[int], wanted: int, tables: frozenset[str] = ALL) -> list[Task]:
    files = [Input(number, "a", "a", number, "a", size, None, "a") for number, size in enumerate(sizes)]
    return tasks_of(Inputs(tuple(files), tuple(map(str, range(len(sizes))))), tables, wanted)


def test_with_as_many_sets_as_tasks_nothing_is_read_twice() -> None:
    for sizes in ([2000 * MB], [100 * MB, 100 * MB], [50 * MB] * 40):
        tasks = dealt(sizes, min(2, len(sizes)))
        assert sorted(share.capture_set for task in tasks for share in task) == list(range(len(sizes)))
        assert {share.tables for task in tasks for share in task} == {ALL}


def test_small_sets_share_a_task() -> None:
    assert [len(task) for task in dealt([MB] * 700, 2)] == [(350 * MB < 64 << 20 and 700) or 67] * 10 + [30]


@pytest.mark.parametrize("wanted", range(2, 9))
def test_a_large_set_is_shared_by_tables_and_by_connections(wanted: int) -> None:
    tasks = dealt([2000 * MB], wanted)
    assert len(tasks) == wanted
    shares = [share for task in tasks for share in task]
    of_connections = [share for share in shares if share.tables & OF_CONNECTIONS]
    assert [share.shard for share in of_connections] == [
        Shard(number, len(of_connections)) for number in range(len(of_connections))
    ]
    others = [table for share in shares for table in share.tables - OF_CONNECTIONS]
    assert sorted(others) == sorted(ALL & (OF_JUDGES | OF_STATES | OF_CAUSES | OF_PERSONAL))


@pytest.mark.exhaustive
def test_rotated_files_with_reordering_and_loss_give_the_same_rows(rotated: Path, tmp_path: Path) -> None:
    compare([rotated], tmp_path / "tables", tables={"connections", "exchanges"}, parts=4)
    assert any(row["gaps"] for row in of_run(tmp_path / "tables", "connections"))
    borders = [row for row in of_run(tmp_path / "tables", "exchanges") if _crosses(row)]
    assert borders, "no exchange crosses a file's end: the set tests nothing"


def test_names_that_another_task_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that fetch by topic ids are in one task, the one that asks for metadata in another."""
    ran: list[list[int]] = []
    run_tasks = job._Analysis._ran

    def noted(self: job._Analysis, tasks: dict[int, Task], *more: object) -> object:
        ran.append(sorted(tasks))
        return run_tasks(self, tasks, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(job._Analysis, "_ran", noted)
    path = CAPTURES / "kafka44_java_kip848.pcapng"
    compare([path], tmp_path / "tables", tables={"exchanges", "batches"}, parts=8)
    first, *later = ran
    assert first == list(range(8))
    assert 0 < len(later[-1]) < 8


def test_capture_points_stay_apart_and_are_marked(rotated: Path, tmp_path: Path) -> None:
    first, *_ = sorted(rotated.iterdir())
    for host in ("host_a", "host_b"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "trace.pcap").write_bytes(first.read_bytes())
    paths = [tmp_path / "host_a", tmp_path / "host_b"]
    compare(paths, tmp_path / "tables", tables={"connections", "exchanges"})
    rows = of_run(tmp_path / "tables", "connections")
    assert {row["capture_set"] for row in rows} == {"host_a/trace", "host_b/trace"}
    assert sum(row["same_as"] is not None for row in rows) == len(rows) / 2 > 0


def _crosses(row: dict[str, object]) -> bool:
    sides = (row["request"], row["response"])
    return any(isinstance(side, dict) and "last_file" in side["packets"] for side in sides)


def test_tasks_decode_records_with_schemas_as_one_process_does(tmp_path: Path) -> None:
    for module in ("fastavro", "grpc_tools", "jsonschema"):
        pytest.importorskip(module, reason="needs the extra schemas")
    folder = CAPTURES / "schemas"
    schemas = load_schemas([str(folder / name) for name in ("registry", "apicurio", "sources/topics.toml")])
    captures = [folder / "schemas.pcap", folder / "java.pcap.gz"]
    compare(captures, tmp_path / "tables", tables={"records"}, parts=3, schemas=schemas)
    rows = of_run(tmp_path / "tables", "records")
    assert {row["value_schema"] for row in rows} >= {"orders-value v1", "visits-value v1", "users-value v1"}
    assert any(row["value_error"] == "the value ends before its schema does" for row in rows)
    assert sum(row["decoded"] is not None for row in rows) > 10


@pytest.mark.parametrize("table", ["topic_partitions", "batches", "records"])
def test_names_of_topic_ids_are_known_without_the_table_of_exchanges(table: str, tmp_path: Path) -> None:
    """Produce v13 has ids alone; Metadata has their names."""
    compare([CAPTURES / "kafka44_java_produce.pcapng"], tmp_path / "tables", tables={table}, parts=1)
    assert None not in {row["topic"] for row in of_run(tmp_path / "tables", table)}


def test_tasks_find_poison_pills_as_one_process_does(tmp_path: Path) -> None:
    for module in ("fastavro", "google.protobuf", "grpc_tools", "jsonschema"):
        pytest.importorskip(module, reason="needs the extra schemas")
    folder = CAPTURES / "schemas"
    schemas = load_schemas([str(folder / "registry")])
    compare([folder / "schemas.pcap"], tmp_path / "tables", tables={"causes"}, parts=3, schemas=schemas)
    causes = [row["id"] for row in of_run(tmp_path / "tables", "causes")]
    assert causes.count("poison-pill") == 2  # of `orders` and of `users`, as `why` says


def test_tasks_apply_the_rules_about_schemas_as_one_process_does(tmp_path: Path) -> None:
    """Capture sets are judged apart: an equal offset of another set is another record."""
    for module in ("fastavro", "google.protobuf", "grpc_tools", "jsonschema"):
        pytest.importorskip(module, reason="needs the extra schemas")
    folder = CAPTURES / "schemas"
    (tmp_path / "made").mkdir()
    paths = [folder / "schemas.pcap", Path(poisoned(tmp_path / "made", before=4))]
    schemas = load_schemas([str(folder / "registry"), registry(tmp_path)])
    compare(paths, tmp_path / "tables", tables={"findings", "coverage"}, parts=4, schemas=schemas)
    found = [row for row in of_run(tmp_path / "tables", "findings") if row["code"].startswith("SCH")]
    pills = [(row["capture_set"], row["client_id"]) for row in found if row["code"] == "SCH001"]
    assert sorted(pills) == [("poisoned", "shop"), ("schemas", "shop"), ("schemas", "shop")]
    assert {row["code"] for row in found} == {"SCH001", "SCH002", "SCH004"}
    looked_at = {row["names"][0] for row in of_run(tmp_path / "tables", "coverage") if row["what"] == "rule"}
    assert looked_at >= {"SCH001", "SCH005"}


def test_a_worker_without_packages_for_schemas_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CAPTURES / "schemas"
    schemas = load_schemas([str(folder / "registry")])
    monkeypatch.setattr(share_task, "installed_modules", lambda: ("json", "no_such_package.module"))
    with pytest.raises(MissingPackagesError, match=r"^on \S+, --schemas needs no_such_package.module: pip "):
        compare([folder / "schemas.pcap"], tmp_path / "tables", tables={"records"}, parts=1, schemas=schemas)
