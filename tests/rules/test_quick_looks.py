"""Quick looks leave nothing out: a judge that shows every rule everything comes to the same verdict."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.decoders.node import Node
from kdissect.decoders.records.reader import read_records
from kdissect.engine.bodies import body_of
from kdissect.engine.record_sets import record_batches
from kdissect.model.finding import Who
from kdissect.report.json import report_row
from kdissect.report.verdict import Verdict
from kdissect.rules import subjects
from kdissect.rules.batch import Batch
from kdissect.rules.body import Body
from kdissect.rules.body_kind import BodyKind
from kdissect.rules.body_pair import PairKey
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.coverage import Coverage
from kdissect.rules.exercise import Exercise
from kdissect.rules.judge import Judge
from kdissect.rules.kinds import BatchRule, ExchangeRule, NodeRule, RecordRule
from kdissect.rules.quality import quality_of
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Fault, Rule
from kdissect.session.exchange import Exchange
from tests.rules.dialogue import Dialogue, events_of, judged, key_of
from tests.rules.fixtures import apis, batches, connections, histories, values, wire
from tests.rules.fixtures.wire import CLUSTER, METADATA
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes

CASES = {**wire.CASES, **values.CASES, **apis.CASES, **histories.CASES, **batches.CASES, **connections.CASES}
NAMES = [
    "tansu_kp3_groups.pcap", "tansu_rdk216_acks.pcap", "tansu_kp202_admin.pcap", "mock_rdk216_txn.pcap",
    "kafka28zk_franz_raw.pcapng", "kafka44_java_errors.pcapng", "kafka44_franz_sasl.pcapng",
    "kafka44_sarama_produce.pcapng", "kafka44_aiokafka_transactions.pcapng", "kafka36_quorum.pcapng.gz",
]  # fmt: skip


class ThoroughSubjects(subjects.Subjects):
    """Every rule sees every exchange and every body it may speak of."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__(rules)
        self.look_at_usual = True

    def exchange_checks(self, exchange: Exchange, sort: str) -> subjects.ExchangeChecks:
        shown = [rule for rule in self.exchange_rules if sort == subjects.ODD or not rule.only_odd]
        return tuple((rule, _always) for rule in shown)

    def body_pair(self, key: PairKey, looked_at: Exercise, coverage: Coverage) -> None:
        return None

    def body_kind(self, exchange: Exchange, side: str, version: int, looked_at: Exercise) -> BodyKind:
        kind = super().body_kind(exchange, side, version, looked_at)
        kind.plain_checks = kind.checks
        kind.is_free = False
        kind.is_watched = True
        return kind


def _always(_exchange: Exchange, _view: ConnectionView) -> bool:
    return True


def _verdict(judge: Judge) -> object:
    return report_row(Verdict(judge, quality_of(judge.coverage), ()))


def _judge_capture(path: Path) -> Judge:
    judge = Judge()
    for event in Dissection(path).events():
        judge.add(event)
    judge.finish()
    return judge


@pytest.fixture
def thorough(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Judge]], object]:
    """Runs a judge without quick looks."""

    def judged_by(run: Callable[[], Judge]) -> object:
        with monkeypatch.context() as patch:
            patch.setattr("kdissect.rules.judge.Subjects", ThoroughSubjects)
            patch.setattr("kdissect.rules.batches.BatchJudge._plain_ones", lambda *_: None)
            patch.setattr("kdissect.rules.batches.has_usual_content", lambda *_, **__: False)
            for rule in ALL_RULES:
                patch.setattr(type(rule), "is_suspect", lambda *_: True, raising=False)
            return _verdict(run())

    return judged_by


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_captures(name: str, thorough: Callable[[Callable[[], Judge]], object]) -> None:
    quick = _verdict(_judge_capture(CAPTURES / name))
    assert quick == thorough(lambda: _judge_capture(CAPTURES / name))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("code", sorted(CASES))
def test_fixtures(code: str, thorough: Callable[[Callable[[], Judge]], object]) -> None:
    for make in (CASES[code].violating, CASES[code].legal):
        quick = _verdict(judged(make()))
        assert quick == thorough(lambda make=make: judged(make()))


TOPIC = "acks-all"


class _Strings(NodeRule):
    """Written to the contract of its base class and nothing more, as the rules below are."""

    code, name, who, nodes = "BDY900", "any-string", Who.CLIENT, ("string",)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        if node.value == TOPIC:
            yield Fault("another", TOPIC)


