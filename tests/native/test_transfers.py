"""Produces and Fetches counted by the compiled part: the topics and groups are those that Python counts."""

import json
from random import Random
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_blocks
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.history import api_keys as apis
from kdissect.history.producing.produce_parts import produce_parts, produce_results
from kdissect.history.sessions.fetch_parts import fetch_parts, fetch_topics
from kdissect.history.topic_names import TopicNames
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_topic import topic_sums
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from tests.native.python_side import PythonSide
from tests.support.console import CAPTURES

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

EVERY = sorted(path.name for path in CAPTURES.glob("kafka*.pcapng"))
TRANSFERS = (apis.PRODUCE, apis.FETCH)


def damage(exchange: Exchange, chance: Random) -> None:
    """Change a byte of one of the frames, cut it, or have its response forgotten."""
    frame = exchange.request if chance.random() < 0.5 else exchange.response
    how = chance.random()
    if frame is None or not frame.data:
        return
    if how < 0.1:
        exchange.response = None
        return
    data = bytearray(frame.data)
    at = chance.randrange(len(data))
    if how < 0.8:
        data[at] = chance.choice((0, 1, 29, 0x7F, 0xFF, chance.randrange(256)))
    changed = bytes(data[:at] if how > 0.9 else data)
    made = Frame(changed, frame.size, frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns)
    if frame is exchange.request:
        exchange.request = made
    else:
        exchange.response = made
    exchange.forget_bodies()
    exchange.request_summary_cache = None


def counted(name: str, seed: int | None) -> str:
    """What the topics and groups of a capture come to; with a seed some exchanges are damaged or not wanted.

    Names of topic ids are those known by then, as of a stream.
    """
    chance = Random(seed)
    topics, groups = TopicTraffic(TopicNames()), GroupTraffic(TopicNames())
    for exchange in Dissection(str(CAPTURES / name)):
        wanted = True
        if seed is not None:
            wanted = chance.random() < 0.9
            if chance.random() < 0.2:
                damage(exchange, chance)
        topics.add(exchange, wanted)
        groups.add(exchange, wanted)
    facts: dict[str, Any] = {"topics": topic_facts(topics), "groups": group_facts(groups)}
    return json.dumps(facts, indent=1)


def parts(name: str, seed: int) -> list[Any]:
    """What Produces and Fetches say of sessions, batches and partitions."""
    chance, found = Random(seed), list[Any]()
    for exchange in Dissection(str(CAPTURES / name)):
        if chance.random() < 0.3:
            damage(exchange, chance)
        if exchange.api_key == apis.FETCH:
            told = fetch_parts(exchange)
            found += [
                told and (*told[:-1], *told.rows()),
                fetch_topics(exchange, False),
                fetch_topics(exchange, True),
            ]
        elif exchange.api_key == apis.PRODUCE:
            found += [produce_parts(exchange), produce_results(exchange)]
    return found


@pytest.mark.parametrize("name", EVERY)
def test_parts_of_captures_that_are_damaged(name: str, python_side: PythonSide) -> None:
    for seed in range(4):
        here, there = parts(name, seed), python_side.call(parts, name, seed)
        assert len(here) == len(there)
        for one, other in zip(here, there, strict=True):
            assert one == other or one is None  # then it is fed


@pytest.mark.parametrize("name", EVERY)
def test_captures_as_they_are_and_damaged(name: str, python_side: PythonSide) -> None:
    for seed in (None, 1, 2):
        assert counted(name, seed).splitlines() == python_side.call(counted, name, seed).splitlines()


def read(name: str) -> tuple[str, int]:
    """The same from blocks, as commands read them; how many Produces and Fetches became objects."""
    topics, groups = TopicTraffic(TopicNames()), GroupTraffic(TopicNames())
    made = 0
    for counted in (topics, groups):

        def take(event: Event, counted: TopicTraffic | GroupTraffic = counted) -> None:
            nonlocal made
            if isinstance(event, Exchange):
                made += event.api_key in TRANSFERS
                counted.add(event)

        read_blocks(Dissection(str(CAPTURES / name)), take, counted.count_block)
    facts: dict[str, Any] = {"topics": topic_facts(topics), "groups": group_facts(groups)}
    return json.dumps(facts, indent=1), made


@pytest.mark.parametrize("name", EVERY)
def test_blocks(name: str, python_side: PythonSide) -> None:
    assert read(name)[0].splitlines() == python_side.call(counted, name, None).splitlines()


def test_rows_of_blocks_do_not_become_objects(python_side: PythonSide) -> None:
    name = "kafka44_rdkafka_groups.pcapng"
    assert read(name)[1] < python_side.call(read, name)[1] / 10


def test_taken_after_every_exchange(python_side: PythonSide, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken after every exchange comes to the same as what is taken at the end."""
    monkeypatch.setattr(topic_sums, "ENOUGH", topic_sums.COUNTED)
    monkeypatch.setattr(topic_sums, "COUNTED", 0)
    name = "kafka44_java_produce.pcapng"
    assert counted(name, None) == python_side.call(counted, name, None)


def test_the_compiled_part_counts_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    count, taken = topic_sums.TopicSums.count, list[bool]()

    def counting(self: topic_sums.TopicSums, exchange: Exchange) -> bool:
        taken.append(count(self, exchange))
        return taken[-1]

    monkeypatch.setattr(topic_sums.TopicSums, "count", counting)
    counted("kafka32_quorum.pcapng", None)
    counted("kafka44_rdkafka_groups.pcapng", None)
    assert len(taken) > 500
    assert all(taken)


def test_fields_of_another_message() -> None:
    message = known_body(apis.FETCH, 11, is_response=False)
    assert message is not None
    layout = native_layout(message, 11)[0]
    for lists, values in (
        (("topics", "topic", "partitions", "number"), []),
        (("topics", "topic", "partitions", "partition"), ["high_watermark"]),
        (("topics", "topic", "partitions", "partition"), ["fetch_offset"] * 3),
    ):
        with pytest.raises(ValueError, match="another message"):
            native.PartitionRows(layout, lists, values, [])
