"""Metrics of a recorder about itself: the page lists what is served, with its values."""

from pathlib import Path

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client import CollectorRegistry, generate_latest

from kdissect.capture.live.lag import Behind
from kdissect.metrics.collector import MetricCollector
from kdissect.recorder.folder import Folder
from kdissect.recorder.recorder_metrics import RECORDER_METRICS, Parts, of_recorder
from tests.support.console import CHECKOUT


class Counted:
    """A recorder, its feed and its messages, with counts."""

    packets, drops, unanalysed, made, skipped, waiting = 7, 2, 55, 3, 1, 4
    open = (1, 2)

    def __init__(self) -> None:
        self.incidents = self

    def behind(self) -> Behind:
        return Behind(10, 1.5)


def test_the_page_lists_what_is_served(tmp_path: Path) -> None:
    counted, folder = Counted(), Folder(str(tmp_path))
    folder.open()
    (tmp_path / "ring" / "packets_00001_20261130120000.pcapng").write_bytes(bytes(100))
    registry = CollectorRegistry()
    parts = Parts(counted, counted, folder, counted)  # type: ignore[arg-type]
    registry.register(MetricCollector(of_recorder(parts)))
    lines = generate_latest(registry).decode().splitlines()
    found = dict(line.split() for line in lines if not line.startswith("#") and "_created" not in line)
    assert list(map(float, found.values())) == [7, 2, 100, 1.5, 55, 3, 2, 1, 4]
    rows = [f"| `{one.name}` | {one.kind} | {one.help} |" for one in RECORDER_METRICS]
    assert "\n".join(rows) in (CHECKOUT / "docs" / "record.md").read_text()
    assert list(found) == [one.name for one in RECORDER_METRICS]
