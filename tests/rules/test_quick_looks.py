"""Quick looks leave nothing out: a judge that shows every rule everything comes to the same verdict."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.report.json import report_row
from kdissect.report.verdict import Verdict
from kdissect.rules import subjects
from kdissect.rules.body_kind import BodyKind
from kdissect.rules.body_pair import PairKey
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.exercise import Exercise
from kdissect.rules.judge import Judge
from kdissect.rules.quality import quality_of
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.rules.traffic import Traffic
from kdissect.session.exchange import Exchange
from tests.rules.dialogue import Dialogue, judged
from tests.rules.fixtures import apis, batches, histories, values, wire
from tests.rules.fixtures.wire import CLUSTER, METADATA
from tests.support.batches import batch_bytes
from tests.support.console import CAPTURES

CASES = {**wire.CASES, **values.CASES, **apis.CASES, **histories.CASES, **batches.CASES}
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

    def body_pair(self, key: PairKey, looked_at: Exercise, traffic: Traffic) -> None:
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
            patch.setattr("kdissect.rules.batches.BatchJudge._are_plain", lambda *_: False)
            patch.setattr("kdissect.rules.batches.has_usual_content", lambda *_, **__: False)
            for rule in ALL_RULES:
                patch.setattr(type(rule), "is_suspect", lambda *_: True, raising=False)
            return _verdict(run())

    return judged_by


@pytest.mark.parametrize("name", NAMES)
def test_captures(name: str, thorough: Callable[[Callable[[], Judge]], object]) -> None:
    quick = _verdict(_judge_capture(CAPTURES / name))
    assert quick == thorough(lambda: _judge_capture(CAPTURES / name))


@pytest.mark.parametrize("code", sorted(CASES))
def test_fixtures(code: str, thorough: Callable[[Callable[[], Judge]], object]) -> None:
    for make in (CASES[code].violating, CASES[code].legal):
        quick = _verdict(judged(make()))
        assert quick == thorough(lambda make=make: judged(make()))


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
