"""Names of topic ids that only a later file tells get into rows and tables that were there before."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.api import Dissection
from kdissect.history.topics.topic_names import ANNOUNCING
from kdissect.model.packets.packet import NUMBER_MASK, Packet
from kdissect.session.exchange import Exchange
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import CAPTURES, arrive, assert_equal, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of

NAME = "kafka44_java_produce.pcapng"
LATER_NS = 120 * 10**9


def _silent() -> list[Packet]:
    """Return the packets of a capture without packets that have names."""
    lost: set[int] = set()
    for event in Dissection([str(CAPTURES / NAME)]).events():
        if isinstance(event, Exchange) and event.api_key in ANNOUNCING and event.response is not None:
            first, last = event.response.first_ref & NUMBER_MASK, event.response.last_ref & NUMBER_MASK
            lost |= set(range(first, last + 1))
    return [packet for number, packet in enumerate(packets_of(NAME), 1) if number not in lost]


def _later() -> list[Packet]:
    """Return all of them, as if the same clients had come again."""
    return [packet._replace(time_ns=packet.time_ns + LATER_NS) for packet in packets_of(NAME)]


@pytest.mark.exhaustive
def test_names_that_are_told_in_a_later_batch(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    stream = Stream(settings_of(tmp_path, folder))
    silent = _silent()
    half = len(silent) // 2
    for number, packets in enumerate((silent[:half], silent[half:])):
        arrive(folder, number, packets)
        stream.catch_up()
    unnamed = [row for row in of_stream(tmp_path / "tables", "topic_partitions") if row["topic"] is None]
    assert len(unnamed) > 3, "nothing to tell"
    assert_equal(tmp_path / "tables", [folder])
    arrive(folder, 2, _later())
    stream.catch_up()
    assert_equal(tmp_path / "tables", [folder])
    assert all(row["topic"] is not None for row in of_stream(tmp_path / "tables", "topic_partitions"))
    assert not [row for row in of_stream(tmp_path / "tables", "topics") if row["topic"] is None]
