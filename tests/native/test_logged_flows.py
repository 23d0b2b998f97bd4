"""Connections of a request log in the native engine: what they need less than captured ones."""

from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.history.api_keys import PRODUCE
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.by_group.group_traffic import GroupTraffic

LOGS = Path(__file__).parents[2] / "captures/logged/recorded"


@pytest.mark.parametrize("name", ["kafka28.requests.log.gz", "kafka44.requests.log.gz"])
def test_produces_are_counted_from_rows(native: Any, name: str) -> None:
    """They have no records, whose ends the positions of groups could be compared with."""
    names = TopicNames()
    traffic, whole = GroupTraffic(names), GroupTraffic(names)
    left, produces = [], 0
    for events in Dissection(str(LOGS / name)).batches():
        if not isinstance(events, native.ExchangeBlock):
            continue
        at = 0
        while (at := traffic.count_block(events, at)) < len(events):
            left.append(events[at].api_key)
            traffic.add(events[at])
            at += 1
        for exchange in events:
            whole.add(exchange)
            produces += exchange.api_key == PRODUCE
    assert produces > 20
    assert PRODUCE not in left
    assert traffic.positions.ends() == whole.positions.ends()


def test_bytes_of_a_log_are_not_stored_for_a_comparison(native: Any) -> None:
    """No segment of a log is sent again."""
    dissection = Dissection(str(LOGS / "kafka44.requests.log.gz"))
    flows: list[Any] = []
    for _ in dissection.batches():
        flows = [flow for table in dissection.analyzer._tables.values() for flow in table.values()]
        if len(flows) > 40:
            break
    owned = [flow for flow in flows if not isinstance(flow, bytes) and flow._is_begun]  # never in Python
    assert len(owned) > 20
    assert not [flow for flow in owned if any(stream.recent for stream in flow.tcp.streams)]
