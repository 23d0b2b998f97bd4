"""Groups, sessions and quotas against a broker in this process: a healthy one, and one for each fault."""

import pytest

from kdissect.conform import broker_run
from kdissect.rules.broker_statements import BROKER_STATEMENTS
from tests.conform.group_broker import FAULTS, GroupBroker
from tests.conform.small_broker import small_broker
from tests.conform.test_broker_suite import FINDINGS, codes, conform, results

_SEQUENCES = "CNF065", "CNF097"
"""The first and the last statement about these sequences."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_run, "_PATIENCE_S", 0.3)


def test_a_healthy_broker_passes_each_sequence(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("", GroupBroker) as broker:
        code, report = conform(broker.address, capfd, "--destructive")
    assert code == 0, (report["check"]["findings"], report["skipped"])
    tested = {name: result for name, result in results(report).items() if _is_about_sequences(name)}
    assert set(tested.values()) == {"passed"}, tested


def _is_about_sequences(code: str) -> bool:
    return _SEQUENCES[0] <= code <= _SEQUENCES[1]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_breaks_its_statement(fault: str, capfd: pytest.CaptureFixture[str]) -> None:
    statement, api = FAULTS[fault]
    with small_broker(fault, GroupBroker) as broker:
        code, report = conform(broker.address, capfd, "--destructive", "--api", api)
    failed = {name for name, result in results(report).items() if result == "failed"}
    assert statement in failed, (report["skipped"], failed)
    is_must = next(row["level"] for row in report["statements"] if row["code"] == statement) == "must"
    assert (code == FINDINGS, statement in codes(report)) == (is_must, is_must)


def test_each_statement_has_a_fault() -> None:
    stated = {one.code for one in BROKER_STATEMENTS if _is_about_sequences(one.code)}
    assert {code for code, _ in FAULTS.values()} == stated


def test_a_quota_is_set_only_if_the_user_allows_it(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("", GroupBroker) as broker:
        _, report = conform(broker.address, capfd, "--api", "AlterClientQuotas")
    assert results(report)["CNF065"] == "not tested"
    assert "--destructive" in str(report["skipped"])


def test_acls_are_not_tested_without_an_authorizer(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("no authorizer", GroupBroker) as broker:
        _, report = conform(broker.address, capfd, "--destructive", "--api", "CreateAcls")
    assert results(report)["CNF066"] == "not tested"
    assert "SECURITY_DISABLED" in str(report["skipped"])