class _Batches(BatchRule):
    code, name, who = "REC900", "compressed-batch", Who.CLIENT

    def check(self, batch: Batch) -> Iterator[Fault]:
        if batch.batch.codec:
            yield Fault("no codec", str(batch.batch.codec))


class _Records(RecordRule):
    code, name, who = "REC901", "record", Who.CLIENT

    def check(self, batch: Batch) -> Iterator[Fault]:
        yield Fault("no records", str(len(batch.content)))


class _Exchanges(ExchangeRule):
    code, name, who = "PAI900", "exchange", Who.CLIENT

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Fault]:
        yield Fault("none", str(exchange.ordinal))


def _occurrences(value: Any) -> int:
    """How often a body names the topic."""
    if isinstance(value, dict):
        return sum(map(_occurrences, value.values()))
    return sum(map(_occurrences, value)) if isinstance(value, list) else value == TOPIC


NEW_RULES = (_Strings(), _Batches(), _Records(), _Exchanges())


@pytest.mark.parametrize("rule", NEW_RULES, ids=lambda rule: rule.code)
@pytest.mark.parametrize("with_others", [True, False])
def test_a_new_rule_is_shown_everything(rule: Rule, with_others: bool) -> None:
    path = CAPTURES / "kafka44_java_produce.pcapng"
    judge = Judge((*ALL_RULES, rule) if with_others else (rule,))
    expected: Counter[str] = Counter()
    for event in Dissection(str(path)).events():
        if isinstance(event, Exchange):
            expected["PAI900"] += 1
            batches = [batch for _, found in record_batches(event) for batch in found.batches]
            expected["REC900"] += sum(bool(batch.codec) for batch in batches)
            expected["REC901"] += sum(bool(read_records(batch).records) for batch in batches)
            expected["BDY900"] += sum(
                _occurrences(body_of(event, side, True).body) for side in ("request", "response")
            )
        judge.add(event)
    judge.finish()
    assert expected[rule.code] > 0
    assert (
        sum(found.count for found in judge.findings.all() if found.code == rule.code) == expected[rule.code]
    )


def _steady() -> Dialogue:
    """Exchanges that are alike, so that the next one is usual unless something differs."""
    talk = Dialogue()
    for _ in range(3):
        talk.exchange("Metadata", 12, METADATA, CLUSTER)
    return talk


def test_a_lower_correlation_id_is_not_usual(thorough: Callable[[Callable[[], Judge]], object]) -> None:
    def run() -> Judge:
        talk = _steady()
        talk.ask("Metadata", 12, METADATA, id_=2)
        return judged(talk.answer("Metadata", 12, CLUSTER, 2).close())

    assert {finding.code for finding in run().findings.all()} >= {"HDR009"}
    assert _verdict(run()) == thorough(run)


def test_many_in_flight_are_not_usual(thorough: Callable[[Callable[[], Judge]], object]) -> None:
    def run() -> Judge:
        talk = Dialogue()
        produce = {"acks": 1, "timeout_ms": 1000, "topic_data": []}
        for _ in range(3):
            talk.exchange("Produce", 9, produce, {"responses": []})
        waiting = [talk.ask("Produce", 9, produce) for _ in range(7)]
        for id_ in waiting:
            talk.answer("Produce", 9, {"responses": []}, id_)
        return judged(talk.close())

    assert {finding.code for finding in run().findings.all()} >= {"PAI006"}
    assert _verdict(run()) == thorough(run)


PRODUCE_VERSIONS = [2, 3, 6, 7, 9]
FETCH_VERSIONS = [3, 4, 9, 10, 11]
# Each on one side of what makes a header plain (`rules.plain_batch`), and the codes that say so.
HEADERS: list[tuple[dict[str, int], set[str]]] = [
    ({}, set()), ({"base_offset": 1}, {"REC022"}), ({"base_offset": -1}, {"REC022"}),
    ({"last_delta": 0}, {"REC021"}), ({"last_delta": 2}, {"REC021"}),
    ({"count": 0, "last_delta": 0}, {"REC021"}),
    ({"count": -1, "last_delta": -1}, {"REC021"}), ({"crc": 1}, {"REC004"}),
    *(({"attributes": bits}, set()) for bits in (4, 5, 8, 16, 24, 32, 48, 64, 80, 128, -32768)),
    ({"attributes": 16, "producer_id": 5, "epoch": 0, "sequence": 0}, {"REC026"}),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("header", "codes"), HEADERS, ids=str)
