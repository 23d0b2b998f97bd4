"""The log of exchanges, filled from rows of blocks, is that of the exchanges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_log.log_writer import LogWriter
from kdissect.history.topics.topic_names import tells_names
from kdissect.session.exchange import Exchange
from tests.engine.test_in_order import CAPTURES


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_rows_of_blocks_are_those_of_objects(native: Any, path: Path) -> None:
    assert written(native, path, tells_names) == written(native, path, lambda _api_key: True)


def written(native: Any, path: Path, are_added: Callable[[int], bool]) -> Any:
    """Return what a writer packed of a capture's blocks, connections by their ids, and the frames it kept."""
    kept: list[bytes] = []

    def put(data: bytes) -> int:
        kept.append(data)
        return len(kept)

    writer, dissection = LogWriter(put, lambda file: file % 2 == 1, are_added), Dissection(str(path))
    for events in dissection.batches():
        if isinstance(events, native.ExchangeBlock):
            at = writer.take_block(events, 0)
            while at < len(events):
                writer.add(events[at])
                at = writer.take_block(events, at + 1)
            continue
        for event in events:
            writer.add(event) if isinstance(event, Exchange) else writer.connection(event.connection)
    assert len(writer) == writer.waiting
    batch = writer.take()
    assert not writer.waiting
    return batch._replace(connections=[]), [(number, info.id) for number, info in batch.connections], kept
