"""A judge that takes blocks finds and counts what one finds that is shown each exchange."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.capture import byte_source, files
from kdissect.causes.evidence.exchange_log import ExchangeLog
from kdissect.causes.evidence.watching_judge import WatchingJudge
from kdissect.history.groups.group_attempts import Attempts
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.packets.packet import Packet, packet_ref
from kdissect.report.json import report_row
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.judging.batch_judge import MOST_CANONICAL
from kdissect.rules.judging.unmarked_rows import UnmarkedRows
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.rules.views import connection_view as views
from kdissect.rules.views import kept_exchanges
from kdissect.rules.views.kept_exchanges import RECENT
from kdissect.schema.logs import METADATA_TOPIC_ID
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from tests.engine.test_in_order import CAPTURES, DAMAGE, FLIPS, SHIPPED, damaged, flipped, shipped
from tests.native.member_steps import CASES, LIMITS, STEPS, Step, packets_of_steps, steady
from tests.rules.fixtures.apis import fetch_answer, full_fetch
from tests.rules.fixtures.batches import BASE, TOPIC_RECORD, batch
from tests.rules.scripted_connection import SOFTWARE, VERSIONS, ScriptedConnection, versions
from tests.rules.test_damaged_captures import DAMAGES, packets_of
from tests.support.messages.traffic import CLIENT, Conversation
from tests.support.packets.pcaps import write_pcap

SETTINGS = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
RECORDED = sorted(CAPTURES.glob("*.pcap*"))
# With groups, fetch sessions, producers with ids, transactions, logins and requests in flight.
DAMAGED = (
    "kafka44_java_groups.pcapng", "kafka44_franz_transactions.pcapng", "kafka44_java_produce.pcapng",
    "kafka44_kafkajs_groups.pcapng", "kafka44_franz_sasl.pcapng", "kafka28_scala_consumer.pcapng",
    "tansu_kp3_groups.pcap",
)  # fmt: skip


class _Way:
    """A judge over a capture, by exchanges or by blocks; `passed` counts those that nobody was shown."""

    def __init__(self, native: Any, path: str, *, in_blocks: bool) -> None:
        self.judge = Judge()
        self.passed = 0
        self.kept: list[tuple[str, list[int], type]] = []
        """Of each connection at its end: ordinals of exchanges that are kept, as what the last is held."""
        for events in Dissection(path).batches():
            if in_blocks and isinstance(events, native.ExchangeBlock):
                self._block(events)
            else:
                for event in events:
                    if isinstance(event, ConnectionClosed):
                        self._note_kept(event.connection.id)
                    self.judge.add(event)
        self.judge.finish()

    def _note_kept(self, connection: str) -> None:
        judge = self.judge
        judge._settle()
        view, held = judge._views.get(connection), judge._recent._kept.get(connection)
        if view is not None:
            kept = [] if held is None else [one.ordinal for one in held.exchanges]
            self.kept.append((connection, kept, type(view.previous)))

    def _block(self, block: Any) -> None:
        at = self.judge.take_block(block, 0)
        self.passed += at
        while at < len(block):
            self.judge.add(block[at])
            after = self.judge.take_block(block, at + 1)
            self.passed += after - at - 1
            at = after

    def verdict(self) -> object:
        """Return what is reported, how long answers took, and all that the histories know."""
        judge = self.judge
        row = report_row(Verdict(judge, quality_of(judge.coverage), ()))
        traffic, history = judge.coverage.traffic, vars(judge._history)
        machines = {name: _known(of) for name, of in history.items() if not name.startswith("_")}
        latencies = {kind: found.bins() for kind, found in traffic.latencies.items()}
        return row, latencies, traffic.times.row(), machines


def _known(of: Any) -> object:
    """Return a state as values that can be compared."""
    if isinstance(of, dict):
        return [(_known(key), _known(value)) for key, value in of.items()]
    if isinstance(of, list | tuple | deque):
        return [_known(item) for item in of]
    if isinstance(of, set | frozenset):
        return sorted(map(repr, of))
    if isinstance(of, int | str | bytes | Enum | None):
        return of
    if isinstance(of, Attempts):  # how often brokers were forgotten is less where several are taken at once
        return _known(list(of._answering.items()))
    if not type(of).__module__.startswith("kdissect.history"):
        return type(of)
    names = [name for base in type(of).__mro__ for name in getattr(base, "__slots__", ())]
    values = vars(of) if hasattr(of, "__dict__") else {name: getattr(of, name, None) for name in names}
    return type(of).__name__, _known(values)


def _assert_found(native: Any, path: str) -> list[str]:
    """Return codes of what both find."""
    _assert_same(native, path)
    return [one.code for one in _Way(native, path, in_blocks=True).judge.findings.all()]


def _assert_same(native: Any, path: str) -> int:
    blocks, one_by_one = _Way(native, path, in_blocks=True), _Way(native, path, in_blocks=False)
    assert blocks.verdict() == one_by_one.verdict()
    assert blocks.kept == one_by_one.kept
    return blocks.passed


@pytest.mark.sampled(40)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_files(native: Any, path: Path) -> None:
    _assert_same(native, str(path))


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_captures_that_lack_something(
    native: Any, tmp_path: Path, name: str, damage: Callable[[list[Packet]], list[Packet]]
) -> None:
    _assert_same(native, write_pcap(tmp_path / "damaged.pcap", damage(packets_of(name))))


@pytest.mark.exhaustive
@SETTINGS
@given(damage=DAMAGE, name=st.sampled_from(SHIPPED))
def test_damaged_captures(native: Any, tmp_path: Path, damage: Any, name: str) -> None:
    packets = map(Packet._make, damaged(shipped(name), damage))
    _assert_same(native, write_pcap(tmp_path / "damaged.pcap", packets))


@pytest.mark.exhaustive
@SETTINGS
@given(flips=FLIPS, name=st.sampled_from(SHIPPED))
def test_damaged_bodies(native: Any, tmp_path: Path, flips: Any, name: str) -> None:
    packets = map(Packet._make, flipped(shipped(name), flips))
    _assert_same(native, write_pcap(tmp_path / "damaged.pcap", packets))


def test_exchanges_that_no_rule_is_shown_become_no_object(native: Any) -> None:
    """Of groups: Fetches in sessions, heartbeats, commits."""
    assert _assert_same(native, str(CAPTURES / "kafka44_java_groups.pcapng")) > 50


EPOCHS = st.lists(
    st.tuples(st.sampled_from((-1, 0, 4, 5)), st.sampled_from((None, None, -1, 4, 5))), max_size=30
)
"""Of a Fetch, and of the leader that its response names (None: none)."""


def _of_quorum(epochs: list[tuple[int, int | None]]) -> list[Packet]:
    """Return Fetches of the metadata log in these epochs."""
    talk = ScriptedConnection()
    for asked, leader in epochs:
        row = {"partition": 0, "current_leader_epoch": asked, "fetch_offset": 9}
        partition: dict[str, Any] = {"partition_index": 0, "high_watermark": 9}
        if leader is not None:
            partition["current_leader"] = {"leader_id": 1, "leader_epoch": leader}
        topics = [{"topic_id": METADATA_TOPIC_ID, "partitions": [row]}]
        responses = [{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}]
        talk.exchange("Fetch", 17, {"topics": topics, "session_epoch": -1}, {"responses": responses})
    return talk.close()


def test_fetches_of_the_metadata_log_in_a_known_epoch_become_no_object(native: Any, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "quorum.pcap", _of_quorum([(5, None)] * ROUNDS))
    assert _assert_same(native, path) >= ROUNDS - 3


@pytest.fixture
def shown_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the API keys of rows that become objects for rules and machines."""
    shown: list[int] = []
    show = UnmarkedRows._show

    def noted(rows: UnmarkedRows, exchange: Exchange, *args: Any) -> int | None:
        shown.append(exchange.api_key or 0)
        return show(rows, exchange, *args)

    monkeypatch.setattr(UnmarkedRows, "_show", noted)
    return shown