def test_headers(
    header: dict[str, int], codes: set[str], thorough: Callable[[Callable[[], Judge]], object]
) -> None:
    odd = batches.batch({}, {}, **header)
    scenes = [batches.produced(odd, version) for version in PRODUCE_VERSIONS]
    scenes += [batches.fetched(odd, version) for version in FETCH_VERSIONS]
    for scene in scenes:
        assert _verdict(judged(scene)) == thorough(partial(judged, scene))
    assert codes <= {finding.code for finding in judged(batches.produced(odd)).findings.all()}


@pytest.mark.parametrize(
    ("offsets", "asked", "code"),
    [((0, 1), 0, ""), ((0, 0), 0, "REC027"), ((5, 3), 0, "REC027"), ((0, 1), 1, "REC028"), ((9, 12), 9, "")],
)
def test_offsets_of_what_is_given(
    offsets: tuple[int, int], asked: int, code: str, thorough: Callable[[Callable[[], Judge]], object]
) -> None:
    data = b"".join(batches.batch(base_offset=offset) for offset in offsets)

    def run() -> Judge:
        return judged(batches.fetched(data, offset=asked))

    told = {finding.code for finding in run().findings.all() if finding.code.startswith("REC")}
    assert told == ({code} if code else set())
    assert _verdict(run()) == thorough(run)


@pytest.mark.parametrize("delta", [-2, -1, 0, 4])
def test_batches_without_records(delta: int, thorough: Callable[[Callable[[], Judge]], object]) -> None:
    empty = batch_bytes(b"", 0, last_delta=delta)
    for scene in (batches.produced(empty), batches.fetched(empty)):
        assert _verdict(judged(scene)) == thorough(partial(judged, scene))
    assert "REC021" in {finding.code for finding in judged(batches.produced(empty)).findings.all()}


def _produce(**changes: Any) -> dict[str, Any]:
    row = {"index": 0, "records": batches.batch()} | {
        k: v for k, v in changes.items() if k in ("index", "records")
    }
    asked = {"acks": 1, "timeout_ms": 1000, "topic_data": [{"name": "a", "partition_data": [row]}]}
    return asked | {name: value for name, value in changes.items() if name not in row}


def _acknowledge(name: str = "a", **changes: Any) -> dict[str, Any]:
    return {"responses": [{"name": name, "partition_responses": [{"index": 0} | changes]}]}


def _fetch(**changes: Any) -> dict[str, Any]:
    rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}] * changes.pop("rows", 1)
    asked = {
        "replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 100, "session_epoch": -1,
        "topics": [{"topic": "a", "partitions": rows}],
    }  # fmt: skip
    return asked | changes


def _give(**changes: Any) -> dict[str, Any]:
    row = {"partition_index": 0, "high_watermark": 1, "last_stable_offset": 1, "log_start_offset": 0,
           "aborted_transactions": [], "records": batches.batch()}  # fmt: skip
    return {"responses": [{"topic": "a", "partitions": [row | changes]}]}


def _commit(offset: int = 5, metadata: str = "", name: str = "a", rows: int = 1) -> dict[str, Any]:
    row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": metadata}
    return {"group_id": "g", "topics": [{"name": name, "partitions": [row] * rows}]}


def _committed(index: int = 0) -> dict[str, Any]:
    return {"topics": [{"name": "a", "partitions": [{"partition_index": index}]}]}


