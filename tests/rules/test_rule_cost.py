"""What `kdissect rules --cost` tells: who was shown how much. Times are told, and not looked at here."""

from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule_cost import cost_text, costs_of
from tests.rules.fixtures.wire import CLUSTER, METADATA
from tests.rules.scripted_connection import ScriptedConnection, events_of
from tests.support.console import CAPTURES


def test_a_rule_is_shown_what_its_guard_marks() -> None:
    talk = ScriptedConnection()
    for _ in range(9):
        talk.exchange("Heartbeat", 4, {"group_id": "g"}, {})
    talk.exchange("Heartbeat", 4, {"group_id": ""}, {})
    talk.exchange("Metadata", 12, METADATA, CLUSTER)
    costs = costs_of(ALL_RULES)
    judge = Judge([cost.measured() for cost in costs])
    for event in events_of(talk.close()):
        judge.add(event)
    judge.finish()
    by_code = {cost.rule.code: cost for cost in costs}
    assert (by_code["GRP001"].exchanges, by_code["GRP001"].calls) == (1, 1)
    assert (by_code["MET002"].exchanges, by_code["MET002"].is_open) == (1, True)
    assert by_code["BDY013"].calls == 0
    assert {finding.code for finding in judge.findings.all()} >= {"GRP001"}
    shown = cost_text(costs, judge.coverage.exchanges, 1)
    (line,) = [line for line in shown.splitlines() if line.startswith("GRP001")]
    assert line.split()[1] == "1"
    assert line.endswith("yes")
    assert "BDY013" not in shown


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "cost.txt"
    assert main(["rules", "--cost", str(CAPTURES / "tansu_rdk216_txn.pcap"), "-o", str(path)]) == 0
    lines = path.read_text().splitlines()
    assert lines[0].startswith("rule ")
    assert any(line.startswith("MET002") and line.endswith("none") for line in lines)
    assert lines[-1].startswith("Asked nothing: ")
    assert main(["rules", "--cost", str(tmp_path / "missing.pcap")]) == 3
    assert main(["rules", "BDY001", "--cost", "x"]) == 2
    assert "--cost is of all rules" in capsys.readouterr().err