def test_fetches_that_name_a_known_leader_become_no_object(
    native: Any, tmp_path: Path, shown_rows: list[int]
) -> None:
    path = write_pcap(tmp_path / "quorum.pcap", _of_quorum([(5, 5)] * ROUNDS))
    assert _assert_same(native, path) >= ROUNDS - 3
    assert len(shown_rows) <= 3


def _of_log(records: list[bytes]) -> list[Packet]:
    """Return Fetches of the metadata log with these batches."""
    talk = ScriptedConnection()
    for data in records:
        row = {"partition": 0, "current_leader_epoch": 5, "fetch_offset": 0}
        topics = [{"topic_id": METADATA_TOPIC_ID, "partitions": [row]}]
        partition = {"partition_index": 0, "high_watermark": 9, "records": data}
        responses = [{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}]
        talk.exchange("Fetch", 17, {"topics": topics, "session_epoch": -1}, {"responses": responses})
    return talk.close()


def test_records_of_the_metadata_log_are_read_once(
    native: Any, tmp_path: Path, shown_rows: list[int]
) -> None:
    fitting = batch({"value": TOPIC_RECORD})
    path = write_pcap(tmp_path / "log.pcap", _of_log([fitting] * ROUNDS))
    assert _assert_same(native, path) >= ROUNDS - 3
    assert len(shown_rows) <= 3


def test_a_record_that_does_not_fit_is_found_among_those_that_fit(native: Any, tmp_path: Path) -> None:
    fitting, other = batch({"value": TOPIC_RECORD}), batch({"value": TOPIC_RECORD + b"left"})
    path = write_pcap(tmp_path / "log.pcap", _of_log([fitting] * 9 + [other] + [fitting] * 9 + [other]))
    blocks = _Way(native, path, in_blocks=True)
    (finding,) = [one for one in blocks.judge.findings.all() if one.code == "REC041"]
    assert finding.count == 2
    _assert_same(native, path)


@SETTINGS
@given(epochs=EPOCHS)
def test_epochs_of_the_metadata_log(
    native: Any, tmp_path: Path, epochs: list[tuple[int, int | None]]
) -> None:
    _assert_same(native, write_pcap(tmp_path / "quorum.pcap", _of_quorum(epochs)))


def _of_member(epochs: list[int]) -> list[Packet]:
    """Heartbeats of a share group's member, which names these epochs. The broker always gives epoch 3."""
    talk = ScriptedConnection()
    for epoch in epochs:
        asked = {
            "group_id": "g", "member_id": "KBGbAsEFR2uE3sQIQdmsSw", "member_epoch": epoch,
            "subscribed_topic_names": ["a"] if epoch == 0 else None,
        }  # fmt: skip
        answer = {"member_id": asked["member_id"], "member_epoch": 3, "heartbeat_interval_ms": 5000}
        talk.exchange("ShareGroupHeartbeat", 1, asked, answer)
    return talk.close()


