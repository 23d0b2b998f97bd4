"""The screen shows values by their schemas, and filters ask for their fields."""

from pathlib import Path

import pytest

from kdissect.serdes.schema_files import load_schemas
from kdissect.tui.views.records import RecordReader, record_lines
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

for module in ("fastavro", "grpc_tools", "jsonschema"):
    pytest.importorskip(module, reason="needs the extra schemas")

FOLDER = CAPTURES / "schemas"
REGISTRY = str(FOLDER / "registry")


def test_values_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        session = driven.session
        session.log.schemas = load_schemas([REGISTRY])
        await driven.loaded()
        await driven.use_filter("value.customer.email == anna1@example.com and topic == orders")
        await driven.until(
            lambda: not session.shown.is_searching and len(session.shown) == 1, "for the filter"
        )
        reader = RecordReader(session.log, session.shown, lambda: session.progress.file_names)
        (row,) = reader.more(10, 10)
        assert (row["topic"], row["offset"], row["value_schema"]) == ("orders", 1, "orders-value v1")
        whole = reader.whole(row)
        assert whole is not None
        text = "\n".join("".join(part[0] for part in line) for line in record_lines(whole, 500))
        assert '"email": "anna1@example.com"' in text
        assert "value schema orders-value v1" in text
        await driven.go_to(session.shown[0])
        root = driven.fields.dissected.root("request")
        assert root is not None
        assert any(node.name == "decoded" and node.value["id"] == 1001 for node in root.node.walk())

    drive(play, Path(FOLDER / "schemas.pcap"), monkeypatch=monkeypatch, schemas=(REGISTRY,))
