"""Batches that are fetched, against those that were produced."""

import pickle
from typing import Any

import pytest

from kdissect.history.producing.stored_batches import StoredBatches, StoredTable
from kdissect.model.native import is_compiled, native
from kdissect.session.exchange import Exchange
from kdissect.session.identities import Identities
from tests.history.talk import Talk, brief, feed
from tests.support.messages.batches import batch_bytes, record_bytes

PRODUCE, FETCH, METADATA = 0, 1, 3
TOPIC_ID = bytes(range(16))
GZIP, LOG_APPEND_TIME = 1, 8
DIFFERS = [("records_differ", None, (100, 5, 0, 7))]


def batch(value: bytes = b"v", **changes: Any) -> bytes:
    """Return one record of producer 5."""
    header = {"producer_id": 5, "epoch": 0, "sequence": 7, "base_timestamp": 1, "max_timestamp": 1} | changes
    return batch_bytes(record_bytes(value=value), 1, **header)


def produce(
    talk: Talk, records: bytes, given: int = 100, error: int = 0, topic: str | bytes = "t"
) -> Exchange:
    which = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
    data = [{**which, "partition_data": [{"index": 0, "records": records}]}]
    rows = [{"index": 0, "error_code": error, "base_offset": given}]
    body = {"acks": -1, "transactional_id": None, "topic_data": data}
    version = 9 if isinstance(topic, str) else 13
    return talk.ask(PRODUCE, version, body, {"responses": [{**which, "partition_responses": rows}]})


def fetch(talk: Talk, records: bytes, topic: str | bytes = "t") -> Exchange:
    which = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    rows = [{"partition_index": 0, "records": records, "aborted_transactions": None}]
    answer = {"session_id": 0, "responses": [{**which, "partitions": rows}]}
    asked = [{**which, "partitions": [{"partition": 0, "fetch_offset": 100}]}]
    body = {"session_epoch": -1, "topics": asked, "forgotten_topics_data": []}
    return talk.ask(FETCH, 12 if isinstance(topic, str) else 13, body, answer)


def describe(talk: Talk, *ids: bytes) -> None:
    """Metadata returns these ids for the topic, one after the other."""
    talk.info.identities = talk.info.identities or Identities()
    for topic_id in ids:
        topics = [{"name": "t", "topic_id": topic_id, "partitions": []}]
        talk.info.identities.learn(
            talk.ask(METADATA, 12, {"topics": None}, {"brokers": [], "topics": topics})
        )


@pytest.mark.parametrize(
    ("fetched", "expected"),
    [
        (batch(b"w", base_offset=100), DIFFERS),
        (batch(b"longer", base_offset=100), DIFFERS),
        (batch(b"v", base_offset=100, leader_epoch=4), []),  # what the broker sets
        (batch(b"w", base_offset=101), []),
        (batch(b"w", base_offset=100, sequence=8), []),  # another one, after an election
        (batch(b"w", base_offset=100, max_timestamp=2), []),
        (batch(b"w", base_offset=100, attributes=LOG_APPEND_TIME), []),
        (batch(b"w", base_offset=100, attributes=GZIP), []),
        (batch(b"w", base_offset=100, producer_id=-1), []),
        (batch(b"w", base_offset=100)[:-1] + b"x", []),  # a wrong checksum
    ],
)
def test_records_are_those_that_were_produced(fetched: bytes, expected: list[Any]) -> None:
    talk, machine = Talk(), StoredBatches()
    sent = produce(talk, batch())
    assert feed(machine, sent) == []
    one = fetch(Talk("10.0.0.3"), fetched)
    assert machine.passes(one, None) is not bool(expected)
    facts = feed(machine, one)
    assert brief(facts) == expected
    assert [fact.earlier.ordinal for fact in facts if fact.earlier is not None] == [sent.ordinal] * len(facts)


@pytest.mark.parametrize(
    "sent",
    [
        [{"records": batch(), "error": 6}],
        [{"records": batch(), "given": -1}],
        [{"records": batch(b"a") + batch(b"b")}],
        [{"records": batch()}, {"records": batch(b"w2")}],  # one sequence with two contents
    ],
)
def test_of_these_nothing_is_known(sent: list[Any]) -> None:
    talk, machine = Talk(), StoredBatches()
    for one in sent:
        feed(machine, produce(talk, **one))
    assert feed(machine, fetch(talk, batch(b"w", base_offset=100))) == []


def test_other_brokers_and_topics_have_other_batches() -> None:
    machine = StoredBatches()
    feed(machine, produce(Talk(), batch()))
    other = batch(b"w", base_offset=100)
    for one in fetch(Talk(broker="10.0.0.9"), other), fetch(Talk(), other, "u"):
        assert feed(machine, one) == []


@pytest.mark.parametrize("names", [("t", TOPIC_ID), (TOPIC_ID, "t")], ids=["name to id", "id to name"])
def test_a_name_is_compared_with_its_only_id(names: tuple[str | bytes, str | bytes]) -> None:
    """A topic that was created again is another one, and an id that Metadata does not name may be of any."""
    sent, fetched = names
    for ids, is_found in (((TOPIC_ID,), True), ((), False), ((TOPIC_ID, TOPIC_ID[::-1]), False)):
        talk, machine = Talk(), StoredBatches()
        describe(talk, *ids)
        taken = feed(machine, produce(talk, batch(), topic=sent))
        one = fetch(talk, batch(b"w", base_offset=100), fetched)
        assert (machine.passes(one, None), taken) == (not is_found, [])
        assert brief(feed(machine, one)) == (DIFFERS if is_found else [])


def test_a_state_that_was_pickled_goes_on() -> None:
    machine = StoredBatches()
    feed(machine, produce(Talk(), batch()))
    again = pickle.loads(pickle.dumps(machine))
    assert brief(feed(again, fetch(Talk(), batch(b"w", base_offset=100)))) == DIFFERS


def tables() -> list[Any]:
    native_table = (
        [native.StoredBatches(2, lambda info: (info.id, "b"), lambda _info, _topic: None)]
        if is_compiled
        else []
    )
    return [StoredTable(2), *native_table]


@pytest.mark.parametrize("table", tables(), ids=lambda table: type(table).__module__)
def test_a_table_forgets_what_was_noted_first(table: Any) -> None:
    """Both tables do the same."""
    header, by = bytes(40), ("c", 0, 0, 9, (1, 1), (2, 2), 3, 4)
    places = [("b", "t", 0, 1), ("b", bytes(16), 0, 1), ("b", "\udcff", 3, 1)]
    for crc, place in enumerate(places):
        table.note(place, crc, header, by)
    table.note(places[2], 2, header, by)
    assert table.find(places[0]) is None
    assert [tuple(table.find(place)) for place in places[1:]] == [
        (1, header, by, True),
        (2, header, by, True),
    ]
    table.note(places[2], 7, header, by)
    assert tuple(table.find(places[2])) == (2, header, by, False)
    table.note(places[2], 7, bytes(39) + b"\1", by)
    assert tuple(table.find(places[2])) == (7, bytes(39) + b"\1", by, True)
    assert len(table) == len(table.rows()) == 2