@pytest.mark.parametrize("epoch", [3, 0], ids=["a machine receives", "rules are marked for"])
def test_exchanges_without_a_finding_pass_although(native: Any, tmp_path: Path, epoch: int) -> None:
    """Epoch 3 continues. Epoch 0 joins: a fact without a rule, and a mark of rules that find nothing."""
    path = write_pcap(tmp_path / "member.pcap", _of_member([0, 3, *[epoch] * ROUNDS]))
    assert _assert_same(native, path) >= ROUNDS - 1


def test_heartbeats_that_continue_become_no_object(
    native: Any, tmp_path: Path, shown_rows: list[int]
) -> None:
    path = write_pcap(tmp_path / "member.pcap", _of_member([0, *[3] * ROUNDS]))
    assert _assert_same(native, path) >= ROUNDS - 1
    assert len(shown_rows) <= 3


def _of_shares(
    epochs: Iterable[int], errors: Collection[int] = (), topics: Collection[int] = ()
) -> list[Packet]:
    """Return ShareFetches of a member with these epochs. Some have an error, or a partition, by place."""
    talk = ScriptedConnection()
    for at, epoch in enumerate(epochs):
        listed = [{"topic_id": b"i" * 16, "partitions": [{"partition_index": 0}]}] if at in topics else []
        asked = {"group_id": "g", "member_id": "m", "share_session_epoch": epoch, "topics": listed}
        answered = {"error_code": 123 if at in errors else 0, "acquisition_lock_timeout_ms": 30_000}
        talk.exchange("ShareFetch", 1, asked, {**answered, "responses": []})
    return talk.close()


def test_share_fetches_that_continue_become_no_object(
    native: Any, tmp_path: Path, shown_rows: list[int]
) -> None:
    path = write_pcap(tmp_path / "shares.pcap", _of_shares(range(ROUNDS)))
    assert _assert_same(native, path) >= ROUNDS - 2
    assert len(shown_rows) <= 2


@SETTINGS
@given(
    epochs=st.lists(st.sampled_from((-1, 0, 1, 2, 3)), max_size=12).map(
        lambda some: [*range(4), *some, *range(4)]
    ),
    errors=st.sets(st.integers(0, 12), max_size=2),
    topics=st.sets(st.integers(0, 12), max_size=3),
)
def test_share_sessions(
    native: Any, tmp_path: Path, epochs: list[int], errors: set[int], topics: set[int]
) -> None:
    _assert_same(native, write_pcap(tmp_path / "shares.pcap", _of_shares(epochs, errors, topics)))


def test_exchanges_with_a_finding_each_are_judged_once(native: Any, tmp_path: Path) -> None:
    """Their facts are known when they are added."""
    epochs = [0, 3, *[9] * 80, *[3] * 80]
    codes = _assert_found(native, write_pcap(tmp_path / "member.pcap", _of_member(epochs)))
    assert "GRP015" in codes


def _polls(minima: Iterable[int]) -> list[Packet]:
    """Return fetches that ask for so many bytes within 500 ms, each answered at once without a record."""
    talk = ScriptedConnection()
    for least in minima:
        asked = {**full_fetch([0]), "min_bytes": least, "max_wait_ms": 500}
        talk.exchange("Fetch", 11, asked, fetch_answer(0))
    return talk.close()


def test_findings_that_only_increase_a_count_become_no_object(
    native: Any, tmp_path: Path, shown_rows: list[int]
) -> None:
    path = write_pcap(tmp_path / "early.pcap", _polls([1] * ROUNDS))
    assert _assert_same(native, path) >= ROUNDS - 2
    assert len(shown_rows) <= 2
    (found,) = (
        one for one in _Way(native, path, in_blocks=True).judge.findings.all() if one.code == "FET008"
    )
    assert found.count == ROUNDS


@SETTINGS
@given(minima=st.lists(st.sampled_from((0, 1, 1, 2)), max_size=30))
def test_findings_among_polls_without_one(native: Any, tmp_path: Path, minima: list[int]) -> None:
    _assert_same(native, write_pcap(tmp_path / "early.pcap", _polls(minima)))


_MOVED = {"epoch": 2, "end_offset": -1}
_POLL = {**full_fetch([0]), "min_bytes": 2, "max_wait_ms": 500}
REASONS: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "none": (5, {}, fetch_answer(0)),
    "none, with an error code": (11, {}, fetch_answer(0)),
    "none, with tags": (12, {}, fetch_answer(0)),
    "no partition": (5, {}, {"responses": []}),
    "a topic without a partition": (5, {}, fetch_answer()),
    "no partition, with an error code": (11, {}, {"responses": []}),
    "an error": (11, {}, fetch_answer(0) | {"error_code": 9}),
    "an error of a partition": (5, {}, fetch_answer(0, error_code=3)),
    "a throttle": (5, {}, fetch_answer(0) | {"throttle_time_ms": 5}),
    "another replica": (11, {}, fetch_answer(0, preferred_read_replica=0)),
    "a diverging epoch": (12, {}, fetch_answer(0, diverging_epoch=_MOVED)),
    "a session": (11, {"session_id": 5, "session_epoch": 1}, fetch_answer(0)),
    "nothing was asked": (5, {"topics": []}, fetch_answer()),
    "some bytes": (11, {}, fetch_answer(0, records=b"\0")),
    "enough bytes": (11, {}, fetch_answer(0, records=b"\0\0")),
    "no wait": (11, {"max_wait_ms": 0}, fetch_answer(0)),
}
"""Of a response at once: version, what the request says, the response."""


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("wait_ns", [0, -2_000_000])
def test_a_reason_among_repeated_findings(native: Any, tmp_path: Path, reason: str, wait_ns: int) -> None:
    """What a guard counts without a look is what its rule finds."""
    talk = ScriptedConnection()
    version, changes, answer = REASONS[reason]
    for number in range(12):
        talk.exchange("Fetch", version, _POLL, fetch_answer(0))
        if number > 5:
            talk.ask("Fetch", version, _POLL | changes)
            talk.talk.wait(wait_ns)
            talk.answer("Fetch", version, answer)
    _assert_same(native, write_pcap(tmp_path / "early.pcap", talk.close()))


