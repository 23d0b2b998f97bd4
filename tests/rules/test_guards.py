"""Guards leave nothing out: a judge that shows every rule everything comes to the same verdict."""

import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_blocks
from kdissect.decoders.records.reader import read_records
from kdissect.decoders.trees.node import Node
from kdissect.engine.exchange_bodies import body_of
from kdissect.engine.records.record_sets import record_batches
from kdissect.model.finding import Who
from kdissect.model.native import is_compiled
from kdissect.rules.guards import ExchangeFact, Guard
from kdissect.rules.judge import Judge
from kdissect.rules.judging.body_guards import BodyGuards
from kdissect.rules.judging.rule_index import Subjects
from kdissect.rules.kinds import BatchRule, BodyRule, ExchangeRule, NodeRule, RecordRule
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule, Violation
from kdissect.rules.views.batch_view import Batch
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange
from tests.rules.fixtures import apis, batches, connections, histories, relations, values, wire
from tests.rules.fixtures.wire import CLUSTER, METADATA
from tests.rules.scripted_connection import ScriptedConnection, events_of, judged, key_of
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes
from tests.support.verdicts import verdict_of

CASES = {
    **wire.CASES,
    **values.CASES,
    **apis.CASES,
    **histories.CASES,
    **batches.CASES,
    **connections.CASES,
    **relations.CASES,
}
NAMES = sorted(path.name for path in CAPTURES.iterdir() if ".pcap" in path.name)


def _judge_capture(path: Path, *, guards: bool = True) -> Judge:
    judge = Judge(guards=guards)
    for event in Dissection(path).events():
        judge.add(event)
    judge.finish()
    return judge


@pytest.mark.exhaustive
def test_captures_of_the_reference(reference: Path) -> None:
    """Damaged ones, and those of other taps."""
    others = [path for path in sorted((reference / "captures").glob("*.pcap*")) if path.name not in NAMES]
    assert others
    for path in others:
        assert verdict_of(_judge_capture(path)) == verdict_of(_judge_capture(path, guards=False)), path


@pytest.mark.sampled(12)
@pytest.mark.parametrize("code", sorted(CASES))
def test_fixtures(code: str) -> None:
    for make in (CASES[code].violating, CASES[code].legal):
        found, all_shown = (
            verdict_of(judged(make(), guards=guards), pieces=False) for guards in (True, False)
        )
        assert found == all_shown


