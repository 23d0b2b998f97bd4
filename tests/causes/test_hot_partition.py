"""A partition that gets nearly all records, and the member that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.model.cause import Diagnosis
from tests.causes.consumer_talks import Consumer, Writer
from tests.causes.diagnosing import ids
from tests.causes.talks import what_is_wrong


def _diagnosis(folder: Path, *, others_wait: int = 0, alone: bool = False) -> Diagnosis:
    """Return the diagnosis of a group whose member falls behind on partition 0, of three."""
    writer = Writer("api", port=40009).write(0, 0, 300)
    slow = Consumer("slow").join(*([0, 1, 2] if alone else [0]), leads={} if alone else {"idle": "orders"})
    slow.fetch({0: (0, 10)}, records=10)
    members = [slow]
    if not alone:
        members.append(Consumer("idle", port=40001).join(1, 2, led_by="slow"))
    for at in range(12):
        slow.fetch({0: (10 * at, 300)}, records=10).commit({0: 10 * at}).alive().wait(1)  # type: ignore[attr-defined]
        rest = {1: (0, others_wait), 2: (0, 0)}
        members[-1].fetch(rest, records=0).commit({1: 0}).alive()  # type: ignore[attr-defined]
        if not alone:
            members[-1].wait(1)
    return what_is_wrong(folder, writer, *members)


def test_the_reader_of_the_partition_falls_behind(tmp_path: Path) -> None:
    first = _diagnosis(tmp_path).causes[0]
    assert first.id == "hot-partition"
    assert "In group 'g' client 'slow' at 10.0.0.1 reads it, and 190 records wait there." in first.sentence
    assert [effect.id for effect in first.effects] == ["lag-slow-consumer"]


@pytest.mark.parametrize("changes", [{"others_wait": 100}, {"alone": True}])
def test_more_members_may_help(tmp_path: Path, changes: dict[str, int]) -> None:
    found = _diagnosis(tmp_path, **changes)  # type: ignore[arg-type]
    assert ids(found)[0] == "lag-slow-consumer"
    assert not any("do not help" in one.sentence for one in found.causes)