@SETTINGS
@given(epochs=st.lists(st.sampled_from((-1, 0, 2, 3, 3, 3, 3, 4)), max_size=30))
def test_epochs_of_a_member(native: Any, tmp_path: Path, epochs: list[int]) -> None:
    _assert_same(native, write_pcap(tmp_path / "member.pcap", _of_member(epochs)))


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in pieces of some packets: a connection is lent in one block, given back in another."""
    for module, name in ((byte_source, "CHUNK"), (files, "CHUNK"), (files, "MIN_CHUNK")):
        monkeypatch.setattr(module, name, 1 << 11)


@pytest.mark.sampled(40)
@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_files_in_small_blocks(native: Any, path: Path) -> None:
    _assert_same(native, str(path))


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("kept", [2, 3, 4])
def test_small_blocks_where_few_connections_are_kept(
    native: Any, name: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exchanges of those that speak again stand beside what is reported of them."""
    monkeypatch.setattr(kept_exchanges, "CONNECTIONS_KEPT", kept)
    _assert_same(native, str(CAPTURES / name))


def _topic(name: str = "a", **partition: Any) -> dict[str, Any]:
    """Return a topic of a Metadata response."""
    told = {"leader_id": 1, "leader_epoch": 3, "replica_nodes": [1, 2, 7], "isr_nodes": [1], **partition}
    return {"name": name, "partitions": [told]}


Change = tuple[str, bool, dict[str, Any]]
"""What is said otherwise once: of which exchange, whether in the answer, and how."""
ROUNDS, CHANGED = 12, 8
TOLD = {"partition_index": 0, "high_watermark": 9, "log_start_offset": 1}
TWO_EPOCHS = TOLD | {"records": batch(leader_epoch=3) + batch(leader_epoch=2, base_offset=1)}
LOW = TOLD | {"high_watermark": 8}
CHANGES: dict[str, Change] = {
    "a throttle": ("Heartbeat", True, {"throttle_time_ms": 50}),
    "a refused heartbeat": ("Heartbeat", True, {"error_code": 27}),
    "another generation": ("Heartbeat", False, {"generation_id": 1}),
    "an error that nobody knows": ("Heartbeat", True, {"error_code": 999}),
    "an empty group": ("Heartbeat", False, {"group_id": ""}),
    "a commit of another generation": ("OffsetCommit", False, {"generation_id_or_member_epoch": 1}),
    "a negative wait": ("Fetch", False, {"max_wait_ms": -1}),
    "an epoch again": ("Fetch", False, {"session_epoch": 2}),
    "another session": ("Fetch", False, {"session_id": 8}),
    "a session that ends": ("Fetch", True, {"session_id": 0}),
    "a high watermark that goes back": ("Fetch", True, {"responses": [{"topic": "a", "partitions": [LOW]}]}),
    "a leader epoch that goes back": (
        "Fetch",
        True,
        {"responses": [{"topic": "a", "partitions": [TWO_EPOCHS]}]},
    ),
    "an offset given before": ("Produce", True, {"base_offset": 3}),
    "an answer of another session": ("Fetch", True, {"session_id": 9}),
    "a session that is not known": ("Fetch", True, {"error_code": 70}),
    "a sequence again": ("Produce", False, {"sequence": 40}),
    "a sequence later": ("Produce", False, {"sequence": 400}),
    "another epoch": ("Produce", False, {"epoch": 3}),
    "another producer": ("Produce", False, {"producer_id": 6}),
    "a wrong checksum": ("Produce", False, {"crc": 1}),
    "an offset": ("Produce", False, {"base_offset": 7}),
    "bits that mean nothing": ("Produce", False, {"attributes": 1 << 9}),
    "a codec that is none": ("Produce", False, {"attributes": 7}),
    "a count that is not so": ("Produce", False, {"count": 2}),
    "a later timestamp": ("Produce", False, {"max_timestamp": BASE + 5}),
    "acks of one": ("Produce", False, {"acks": 1}),
    "a refused batch": ("Produce", True, {"error_code": 6}),
    "a leader of a higher epoch": ("Metadata", True, {"topics": [_topic(leader_epoch=4)]}),
    "a leader of a lower epoch": ("Metadata", True, {"topics": [_topic(leader_epoch=2)]}),
    "another leader": ("Metadata", True, {"topics": [_topic(leader_id=2)]}),
    "a leader that is no broker": ("Metadata", True, {"topics": [_topic(leader_id=7, leader_epoch=4)]}),
    "another topic": ("Metadata", True, {"topics": [_topic(), _topic("b")]}),
    "a topic of Kafka's own": ("Metadata", True, {"topics": [_topic(), _topic("__consumer_offsets")]}),
    "a broker elsewhere": ("Metadata", True, {"brokers": [{"node_id": 1, "host": "a", "port": 9093}]}),
    "a slow answer": ("Metadata", True, {"throttle_time_ms": 50}),
    "other topics that are asked for": ("Metadata", False, {"topics": [{"name": "b"}]}),
}
_OF_BATCH = frozenset(
    (
        "sequence", "epoch", "producer_id", "crc", "base_offset", "attributes", "count",
        "max_timestamp",
    )
)  # fmt: skip


