"""The table of positions in the native engine is that of Python."""

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.by_group.position_table import PositionTable
from kdissect.stats.by_group.positions import Position, Positions

CLIENTS = [("", "10.0.0.1", "a"), ("", "10.0.0.1", None), ("s", "10.0.0.2", "\udcff")]
PARTITIONS = [("t", 0), ("t", 1), ("\udcff", 0), ("u", -1)]
KEYS = st.tuples(st.sampled_from(CLIENTS), st.sampled_from(PARTITIONS))
OFFSETS = st.none() | st.integers(-2, 5)
ASKED = st.none() | st.tuples(st.integers(-2, 5), st.integers(0, 9))
NEWS = st.tuples(ASKED, OFFSETS, OFFSETS, st.booleans())


@given(most=st.integers(1, 6), steps=st.lists(st.tuples(KEYS, NEWS), max_size=40))
def test_same_positions(native: Any, most: int, steps: list[Any]) -> None:
    tables = native.PositionTable(most), PositionTable(most)
    for key, news in steps:
        for table in tables:
            table.learn(*key, *news)
        assert tables[0].items() == tables[1].items()
        assert len(tables[0]) == len(tables[1]) <= most
        assert tables[0].get(*key) == tables[1].get(*key) is not None
    assert tables[0].get(("", "10.0.0.9", None), ("t", 0)) is None
    again = native.PositionTable(most)
    for (client, partition), state in tables[1].items():
        again.put(client, partition, state)
    assert again.items() == tables[1].items()


def test_positions_can_be_pickled() -> None:
    positions = Positions(TopicNames())
    positions._positions.learn(CLIENTS[0], PARTITIONS[0], (3, 7), None, 9, False)
    again = pickle.loads(pickle.dumps(positions))
    assert again.all() == positions.all() == [((CLIENTS[0], PARTITIONS[0]), Position(3, 9, 7))]
