"""The native engine finds the connections that may be over, so that Python need not look at all open ones."""

from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.flows import (
    IDLE_NS,
    LINGER_NS,
    LOGGED_IDLE_NS,
    FlowTable,
    last_ns,
    may_be_over,
    over_ns,
)
from tests.engine.test_half_open import packets
from tests.engine.test_in_order import CAPTURES, blocks

PATHS = [
    CAPTURES / "kafka44_aiokafka_admin.pcapng",
    CAPTURES / "kafka28_java_admin.pcapng",
    CAPTURES / "logged/recorded/kafka44.requests.log.gz",
]


def checked(analyzer: Analyzer) -> int:
    """Compare the keys of flows that may be over with all flows, and return how many were left out."""
    left_out = 0
    for table in analyzer._tables.values():
        assert isinstance(table, FlowTable)
        assert list(may_be_over(table, 1 << 63)) == list(table)  # no clock shows that
        for flow in list(table)[:20]:
            limits = LINGER_NS, LOGGED_IDLE_NS, IDLE_NS
            for silent_ns in (0, *limits, *(limit + 1 for limit in limits), 2 * IDLE_NS):
                time_ns = last_ns(table[flow]) + silent_ns
                asked = list(may_be_over(table, time_ns))
                assert asked == [key for key in table if key in set(asked)]  # in the order of the table
                over = {key for key, connection in table.items() if over_ns(connection) < time_ns}
                assert over <= set(asked)
                left_out += len(table) - len(asked)
    return left_out


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_connections_that_spoke_lately_are_left_out(native: Any, path: Path) -> None:
    dissection, left_out = Dissection(str(path)), 0
    for _ in dissection.batches():
        left_out += checked(dissection.analyzer)
    assert left_out > 100


@pytest.mark.parametrize("seed", range(3))
def test_half_open_connections(native: Any, seed: int) -> None:
    analyzer, left_out = Analyzer(), 0
    for block in blocks(packets(seed), [20] * 10):
        analyzer.feed_batch(block)
        left_out += checked(analyzer)
    assert left_out > 0
