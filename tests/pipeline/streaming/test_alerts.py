"""Findings of a stream are told as they show, once, also by a batch that is repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.pipeline.sink.alert_targets import JsonLines
from kdissect.pipeline.sink.alerts import Alerts
from kdissect.pipeline.streaming.micro_batch import Batches
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import arrive, cut, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of


@pytest.mark.exhaustive
def test_each_finding_is_told_once(tmp_path: Path) -> None:
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    told = tmp_path / "alerts.jsonl"
    counts = []
    for number, packets in enumerate(cut(packets_of("mock_rdk216_txn.pcap"), 3)):
        arrive(tmp_path / "in", number, packets)
        alerts = Alerts([JsonLines(str(told))], stream.directory, pytest.fail)
        stream.batches = Batches(stream.settings, stream.directory, alerts)
        stream.catch_up()
        counts.append(len(told.read_text().splitlines()))
    assert counts[0] > 0, "the first file shows one already"
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    assert {line["code"] for line in lines} == {r["code"] for r in of_stream(tmp_path / "tables", "findings")}
