"""What a machine learns of an exchange at a glance is what it learns when it is fed it."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.machine import PARTS
from kdissect.history.producing.producers import Producers
from kdissect.history.sessions.fetch_sessions import FetchSessions
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, batch
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes

PRODUCE, FETCH, INIT = 0, 1, 22
Make = Callable[[], FetchSessions | Producers]
MACHINES: list[Make] = [lambda: FetchSessions(increments=False), Producers]


def state(of: Any) -> Any:
    """Return all that an object holds, as plain values in their order."""
    if isinstance(of, dict):
        return [(key, state(value)) for key, value in of.items()]
    if isinstance(of, set):
        return sorted(of, key=str)
    if isinstance(of, str | bytes | int | tuple | None):
        return of
    if hasattr(of, "__dict__"):
        return state(of.__dict__)
    if hasattr(of, "__slots__"):
        return [(name, state(getattr(of, name))) for name in type(of).__slots__]
    return [state(item) for item in of]


def agree(make: Make, exchanges: Iterable[Exchange]) -> int:
    """Return how many exchanges a machine let pass. It must know and report the same as one that was fed
    all of them.
    """
    quick, thorough = make(), make()
    passed = 0
    for exchange in exchanges:
        if exchange.api_key not in (quick.api_keys or ()):
            continue
        told = thorough.feed(ExchangeView(exchange))
        parts_of = PARTS.get(exchange.api_key or 0)
        parts = None if parts_of is None else parts_of(exchange)
        exchange.forget_bodies()
        if parts is not None and quick.passes(exchange, parts):
            passed += 1
            assert not told
        else:
            assert quick.feed(ExchangeView(exchange)) == told
        exchange.forget_bodies()
    assert state(quick) == state(thorough)
    return passed


def test_recordings() -> None:
    passed = [0, 0]
    for name in (
        "kafka44_java_produce.pcapng", "kafka44_sarama_produce.pcapng", "kafka44_franz_produce.pcapng",
        "mock_rdk216_txn.pcap", "tansu_kp3_groups.pcap", "kafka28zk_franz_raw.pcapng",
    ):  # fmt: skip
        for index, make in enumerate(MACHINES):
            passed[index] += agree(make, Dissection(str(CAPTURES / name)))
    assert min(passed) > 10


def produced(talk: Talk, random: Random, sequences: dict[tuple[int, int], int], took: int) -> Exchange:
    """Return a batch, mostly the next one, taken by the broker."""

    def odd(*values: Any, usual: Any) -> Any:
        return random.choice(values) if random.random() < 0.06 else usual

    producer_id, partition = odd(6, usual=5), odd(1, usual=0)
    due = sequences.get((producer_id, partition), 0)
    sequence = odd(0, -1, due + 3, max(0, due - 2), usual=due)
    count = random.randint(1, 3)
    sequences[producer_id, partition] = sequence + count
    attributes = odd(0x10, 0x20, usual=0)  # of a transaction, a control batch
    held = b"".join(record_bytes(offset_delta=index) for index in range(count))
    epoch = odd(1, -1, usual=0)
    data = batch_bytes(
        held, count, attributes=attributes, producer_id=producer_id, epoch=epoch, sequence=sequence
    )
    if odd(True, usual=False):
        data = data[:-1] + b"x"
    topic = {"name": "t", "partition_data": [{"index": partition, "records": data}]}
    more = [{"name": "u", "partition_data": [{"index": 0, "records": data}]}]
    body = {
        "acks": odd(1, 0, usual=-1), "transactional_id": "tid" if attributes else None,
        "topic_data": [topic, *odd(more, usual=[])],
    }  # fmt: skip
    row = {
        "index": odd(3, usual=partition), "error_code": odd(45, 46, 6, usual=0),
        "base_offset": odd(-1, 0, 15 * talk.now, usual=10 * talk.now),
    }  # fmt: skip
    back = {"name": odd("v", usual="t"), "partition_responses": [row, *odd([row], usual=[])]}
    answer = odd(None, {"responses": []}, {"responses": [back, back]}, usual={"responses": [back]})
    client = odd("other", usual="client")
    return talk.ask(PRODUCE, 9, body, answer, client_id=client, took=took)


def fetched(talk: Talk, random: Random, epochs: dict[int, int], version: int) -> Exchange:
    """Return a Fetch, mostly the next one of its session."""

    def odd(*values: Any, usual: Any) -> Any:
        return random.choice(values) if random.random() < 0.06 else usual

    session = odd(0, 8, 9, usual=7)
    epoch = odd(0, -1, 5, usual=epochs.get(session, 0))
    epochs[session] = 1 if epoch == 0 else epoch + 1
    opens = epoch == 0
    named = {"topic_id": b"i" * 16} if version >= 13 else {"topic": "t"}
    numbers = [0, 1, 2] if opens else random.sample([0, 1, 2], random.randint(0, 2)) + odd([3], usual=[])
    asked = (
        [{**named, "partitions": [{"partition": n, "fetch_offset": 1} for n in numbers]}] if numbers else []
    )
    forgotten = odd([{**named, "partitions": [1]}], usual=[])
    body = {
        "replica_id": -1, "max_wait_ms": 1, "min_bytes": 1, "max_bytes": 9, "isolation_level": 0,
        "session_id": 0 if opens else session, "session_epoch": epoch, "topics": asked,
        "forgotten_topics_data": forgotten,
    }  # fmt: skip
    data = batch(-1, -1, -1) if random.random() < 0.5 else None
    rows = [
        {
            "partition_index": odd(2, 4, usual=n),
            "error_code": odd(6, usual=0),
            "records": data,
            "high_watermark": odd(4, -1, 6, usual=5),
            "log_start_offset": odd(-1, 0, usual=1),
        }
        for n in random.sample([0, 1], random.randint(0, 2))
    ]
    responses = [{**named, "partitions": rows}] if rows else []
    answer = {
        "error_code": odd(70, 71, 106, usual=0),
        "session_id": odd(0, usual=session),
        "responses": responses,
    }
    return talk.ask(FETCH, version, body, odd(None, usual=answer))


def odd_version(random: Random, version: int) -> int:
    return random.choice([12, 13]) if random.random() < 0.06 else version


def test_producers_that_mostly_go_on() -> None:
    passed = 0
    for seed in range(40):
        random, talk, sequences = Random(seed), Talk(), dict[tuple[int, int], int]()
        given = {"error_code": 0, "producer_id": 5, "producer_epoch": 0}
        init = talk.ask(INIT, 4, {"transactional_id": None, "transaction_timeout_ms": 1}, given)
        made = [produced(talk, random, sequences, 1 + 40 * (seed % 2)) for _ in range(60)]
        passed += agree(Producers, [init, *made] if seed % 3 else made)
    assert passed > 200


@pytest.mark.parametrize("begins", [0, 1], ids=["opened", "opened before the capture"])
@pytest.mark.parametrize("version", [11, 12, 13])
def test_sessions_that_mostly_go_on(version: int, begins: int) -> None:
    passed = 0
    for seed in range(20):
        random, talk, epochs = Random(seed), Talk(), dict[int, int]()
        made = [fetched(talk, random, epochs, odd_version(random, version)) for _ in range(60)][begins:]
        passed += agree(lambda: FetchSessions(increments=False), made)
        agree(FetchSessions, made)
    assert passed > 100