HEARTBEAT_V4 = b"\0\x0c\0\x04"
"""How the header of a request in this version begins."""


def _refused() -> ScriptedConnection:
    """ApiVersions v5 refused, and asked again in a version that the broker takes (KIP-511)."""
    talk = ScriptedConnection(negotiate=False)
    talk.ask("ApiVersions", 5, SOFTWARE)
    range_of_it = {"api_key": 18, "min_version": 0, "max_version": 3}
    talk.answer("ApiVersions", 0, {"error_code": 35, "api_keys": [range_of_it]})
    return talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)


def _steady(
    change: Change | None = None, begun: Callable[[], ScriptedConnection] = ScriptedConnection
) -> list[Packet]:
    """Return a member of a group that fetches in a session, and a producer with an id, on one connection."""
    talk = begun()
    talk.exchange("InitProducerId", 4, {"transaction_timeout_ms": 1}, {"producer_id": 5})
    join = {"group_id": "g", "session_timeout_ms": 10_000, "protocol_type": "consumer", "member_id": "m"}
    talk.exchange("JoinGroup", 5, join, {"generation_id": 2, "member_id": "m", "leader": "x"})
    opened = [{"topic": "a", "partitions": [{"partition": 0}]}]
    fetch = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "session_epoch": 0, "topics": opened}
    talk.exchange("Fetch", 11, fetch, {"session_id": 7, "responses": []})
    for number in range(ROUNDS):
        for name, version, asked, answered in _round(number):
            changes: dict[str, Any] = {}
            if change is not None and number == CHANGED and name == change[0]:
                changes = change[2]
                body = answered if change[1] else asked
                if name == "Produce" and change[1]:
                    body = body["responses"][0]["partition_responses"][0]
                elif name == "Produce":
                    header = {key: value for key, value in changes.items() if key in _OF_BATCH}
                    body["topic_data"][0]["partition_data"][0]["records"] = _batch(number, **header)
                body.update(
                    {key: value for key, value in changes.items() if change[1] or key not in _OF_BATCH}
                )
            talk.exchange(name, version, asked, answered)
    return talk.close()


