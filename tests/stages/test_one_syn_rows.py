"""Rows of connections of one SYN are columns, and the same as those of the row maker, in their order."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from benchmarks.hostile_load import START_NS, Wire, request, response, syn_flood
from kdissect.api import Dissection
from kdissect.engine.connection_rows import connection_row
from kdissect.model.limits import Limits
from kdissect.model.packets.packet import Packet
from kdissect.stages.one_process import produce
from kdissect.stages.per_flow import OF_CONNECTIONS
from kdissect.stages.rows import flow_rows as connection_rows
from kdissect.stages.rows import table_rows
from kdissect.stages.rows.flow_rows import OneSynRows
from tests.support.packets.pcaps import write_pcap

TABLES = OF_CONNECTIONS - {"records"}


def flood(path: Path, seed: int) -> str:
    """Return SYNs, and connections that say something between them."""
    dice, found = Random(seed), []
    for number, syn in enumerate(syn_flood(300)):
        found.append(syn)
        if dice.random() < 0.2:
            wire = Wire(100_000 + number)
            found += [*wire.open(), wire.say(0, request(1)), wire.say(1, response(1))]
    return write_pcap(
        path, [Packet(at, START_NS + 1_000_000 * at, 1, data, len(data)) for at, data in enumerate(found)]
    )


def rows_of(paths: list[str], limits: Limits | None = None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for table, batch in produce(Dissection(paths, limits=limits), TABLES):
        batch.validate(full=True)
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


@pytest.mark.parametrize("limits", [None, Limits(connections=50)])
def test_rows_are_those_of_the_row_maker(
    limits: Limits | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [flood(tmp_path / "a.pcap", 1), flood(tmp_path / "b.pcap", 2)]
    with monkeypatch.context() as without:
        without.setattr(OneSynRows, "add", lambda *_: False)
        expected = rows_of(paths, limits)
    assert len(expected["connections"]) > 600
    assert {row["closed"]["how"] for row in expected["connections"]} >= {"capture_end"}
    monkeypatch.setattr(table_rows, "BATCH_ROWS", 7)
    monkeypatch.setattr(table_rows, "COLUMN_ROWS", 50)
    assert rows_of(paths, limits) == expected


def test_nearly_none_of_a_flood_is_made_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(*given: Any) -> Any:
        made.append(given)
        return connection_row(*given)

    monkeypatch.setattr(connection_rows, "connection_row", counted)
    path = flood(tmp_path / "a.pcap", 1)
    assert len(rows_of([path])["connections"]) - 300 + 1 == len(made)