GUARDED = [rule for rule in ALL_RULES if getattr(rule, "guard", None) is not None]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("rule", GUARDED, ids=lambda rule: rule.code)
def test_a_guard_that_never_marks_is_noticed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of them: what the rule finds in its fixture is found by its guard alone."""
    packets = CASES[rule.code].violating()
    assert rule.code in _codes(judged(packets))
    if not isinstance(rule, BodyRule | NodeRule):
        monkeypatch.setattr(type(rule), "guard", ExchangeFact(0))
        assert rule.code not in _codes(judged(packets))
        assert rule.code in _codes(judged(packets, guards=False))
        return
    add = BodyGuards.add

    def never(self: BodyGuards, guard: Guard, is_response: bool) -> int:
        return 0 if guard is rule.guard else add(self, guard, is_response)  # type: ignore[attr-defined]

    monkeypatch.setattr(BodyGuards, "add", never)
    assert rule.code not in _codes(judged(packets))
    assert rule.code in _codes(judged(packets, guards=False))


def _codes(judge: Judge) -> set[str]:
    return {finding.code for finding in judge.findings.all()}


TOPIC = "acks-all"


class _Strings(NodeRule):
    """Written to the contract of its base class and nothing more, as the rules below are."""

    code, name, who, nodes = "BDY900", "any-string", Who.CLIENT, ("string",)

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        if node.value == TOPIC:
            yield Violation("another", TOPIC)


class _Batches(BatchRule):
    code, name, who = "REC900", "compressed-batch", Who.CLIENT

    def check(self, batch: Batch) -> Iterator[Violation]:
        if batch.batch.codec:
            yield Violation("no codec", str(batch.batch.codec))


class _Records(RecordRule):
    code, name, who = "REC901", "record", Who.CLIENT

    def check(self, batch: Batch) -> Iterator[Violation]:
        yield Violation("no records", str(len(batch.content)))


class _Exchanges(ExchangeRule):
    code, name, who = "PAI900", "exchange", Who.CLIENT

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        yield Violation("none", str(exchange.ordinal))


def _occurrences(value: Any) -> int:
    """Return how often a body names the topic."""
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
    assert _count(judge, rule) == expected[rule.code]


def _count(judge: Judge, rule: Rule) -> int:
    return sum(found.count for found in judge.findings.all() if found.code == rule.code)


@pytest.mark.skipif(not is_compiled, reason="exchanges come in blocks from the compiled hot path alone")
@pytest.mark.parametrize("rule", NEW_RULES, ids=lambda rule: rule.code)
def test_a_new_rule_is_shown_everything_of_blocks(rule: Rule) -> None:
    path = str(CAPTURES / "kafka44_java_produce.pcapng")
    judge, one_by_one = Judge((*ALL_RULES, rule)), Judge((*ALL_RULES, rule))
    read_blocks(Dissection(path), judge.add, judge.take_block)
    for event in Dissection(path).events():
        one_by_one.add(event)
    judge.finish()
    one_by_one.finish()
    assert _count(judge, rule) == _count(one_by_one, rule) > 0


def _steady() -> ScriptedConnection:
    """Return equal exchanges."""
    talk = ScriptedConnection()
    for _ in range(3):
        talk.exchange("Metadata", 12, METADATA, CLUSTER)
    return talk


def test_ids_of_bodies_that_a_rule_never_speaks_of() -> None:
    """Of Metadata that is asked for by name, the first one is counted, behind one without topics."""

    def run(times: int, *, guards: bool = True) -> Judge:
        talk = ScriptedConnection()
        talk.exchange("Metadata", 12, {"topics": None}, {})
        for _ in range(times):
            talk.exchange("Metadata", 12, {"topics": [{"name": "a"}]}, {"topics": [{"name": "a"}]})
        return judged(talk.close(), guards=guards)

    looks = [run(times).coverage.rules["BDY019"] for times in range(4)]
    assert looks == [0, 2, 2, 2]
    for times in (0, 3):
        assert verdict_of(run(times)) == verdict_of(run(times, guards=False))


def test_a_lower_correlation_id() -> None:
    def run(guards: bool = True) -> Judge:
        talk = _steady()
        talk.ask("Metadata", 12, METADATA, id_=2)
        return judged(talk.answer("Metadata", 12, CLUSTER, 2).close(), guards=guards)

    assert {finding.code for finding in run().findings.all()} >= {"HDR009"}
    assert verdict_of(run()) == verdict_of(run(guards=False))


def test_a_first_request_with_the_id_0_is_none_of_the_unusual_ones() -> None:
    talk = ScriptedConnection(negotiate=False)
    talk.ask("Metadata", 12, METADATA, id_=0)
    packets = talk.answer("Metadata", 12, CLUSTER).close()
    (exchange,) = [event for event in events_of(packets) if isinstance(event, Exchange)]
    view = ConnectionView(exchange.connection)
    view.begin(exchange)
    assert not view.facts(exchange) & ExchangeFact.ID_NOT_HIGHEST


def test_a_condition_is_about_the_bodies_of_its_message_alone() -> None:
    """Of relations in several messages, none marks a ListOffsets for the topics of another one."""
    (rule,) = [rule for rule in ALL_RULES if rule.code == "BDY030"]
    row = {"partition_index": 0, "timestamp": -1, "offset": 7}
    asked = {"replica_id": -1, "topics": [{"name": "a", "partitions": [{"partition_index": 0}]}]}

    def marks(*rows: dict[str, Any]) -> int:
        talk = ScriptedConnection(negotiate=False)
        talk.exchange("ListOffsets", 7, asked, {"topics": [{"name": "a", "partitions": list(rows)}]})
        (exchange,) = [event for event in events_of(talk.close()) if isinstance(event, Exchange)]
        shown = Subjects([rule]).shown(exchange)
        assert shown is not None
        return shown.guards.marks(exchange)

    stray = {"partition_index": 1, "timestamp": 5, "offset": -1}
    assert not marks(row)
    assert not marks(row, {"partition_index": 1, "timestamp": 5, "offset": 9}, {**row, "offset": -1})
    assert marks(row, stray)


def test_many_in_flight() -> None:
    def run(guards: bool = True) -> Judge:
        talk = ScriptedConnection()
        produce = {"acks": 1, "timeout_ms": 1000, "topic_data": []}
        for _ in range(3):
            talk.exchange("Produce", 9, produce, {"responses": []})
        waiting = [talk.ask("Produce", 9, produce) for _ in range(7)]
        for id_ in waiting:
            talk.answer("Produce", 9, {"responses": []}, id_)
        return judged(talk.close(), guards=guards)

    assert {finding.code for finding in run().findings.all()} >= {"PAI006"}
    assert verdict_of(run()) == verdict_of(run(guards=False))


PRODUCE_VERSIONS = [2, 3, 6, 7, 9]
FETCH_VERSIONS = [3, 4, 9, 10, 11]
# Each on one side of what guards of batches ask (`judging.batch_facts`), and the codes that say so.
HEADERS: list[tuple[dict[str, int], set[str]]] = [
    ({}, set()), ({"base_offset": 1}, {"REC022"}), ({"base_offset": -1}, {"REC022"}),
    ({"last_delta": 0}, {"REC021"}), ({"last_delta": 2}, {"REC021"}),
    ({"count": 0, "last_delta": 0}, {"REC021"}),
    ({"count": -1, "last_delta": -1}, {"REC021"}), ({"crc": 1}, {"REC004"}),
    *(({"attributes": bits}, set()) for bits in (4, 5, 8, 16, 24, 32, 48, 64, 80, 128, -32768)),
    ({"attributes": 16, "producer_id": 5, "epoch": 0, "sequence": 0}, {"REC026"}),
]  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("header", "codes"), HEADERS, ids=str)
def test_headers(header: dict[str, int], codes: set[str]) -> None:
    one = batches.batch({}, {}, **header)
    scenes = [batches.produced(one, version) for version in PRODUCE_VERSIONS]
    scenes += [batches.fetched(one, version) for version in FETCH_VERSIONS]
    for scene in scenes:
        assert verdict_of(judged(scene)) == verdict_of(judged(scene, guards=False))
    assert codes <= {finding.code for finding in judged(batches.produced(one)).findings.all()}


@pytest.mark.parametrize(
    ("offsets", "asked", "code"),
    [((0, 1), 0, ""), ((0, 0), 0, "REC027"), ((5, 3), 0, "REC027"), ((0, 1), 1, "REC028"), ((9, 12), 9, "")],
)
def test_offsets_of_what_is_given(offsets: tuple[int, int], asked: int, code: str) -> None:
    data = b"".join(batches.batch(base_offset=offset) for offset in offsets)

    def run(guards: bool = True) -> Judge:
        return judged(batches.fetched(data, offset=asked), guards=guards)

    told = {finding.code for finding in run().findings.all() if finding.code.startswith("REC")}
    assert told == ({code} if code else set())
    assert verdict_of(run()) == verdict_of(run(guards=False))


@pytest.mark.parametrize("delta", [-2, -1, 0, 4])
def test_batches_without_records(delta: int) -> None:
    empty = batch_bytes(b"", 0, last_delta=delta)
    for scene in (batches.produced(empty), batches.fetched(empty)):
        assert verdict_of(judged(scene)) == verdict_of(judged(scene, guards=False))
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


ALIKE: dict[tuple[str, int], tuple[dict[str, Any], dict[str, Any]]] = {
    ("Produce", 7): (_produce(), _acknowledge()), ("Produce", 9): (_produce(), _acknowledge()),
    ("Fetch", 6): (_fetch(), _give()), ("Fetch", 11): (_fetch(), _give()),
    ("OffsetCommit", 8): (_commit(), _committed()),
    ("Heartbeat", 4): ({"group_id": "g"}, {}),
}  # fmt: skip
BEGUN = [{"producer_id": 1, "first_offset": offset} for offset in (9, 4)]
# What differs in one exchange behind those, and the code that says so.
DIFFERENT: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
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


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("api", "asked", "answered", "code"), DIFFERENT)
def test_another_exchange_behind_those_that_are_alike(
    api: str, asked: dict[str, Any], answered: dict[str, Any], code: str
) -> None:
    for (name, version), (same, back) in ALIKE.items():
        if name != api:
            continue

        def run(
            differs: bool = True,
            guards: bool = True,
            version: int = version,
            same: Any = same,
            back: Any = back,
        ) -> Judge:
            talk = ScriptedConnection()
            for _ in range(5):
                talk.exchange(api, version, same, back)
            if differs:
                talk.exchange(api, version, asked, answered)
            return judged(talk.exchange(api, version, same, back).close(), guards=guards)

        before = {finding.code for finding in run(differs=False).findings.all()}
        assert code not in before
        if version != 6 or code not in ("FET001", "FET002"):
            assert code in {finding.code for finding in run().findings.all()}
        assert verdict_of(run()) == verdict_of(run(guards=False))


@pytest.mark.parametrize(("api", "version"), ALIKE)
def test_exchanges_that_no_guard_marks_are_counted(api: str, version: int) -> None:
    def run(times: int) -> Judge:
        talk = ScriptedConnection()
        for _ in range(times):
            talk.exchange(api, version, *ALIKE[api, version])
        return judged(talk.close())

    few, many = run(3), run(10)
    assert many.coverage.exchanges == few.coverage.exchanges + 7
    assert many.coverage.apis[key_of(api), version] == 10
    assert many.coverage.traffic.latencies[key_of(api), version].count == 10
    assert sum(count for count, _ in many.coverage.traffic.times.row()) == many.coverage.exchanges


def test_a_judge_can_be_pickled_between_exchanges() -> None:
    talk = ScriptedConnection()
    for _ in range(6):
        talk.exchange("Produce", 7, _produce(), _acknowledge())
    judge, moved = Judge(), Judge()
    for event in events_of(talk.close()):
        judge.add(event)
        moved.add(event)
        moved = pickle.loads(pickle.dumps(moved))
    judge.finish()
    moved.finish()
    assert verdict_of(moved) == verdict_of(judge)