@pytest.mark.parametrize("order", ["aaaabbbbccccabca", "aaaabbbbccccabcaa", "aaaabbbbccccaabbccabca"])
def test_turns_that_end_within_a_block(
    native: Any, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that speaks behind two of them, in which it was silent, is lent all the time."""
    monkeypatch.setattr(kept_exchanges, "CONNECTIONS_KEPT", 2)
    talks: dict[str, ScriptedConnection] = {}
    packets: list[Packet] = []
    now = 0
    for name in order:
        talk = talks.get(name)
        if talk is None:
            talk = talks[name] = ScriptedConnection(negotiate=False, handshake=False)
            talk.talk = Conversation(ports=(40000 + len(talks), 9092))
            talk.talk.now = max(now, talk.talk.now)
            talk.talk.handshake()
            talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)
        talk.talk.now = max(now, talk.talk.now)
        talk.exchange("DescribeUserScramCredentials", 0, {"users": []}, {"results": []})
        now = talk.talk.now
        packets += talk.talk.packets
        talk.talk.packets.clear()
    packets.sort(key=lambda packet: packet.time_ns)
    assert _assert_same(native, write_pcap(tmp_path / "turns.pcap", packets)) > len(order) // 4


Offered = tuple[dict[str, Any], dict[str, Any]]
"""Fields of an ApiVersions request and of its response."""


def _short(offers: Iterable[Offered], first_id: int = 0) -> list[Packet]:
    """Return connections that ask for versions, for Metadata, and for an API whose machines watch all."""
    packets: list[Packet] = []
    for number, (asked, answered) in enumerate(offers):
        talk = ScriptedConnection(negotiate=False, handshake=False)
        talk.talk = Conversation(ports=(40000 + number, 9092))
        talk.talk.now += number * 1_000_000_000
        talk.talk.handshake()
        talk.ask("ApiVersions", 3, asked, id_=first_id)
        talk.answer("ApiVersions", 3, answered)
        talk.exchange("Metadata", 9, {"topics": [{"name": "a"}]}, _cluster())
        talk.exchange("DescribeUserScramCredentials", 0, {"users": []}, {"results": []})
        packets += talk.close()
    return packets


@pytest.mark.parametrize("first_id", [0, 1])
def test_exchanges_of_short_connections_become_no_objects(native: Any, tmp_path: Path, first_id: int) -> None:
    """Connections that begin as an earlier one did: the epoch alone of the broker's features is another."""
    offered = [{**VERSIONS, "finalized_features_epoch": number} for number in range(ROUNDS)]
    packets = _short([(dict(SOFTWARE), answer) for answer in offered], first_id)
    assert _assert_same(native, write_pcap(tmp_path / "short.pcap", packets)) >= 3 * (ROUNDS - 1)


JAVA = {**SOFTWARE, "client_software_name": "apache-kafka-java"}
LOWER_IDS = {
    "lower": [[1], [2], [4]], "lower, and again": [[1], [1], [4]], "in flight": [[1, 2, 1], [5], [6]],
}  # fmt: skip
"""Correlation ids of requests after ApiVersions, which has 3. Those of one list are sent at once."""


@pytest.mark.parametrize("asked", [JAVA, SOFTWARE], ids=["java", "other"])
@pytest.mark.parametrize("ids", LOWER_IDS)
def test_requests_that_a_java_client_numbered_early(
    native: Any, tmp_path: Path, ids: str, asked: dict[str, Any]
) -> None:
    """A connection is opened for a request that has its id already. They pass, but for an id that comes twice
    in a row, or is in flight.
    """
    packets = [packet for number in range(ROUNDS) for packet in _of_ids(number, ids, asked)]
    path = write_pcap(tmp_path / "ids.pcap", packets)
    passed, codes = _assert_same(native, path), _assert_found(native, path)
    is_java, is_lower = asked is JAVA, ids == "lower"
    assert ("HDR009" in codes) is (not is_java or ids == "lower, and again")
    assert ("HDR008" in codes) is (ids == "in flight")
    assert (passed >= 4 * (ROUNDS - 2)) is (is_java and is_lower)


def _of_ids(number: int, ids: str, asked: dict[str, Any]) -> list[Packet]:
    talk = ScriptedConnection(negotiate=False, handshake=False)
    talk.talk = Conversation(ports=(40000 + number, 9092))
    talk.talk.now += number * 1_000_000_000
    talk.talk.handshake()
    talk.ask("ApiVersions", 3, asked, id_=3)
    talk.answer("ApiVersions", 3, VERSIONS)
    for together in LOWER_IDS[ids]:
        for id_ in together:
            talk.ask("DescribeUserScramCredentials", 0, {"users": []}, id_=id_)
        for id_ in together:
            talk.answer("DescribeUserScramCredentials", 0, {"results": []}, id_)
    return talk.close()


_OLD = versions((0, 0, 8), (3, 0, 8), (18, 0, 3))
OFFERS: dict[str, Offered] = {
    "other versions": (dict(SOFTWARE), dict(_OLD)),
    "other software": ({**SOFTWARE, "client_software_version": "2.0"}, dict(VERSIONS)),
    "a feature": (
        dict(SOFTWARE),
        {**VERSIONS, "finalized_features": [{"name": "f", "max_version_level": 2, "min_version_level": 1}]},
    ),
    "an epoch of features": (dict(SOFTWARE), {**VERSIONS, "finalized_features_epoch": 7}),
    "a negative epoch": (dict(SOFTWARE), {**VERSIONS, "finalized_features_epoch": -7}),
    "a throttle": (dict(SOFTWARE), {**VERSIONS, "throttle_time_ms": 50}),
    "ranges that are none": (dict(SOFTWARE), versions((0, 5, 1), (3, 0, 13), (18, 0, 5))),
    "an error": (dict(SOFTWARE), dict(versions(error=41))),
    "software without a name": ({**SOFTWARE, "client_software_name": "-"}, dict(VERSIONS)),
}


@pytest.mark.parametrize("change", OFFERS)
def test_connections_that_begin_in_two_ways_by_turns(native: Any, tmp_path: Path, change: str) -> None:
    """Each is judged by its own versions; the judge of causes learns each change of a broker's features."""
    usual = dict(SOFTWARE), dict(VERSIONS)
    path = write_pcap(tmp_path / "short.pcap", _short([usual, OFFERS[change], usual, OFFERS[change]] * 4))
    _assert_same(native, path)
    assert _watched(native, path, in_blocks=True) == _watched(native, path, in_blocks=False)


def _of_refusals() -> list[Packet]:
    """Return answers without an error, with one, and late ones, of an API that names no topics."""
    talk = ScriptedConnection()
    for number in range(4 * ROUNDS):
        asked = {"key": f"t{number % 3}", "key_type": 1}
        talk.ask("FindCoordinator", 3, asked)
        talk.talk.now += 200_000_000 * (number % 5 == 4)
        talk.answer("FindCoordinator", 3, {"error_code": 15 * (number % 4 == 3), "host": "h"})
    return talk.close()


def test_the_judge_of_causes_is_shown_rows_that_a_mark_concerns(
    native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, added = write_pcap(tmp_path / "refusals.pcap", _of_refusals()), [0]
    assert _log_of(native, path, in_blocks=True) == _log_of(native, path, in_blocks=False)
    add = WatchingJudge.add

    def counted(judge: WatchingJudge, event: Event) -> None:
        added[0] += isinstance(event, Exchange)
        add(judge, event)

    monkeypatch.setattr(WatchingJudge, "add", counted)
    errors, late = _log_of(native, path, in_blocks=True)
    assert added[0] <= 8
    assert [sum(times for _, times, *_ in found) for found in (errors, late)] == [ROUNDS, 4 * ROUNDS // 5]


@pytest.mark.sampled(40)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_the_log_of_causes_is_that_of_all_exchanges(native: Any, path: Path) -> None:
    assert _log_of(native, str(path), in_blocks=True) == _log_of(native, str(path), in_blocks=False)


def _log_of(native: Any, path: str, *, in_blocks: bool) -> tuple[list[Any], list[Any]]:
    """Return the errors and late responses that reach the log of causes."""
    names = TopicNames()
    log = ExchangeLog(names)
    _watch(native, path, WatchingJudge(log.add, lambda fact, view: None, id), in_blocks=in_blocks)
    errors, late = (
        [(key, seen.times, seen.time_ns, seen.evidence) for key, seen in found.items()]
        for found in (log.errors, log.late)
    )
    return errors, late


def _watched(native: Any, path: str, *, in_blocks: bool) -> object:
    """Return the facts and features that the judge of causes reports."""
    told: list[object] = []
    judge = WatchingJudge(
        lambda _: False, lambda fact, view: told.append((fact, view and view.info.id)), told.append
    )
    _watch(native, path, judge, in_blocks=in_blocks)
    return told, list(judge.features.offers.items())


def _watch(native: Any, path: str, judge: WatchingJudge, *, in_blocks: bool) -> None:
    for events in Dissection(path).batches():
        at = 0
        while at < len(events):
            if in_blocks and isinstance(events, native.ExchangeBlock):
                at = judge.take_block(events, at)
            if at < len(events):
                judge.add(events[at])
            at += 1
    judge.finish()


def _cluster(**of_topic: Any) -> dict[str, Any]:
    brokers = [{"node_id": node, "host": "10.0.0.1", "port": 9090 + node} for node in (1, 2)]
    return {"brokers": brokers, "topics": [_topic() | of_topic]}


def _batch(number: int, **header: Any) -> bytes:
    return batch(**{"producer_id": 5, "epoch": 0, "sequence": number, **header})


def _round(number: int) -> list[tuple[str, int, dict[str, Any], dict[str, Any]]]:
    member = {"group_id": "g", "member_id": "m"}
    commit = {**member, "generation_id_or_member_epoch": 2, "topics": []}
    session = {"session_id": 7, "session_epoch": number + 1, "topics": [], "replica_id": -1}
    records = [{"name": "a", "partition_data": [{"index": 0, "records": _batch(number)}]}]
    taken = [{"name": "a", "partition_responses": [{"index": 0, "base_offset": number}]}]
    told = [{"topic": "a", "partitions": [TOLD]}]
    return [
        ("Metadata", 9, {"topics": [{"name": "a"}]}, _cluster()),
        ("Heartbeat", 4, {**member, "generation_id": 2}, {}),
        ("OffsetCommit", 8, commit, {"topics": []}),
        ("Fetch", 11, {**session, "max_wait_ms": 0, "min_bytes": 0}, {"session_id": 7, "responses": told}),
        ("Produce", 9, {"acks": -1, "timeout_ms": 1000, "topic_data": records}, {"responses": taken}),
    ]


@pytest.mark.parametrize("begun", [ScriptedConnection, _refused])
def test_exchanges_that_are_alike_pass(
    native: Any, tmp_path: Path, begun: Callable[[], ScriptedConnection]
) -> None:
    passed = _assert_same(native, write_pcap(tmp_path / "steady.pcap", _steady(begun=begun)))
    assert passed >= 5 * (ROUNDS - 3)


def test_so_do_those_of_a_connection_whose_beginning_was_not_captured(native: Any, tmp_path: Path) -> None:
    packets = _steady()
    opens = next(at for at, packet in enumerate(packets) if HEARTBEAT_V4 in packet.data)
    passed = _assert_same(native, write_pcap(tmp_path / "later.pcap", packets[opens:]))
    assert passed >= 5 * (ROUNDS - 2)  # a Fetch a round fewer, were they not judged by rows


def test_a_body_that_cannot_be_read_takes_nothing_from_other_connections(native: Any, tmp_path: Path) -> None:
    """So ends the connection of a broker that is killed."""
    talk = ScriptedConnection(negotiate=False, handshake=False)
    client, broker, port = ENDS[2]
    talk.talk = Conversation(client, broker, (port, 9092)).handshake()
    talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)
    of_fetch = talk.ask("Fetch", 11, {"topics": []})
    talk.raw(1 - CLIENT, of_fetch.to_bytes(4) + b"\0")
    packets = [
        packet._replace(ref=packet_ref(0, number))
        for number, packet in enumerate((*talk.close(), *_steady()), 1)
    ]
    passed = _assert_same(native, write_pcap(tmp_path / "misread.pcap", packets))
    assert passed >= 5 * (ROUNDS - 3)


def test_topics_asked_for_by_name_pass(native: Any, tmp_path: Path) -> None:
    """Their ids are zero, of which a rule speaks in other requests."""
    talk = ScriptedConnection()
    for _ in range(ROUNDS):
        talk.exchange("Metadata", 12, {"topics": [{"name": "a"}]}, _cluster(topic_id=b"i" * 16))
    assert _assert_same(native, write_pcap(tmp_path / "names.pcap", talk.close())) >= ROUNDS - 3


def _made(native: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return how many rows become objects, to be looked at or added, and how many rows pass."""
    of_row, made = Exchange.of_row, list[Exchange]()

    def making(*row: Any) -> Exchange:
        made.append(of_row(*row))
        return made[-1]

    with monkeypatch.context() as patched:
        patched.setattr(Exchange, "of_row", making)
        passed = _Way(native, path, in_blocks=True).passed
    return len(made), passed


@pytest.mark.usefixtures("_small_blocks")
def test_the_last_ones_of_a_block_become_no_object_either(
    native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, passed = _made(native, write_pcap(tmp_path / "steady.pcap", _steady()), monkeypatch)
    assert 0 < made < passed / 2


@pytest.mark.sampled(8)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_one_that_is_not_is_seen(
    native: Any, tmp_path: Path, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It becomes an object, and passes only if nothing is found."""
    path = write_pcap(tmp_path / "steady.pcap", _steady())
    changed = write_pcap(tmp_path / "changed.pcap", _steady(change))
    assert _assert_same(native, changed) > 0
    assert _made(native, changed, monkeypatch)[0] > _made(native, path, monkeypatch)[0]


ANSWERS = (
    {}, {"leader_epoch": 4}, {"leader_id": 2}, {"leader_id": -1}, {"leader_id": 2, "leader_epoch": 4},
    {"leader_id": 7}, {"isr_nodes": [1, 9]}, {"cluster_id": "A"}, {"cluster_id": "B"},
)  # fmt: skip
"""What Metadata says about a partition, or its cluster: rules speak of the two before the clusters."""
ENDS = (("10.0.0.1", "10.0.0.8", 40000), ("10.0.0.1", "10.0.0.9", 40001), ("10.0.0.2", "10.0.0.9", 40002))


def _told(steps: list[tuple[int, int]]) -> list[Packet]:
    """Answers to Metadata, each on one of three connections to two brokers."""
    talks = []
    for client, broker, port in ENDS:
        talk = ScriptedConnection(negotiate=False, handshake=False)
        talk.talk = Conversation(client, broker, (port, 9092)).handshake()
        talks.append(talk.exchange("ApiVersions", 3, SOFTWARE, VERSIONS))
    now = 0
    for at, answer in steps:
        talk = talks[at]
        talk.talk.now = now = max(now, talk.talk.now)
        brokers = [{"node_id": node, "host": ENDS[0][1], "port": 9090 + node} for node in (1, 2)]
        topics = [_topic(**ANSWERS[answer]), _topic("b")]
        cluster = {"brokers": brokers, "topics": topics, "cluster_id": ANSWERS[answer].get("cluster_id")}
        talk.exchange("Metadata", 9, {"topics": [{"name": "a"}, {"name": "b"}]}, cluster)
        now = talk.talk.now
    packets = [packet for talk in talks for packet in talk.talk.packets]
    packets.sort(key=lambda packet: packet.time_ns)
    return [packet._replace(ref=packet_ref(0, number)) for number, packet in enumerate(packets, 1)]


@pytest.mark.exhaustive
@SETTINGS
@given(steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, len(ANSWERS) - 1)), max_size=40))
def test_answers_that_are_told_again(native: Any, tmp_path: Path, steps: list[tuple[int, int]]) -> None:
    """By the same broker or another, to the same client or another, while leaders change."""
    _assert_same(native, write_pcap(tmp_path / "told.pcap", _told(steps)))


