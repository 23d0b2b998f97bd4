"""A stream with `--schemas`: decoded records, and the rules about keys and values."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")
pytest.importorskip("fastavro", reason="needs the extra schemas")
pytest.importorskip("google.protobuf", reason="needs the extra schemas")
pytest.importorskip("grpc_tools", reason="needs the extra schemas")
pytest.importorskip("jsonschema", reason="needs the extra schemas")

from kdissect.pipeline.streaming.checkpoint_pledge import PledgeError, pledged
from kdissect.serdes.schema_files import load_schemas
from tests.pipeline.parquet import Rows, of_stream
from tests.pipeline.streaming.arriving import CAPTURES, arrive, assert_equal, cut, packets_of_file
from tests.pipeline.streaming.drive import Stream, settings_of
from tests.support.messages.valued_topics import poisoned, registry

FOLDER = CAPTURES / "schemas"


def _streamed(tmp_path: Path, capture: Path, schemas_at: str, files: int) -> Rows:
    """Return the findings about values after files that came one by one, which equal one process's."""
    folder, schemas = tmp_path / "in", load_schemas([schemas_at])
    stream = Stream(settings_of(tmp_path, folder, schemas=schemas))
    for number, packets in enumerate(cut(packets_of_file(capture), files)):
        arrive(folder, number, packets)
        stream.catch_up()
        assert_equal(tmp_path / "tables", [folder], schemas=schemas)
    return [row for row in of_stream(tmp_path / "tables", "findings") if row["code"].startswith("SCH")]


def test_a_pill_that_is_read_in_a_later_batch_than_it_was_written(tmp_path: Path) -> None:
    capture = Path(poisoned(tmp_path, before=60))
    (found,) = _streamed(tmp_path, capture, registry(tmp_path), files=4)
    assert (found["code"], found["client_id"], found["count"]) == ("SCH001", "shop", 1)
    assert "read by 'audit' (10.0.0.1:40003); read by 'billing'" in found["consequence"]


@pytest.mark.exhaustive
def test_schemas_that_do_not_go_together(tmp_path: Path) -> None:
    found = _streamed(tmp_path, FOLDER / "schemas.pcap", str(FOLDER / "registry"), files=3)
    assert {row["code"] for row in found} == {"SCH001", "SCH002", "SCH004"}
    rows = of_stream(tmp_path / "tables", "records")
    assert {row["value_schema"] for row in rows} >= {"orders-value v1", "visits-value v1", "users-value v1"}
    assert sum(row["decoded"] is not None for row in rows) > 10


def test_a_checkpoint_stays_with_or_without_schemas(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, tmp_path / "in")
    with pledged(settings):
        pass
    other = settings._replace(schemas=load_schemas([registry(tmp_path)]))
    with pytest.raises(PledgeError, match="other settings: schemas"), pledged(other):
        pass
