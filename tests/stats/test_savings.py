"""What zstd and larger batches would save, against what the same records took (kafka44_java_savings)."""

import json
import struct
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.by_topic import savings as savings_module
from kdissect.stats.by_topic.savings import Savings
from tests.history.talk import Talk
from tests.stats.truth import Facts, capture, told, truth
from tests.support.messages.batches import batch_bytes, record_bytes

NAME = "kafka44_java_savings"
OFF = 0.005  # of what was really produced
FILLED = "--batch-size", "16384", "--linger", "1000"  # as the scenario's producers
WAYS = {"zstd": "as-zstd", "larger": "as-large", "larger_zstd": "as-large-zstd"}
PRODUCE = 0


@pytest.fixture(scope="module")
def topics() -> dict[str, Facts]:
    return {}


def found(capfd: pytest.CaptureFixture[str], known: dict[str, Facts]) -> dict[str, Facts]:
    if not known:
        told_ = told(capfd, "topics", NAME, "--savings", *FILLED)["topics"]
        known.update({row["topic"]: row for row in told_})
    return known


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", ["as-is", "as-zstd"])
def test_as_much_is_left_as_of_what_was_really_produced_so(
    way: str, source: str, topics: dict[str, Facts], capfd: pytest.CaptureFixture[str]
) -> None:
    rows = found(capfd, topics)
    # Larger batches keep the codec they have.
    really = rows["as-large-zstd" if (way, source) == ("larger", "as-zstd") else WAYS[way]]["written"]
    told_ = rows[source]["savings"][way]
    assert told_["batches"] == really["batches"]
    assert abs(told_["bytes"] - really["bytes"]) <= OFF * really["bytes"]


def test_what_is_large_and_compressed_stays(
    topics: dict[str, Facts], capfd: pytest.CaptureFixture[str]
) -> None:
    row = found(capfd, topics)["as-large-zstd"]
    assert row["savings"]["records"] == len(truth(NAME)["records"]["sent"])
    assert not row["savings"]["is_sample"]
    assert row["savings"]["as_sent"] == {name: row["written"][name] for name in ("batches", "bytes")}
    for way in WAYS:
        assert abs(row["savings"][way]["bytes"] - row["written"]["bytes"]) <= OFF * row["written"]["bytes"]


def test_only_who_asks_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", capture(NAME), "--table", "savings", "-e", "topic", "--no-header"]) == 0
    assert capfd.readouterr().out.split() == sorted(["as-is", *WAYS.values()])
    assert not any("savings" in row for row in told(capfd, "topics", NAME)["topics"])


@pytest.mark.parametrize("name", ["kafka44_recreated.pcapng.gz", "kafka44_two_clusters.pcapng"])
def test_topics_of_one_name_have_their_own_savings(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """One is deleted and created again, and one is in two clusters."""
    path = str(Path(capture(NAME)).with_name(name))
    assert main(["topics", path, "--savings", "--json"]) == 0
    rows = [row for row in json.loads(capfd.readouterr().out)["topics"] if row["topic"] == "orders"]
    assert len(rows) == 2
    for row in rows:
        written = row["written"]
        assert row["savings"]["records"] == written["records"] + written["unconfirmed"]
    assert main(["topics", path, "--savings"]) == 0
    printed = [line for line in capfd.readouterr().out.splitlines() if line.startswith("orders")]
    assert len(printed) == len(set(printed))


def batch(*values: bytes) -> bytes:
    held = b"".join(record_bytes(offset_delta=at, value=value) for at, value in enumerate(values))
    return batch_bytes(held, len(values), base_timestamp=0, max_timestamp=0)


def no_cluster(_scope: str) -> str:
    return ""


class Sent:
    """A client that produces to one topic."""

    def __init__(self, batch_size: int = 1000, linger_ms: int = 10) -> None:
        self.savings = Savings(TopicNames(), batch_size, linger_ms)
        self.talk = Talk()

    def produce(self, at: int, records: bytes, error: int = 0, partition: int = 0) -> None:
        data = [{"index": partition, "records": records}]
        asked = {"transactional_id": None, "acks": -1, "timeout_ms": 1}
        row = {"index": partition, "error_code": error, "base_offset": 0, "log_append_time_ms": -1}
        self.savings.add(
            self.talk.ask(
                PRODUCE, 3, asked | {"topic_data": [{"name": "t", "partition_data": data}]},
                {"responses": [{"name": "t", "partition_responses": [row]}], "throttle_time_ms": 0}, at,
            )
        )  # fmt: skip

    def told(self) -> Facts:
        facts = self.savings.facts(no_cluster)["t", ""]
        assert facts is not None
        return facts


@pytest.mark.parametrize(
    ("at", "size", "partition", "batches"),
    [(5, 1000, 0, 1), (11, 1000, 0, 2), (5, 80, 0, 2), (5, 1000, 1, 2)],
    ids=["in time", "too late", "no room", "elsewhere"],
)
def test_records_come_together_that_could_have(at: int, size: int, partition: int, batches: int) -> None:
    sent = Sent(size)
    sent.produce(0, batch(b"one"))
    sent.produce(at, batch(b"two"), partition=partition)
    told_ = sent.told()
    assert (told_["larger"]["batches"], told_["records"]) == (batches, 2)
    if batches == 1:
        assert told_["larger"]["bytes"] == len(batch(b"one", b"two"))


def test_compressed_batches_hold_more_once_the_codec_is_known() -> None:
    """A producer fills them by what it expects zstd to leave, which it learns step by step."""

    def batches(of: int) -> tuple[int, int]:
        sent = Sent(linger_ms=1000)
        for _ in range(of):
            sent.produce(0, batch(bytes(50)))
        told_ = sent.told()
        return told_["larger"]["batches"], told_["larger_zstd"]["batches"]

    plain, compressed = batches(96)
    assert plain < compressed  # nothing is known yet, and it leaves some room
    plain, compressed = batches(2000)
    assert plain > compressed


def test_what_was_refused_or_cannot_be_read_is_left_out() -> None:
    sent = Sent()
    sent.produce(0, batch(b"one"), error=10)
    assert sent.savings.facts(no_cluster) == {}
    broken = bytearray(batch(b"one"))
    broken[61:62] = struct.pack(">b", 127)  # the record's length
    sent.produce(2, bytes(broken))
    assert sent.savings.facts(no_cluster) == {("t", ""): None}


def test_a_sample_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savings_module, "TOPIC_BYTES", 1)
    monkeypatch.setattr(savings_module, "OPEN_KEPT", 1)
    sent = Sent()
    sent.produce(0, batch(b"one"))
    sent.produce(1, batch(b"two"))
    told_ = sent.told()
    assert (told_["is_sample"], told_["of_batches"], told_["as_sent"]["batches"]) == (True, 2, 1)
    assert told_["larger"]["batches"] == told_["larger_zstd"]["batches"] == 1