@pytest.mark.parametrize(
    "steps", [[(0, 7)] * 6 + [(1, 8), (1, 7)] * 3, [(0, 7), (0, 8)] * 3 + [(1, 8), (1, 7)]]
)
def test_clusters_that_are_named_again(native: Any, tmp_path: Path, steps: list[tuple[int, int]]) -> None:
    """A connection that names another cluster with bodies that were judged on another connection."""
    assert "MET015" in _assert_found(native, write_pcap(tmp_path / "told.pcap", _told(steps)))


@pytest.mark.parametrize(("answers", "passed"), [([0], True), ([5], False), ([6], False)])
def test_only_answers_of_which_no_rule_spoke_pass_unseen(
    native: Any, tmp_path: Path, shown_rows: list[int], answers: list[int], passed: bool
) -> None:
    path = write_pcap(
        tmp_path / "told.pcap", _told([(at, answer) for at in range(3) for answer in answers * 8])
    )
    assert (_assert_same(native, path) - len(shown_rows) >= 3 * 6) is passed


@pytest.mark.sampled(16)
@pytest.mark.parametrize("kept", [1, 2, 100])
@pytest.mark.parametrize("name", CASES)
def test_members_of_which_there_is_something_to_tell(
    native: Any, tmp_path: Path, name: str, kept: int
) -> None:
    _assert_same_of_members(native, tmp_path, CASES[name], kept)