USUAL: dict[tuple[str, int], tuple[dict[str, Any], dict[str, Any]]] = {
    ("Produce", 7): (_produce(), _acknowledge()), ("Produce", 9): (_produce(), _acknowledge()),
    ("Fetch", 6): (_fetch(), _give()), ("Fetch", 11): (_fetch(), _give()),
    ("OffsetCommit", 8): (_commit(), _committed()),
    ("Heartbeat", 4): ({"group_id": "g"}, {}),
}  # fmt: skip
BEGUN = [{"producer_id": 1, "first_offset": offset} for offset in (9, 4)]
# What is odd about one exchange behind usual ones, and the code that says so.
ODD: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("Produce", _produce(acks=2), _acknowledge(), "PRD001"),
    ("Produce", _produce(records=None), _acknowledge(), "PRD002"),
    ("Produce", _produce(timeout_ms=-1), _acknowledge(), "BDY024"),
    ("Produce", _produce(index=1), _acknowledge(), "PAI008"),
    ("Produce", _produce(), _acknowledge("b"), "PAI008"),
    ("Produce", _produce(), _acknowledge(error_code=9999), "BDY018"),
    ("Produce", _produce(records=batches.batch(crc=1)), _acknowledge(), "REC004"),
    ("Produce", _produce(records=batches.batch(base_offset=1)), _acknowledge(), "REC022"),
    ("Produce", _produce(records=batches.batch({"attributes": 1})), _acknowledge(), "REC030"),
    ("Fetch", _fetch(replica_id=-3), _give(), "BDY027"),
    ("Fetch", _fetch(rows=2), _give(), "BDY022"),
    ("Fetch", _fetch(session_epoch=3), _give(), "FET001"),
    ("Fetch", _fetch(forgotten_topics_data=[{"topic": "a", "partitions": [0]}]), _give(), "FET002"),
    ("Fetch", _fetch(max_bytes=0), _give(), "FET003"),
    ("Fetch", _fetch(min_bytes=101), _give(), "FET003"),
    ("Fetch", _fetch(), _give(partition_index=1), "FET004"),
    ("Fetch", _fetch(), _give(log_start_offset=2), "FET005"),
    ("Fetch", _fetch(), _give(last_stable_offset=2), "FET005"),
    ("Fetch", _fetch(), _give(aborted_transactions=BEGUN), "FET006"),
    ("Fetch", _fetch(max_wait_ms=60_000), _give(records=None), "FET008"),
    ("Fetch", _fetch(), _give(records=batches.batch(base_offset=3, last_delta=-1)), "REC021"),
    ("OffsetCommit", _commit(-5), _committed(), "GRP008"),
    ("OffsetCommit", _commit(metadata="x" * 5000), _committed(), "GRP008"),
    ("OffsetCommit", _commit(rows=2), _committed(), "BDY022"),
    ("OffsetCommit", _commit(), _committed(1), "PAI008"),
    ("Heartbeat", {"group_id": ""}, {}, "GRP001"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("api", "asked", "answered", "code"), ODD)
def test_an_odd_exchange_behind_usual_ones(
    api: str, asked: dict[str, Any], answered: dict[str, Any], code: str,
    thorough: Callable[[Callable[[], Judge]], object],
) -> None:  # fmt: skip
    for (name, version), (usual, back) in USUAL.items():
        if name != api:
            continue

        def run(oddly: bool = True, version: int = version, usual: Any = usual, back: Any = back) -> Judge:
            talk = Dialogue()
            for _ in range(5):
                talk.exchange(api, version, usual, back)
            if oddly:
                talk.exchange(api, version, asked, answered)
            return judged(talk.exchange(api, version, usual, back).close())

        before = {finding.code for finding in run(oddly=False).findings.all()}
        assert code not in before
        if version != 6 or code not in ("FET001", "FET002"):
            assert code in {finding.code for finding in run().findings.all()}
        assert _verdict(run()) == thorough(run)


@pytest.mark.parametrize(("api", "version"), USUAL)
def test_usual_exchanges_are_counted(api: str, version: int) -> None:
    def run(times: int) -> Judge:
        talk = Dialogue()
        for _ in range(times):
            talk.exchange(api, version, *USUAL[api, version])
        return judged(talk.close())

    few, many = run(3), run(10)
    assert many.coverage.exchanges == few.coverage.exchanges + 7
    assert many.coverage.apis[key_of(api), version] == 10
    assert many.coverage.traffic.latencies[key_of(api), version].count == 10
    assert sum(count for count, _ in many.coverage.traffic.times.row()) == many.coverage.exchanges


def test_a_judge_can_be_pickled_between_usual_exchanges() -> None:
    talk = Dialogue()
    for _ in range(6):
        talk.exchange("Produce", 7, _produce(), _acknowledge())
    judge, moved = Judge(), Judge()
    for event in events_of(talk.close()):
        judge.add(event)
        moved.add(event)
        moved = pickle.loads(pickle.dumps(moved))
    judge.finish()
    moved.finish()
    assert _verdict(moved) == _verdict(judge)
