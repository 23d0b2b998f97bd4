"""Evidence: each finding's packets, judged again, give the finding again."""

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.finding import Finding
from kdissect.report.evidence import Evidence, collect_evidence
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from tests.report.exchange_packets import packets_of
from tests.rules.test_rules import CASES
from tests.support.console import CAPTURES
from tests.support.pcaps import write_pcap

# Findings of fixtures that their evidence does not show again, with the reason.
UNSHOWN: dict[str, str] = {
    "REC041": "records of the metadata log may hold secrets, and what does not decode is overwritten whole"
}


def judged(path: str) -> list[Finding]:
    judge = Judge()
    for event in Dissection(path).events():
        judge.add(event)
    judge.finish()
    return judge.findings.all()


def evidence_of(path: str) -> list[Evidence]:
    return collect_evidence(judged(path), lambda: Dissection(path), Judge)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_evidence_shows_its_finding_again(rule: Rule, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "capture.pcap", packets_of(CASES[rule.code].violating()))
    own = [finding for finding in judged(path) if finding.code == rule.code]
    assert own
    made = collect_evidence(own[:1], lambda: Dissection(path), Judge)
    assert [evidence.shows_again for evidence in made] == [rule.code not in UNSHOWN]


@pytest.mark.parametrize(
    "name", ["tansu_rdk216_acks.pcap", "tansu_kp202_admin.pcap", "mock_rdk216_txn.pcap",
             "kafka44_rdkafka_admin.pcapng", "kafka44_kafkajs_produce.pcapng", "kafka44_java_sasl.pcapng"],
)  # fmt: skip
def test_recordings(name: str) -> None:
    made = evidence_of(str(CAPTURES / name))
    assert len(made) == len(judged(str(CAPTURES / name)))
    assert all(evidence.shows_again for evidence in made)
    packets = sum(1 for _ in Dissection(CAPTURES / name).captures.packets())
    assert all(len(evidence.packets) < packets / 3 for evidence in made)


@pytest.mark.parametrize(
    "name",
    [
        "dmg_tansu_rdk216_codecs_bigendian.pcap", "dmg_tansu_rdk216_codecs_cutfile.pcap",
        "dmg_tansu_rdk216_codecs_dup.pcap", "dmg_tansu_rdk216_codecs_loss1.pcap",
        "dmg_tansu_rdk216_codecs_reorder.pcap", "dmg_tansu_rdk216_codecs_seqwrap.pcap",
        "dmg_tansu_rdk216_codecs_vlan.pcap", "tansu_rdk216_any_sll.pcap", "tansu_rdk216_midstream.pcap",
        "tansu_rdk216_mss_codecs.pcap", "tansu_rdk216_pipeline.pcap",
    ],
)  # fmt: skip
def test_other_and_damaged_recordings(reference: Path, name: str) -> None:
    path = str(reference / "captures" / name)
    assert all(evidence.shows_again for evidence in evidence_of(path))


def test_frames_that_are_not_found_among_the_bytes_give_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with TLS: the packets of the connection are there, what the finding is about is not."""
    monkeypatch.setattr("kdissect.excerpt.plan.MARK_BYTES", 0)
    monkeypatch.setattr("kdissect.excerpt.cutter._find", lambda payload, mark, at: -1)
    assert evidence_of(str(CAPTURES / "tansu_kp3_groups.pcap")) == []