@pytest.mark.exhaustive
@SETTINGS
@given(steps=STEPS, kept=st.sampled_from((1, 2, 100)))
def test_members_that_come_and_go(native: Any, tmp_path: Path, steps: list[Step], kept: int) -> None:
    _assert_same_of_members(native, tmp_path, steps, kept)


def _assert_same_of_members(native: Any, tmp_path: Path, steps: list[Step], kept: int) -> None:
    """Where so many groups, members of each, and brokers are kept."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in LIMITS:
            patch.setattr(module, name, kept)
        _assert_same(native, write_pcap(tmp_path / "members.pcap", packets_of_steps(steps)))


def test_requests_of_members_pass(native: Any, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "members.pcap", packets_of_steps(steady(ROUNDS)))
    assert _assert_same(native, path) >= 4 * (ROUNDS - 2)


def test_refused_heartbeats_pass(native: Any, tmp_path: Path) -> None:
    """Machines receive them as objects, and no rule is about their facts."""
    told = [Step("told", 0, 0, 0)] * ROUNDS
    path = write_pcap(tmp_path / "members.pcap", packets_of_steps([*steady(2), *told]))
    assert _assert_same(native, path) >= ROUNDS


def test_without_guards_every_exchange_is_added(native: Any) -> None:
    judge = Judge(guards=False)
    for events in Dissection(str(CAPTURES / SHIPPED[0])).batches():
        if isinstance(events, native.ExchangeBlock):
            assert judge.take_block(events, 0) == 0


def test_numbers_are_those_of_python(native: Any) -> None:
    assert native.JUDGED == [
        views._LARGE, views._LEAST_REQUEST, views._LEAST_RESPONSE, views._SLOW_NS, views._MANY_IN_FLIGHT,
        views._RESPONSE_BODY_AT, views._REQUEST_BODY_AT, views.WAITING_KEPT, RECENT, views.RECENT_BYTES,
        MOST_CANONICAL, views.LATE_NS,
    ]  # fmt: skip
