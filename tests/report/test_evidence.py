"""Evidence: each finding's packets, judged again, give the finding again."""

import struct
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.finding import Finding
from kdissect.model.packets.packet import Packet
from kdissect.report.evidence_files import Evidence, collect_evidence, file_comment
from kdissect.rules.headers import correlation_ids
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.rules.views import connection_view
from kdissect.session.events import ConnectionClosed
from tests.report.exchange_packets import packets_of
from tests.rules.test_rules import CASES
from tests.support.console import CAPTURES
from tests.support.packets.pcaps import write_pcap

# Findings of fixtures that their evidence does not show again, with the reason.
_OTHERS = "that its end speaks Kafka is known from other connections"
UNSHOWN: dict[str, str] = {
    **dict.fromkeys((f"CON00{number}" for number in range(1, 7)), _OTHERS),
    "REC041": "records of the metadata log may hold secrets, and what does not decode is overwritten whole",
}


def judged(path: str, key_logs: tuple[str, ...] = ()) -> list[Finding]:
    judge = Judge()
    for event in Dissection(path, key_logs=key_logs).events():
        judge.add(event)
    judge.finish()
    return judge.findings.all()


def evidence_of(path: str) -> list[Evidence]:
    return collect_evidence(judged(path), lambda: Dissection(path), Judge)


@pytest.mark.sampled(12)
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


def ports_of(packet: Packet) -> set[int]:
    """Of TCP in IPv4 in Ethernet, as the recorder wrote it."""
    return set(struct.unpack_from(">HH", packet.data, 34))


@pytest.mark.parametrize("name", ["kafka44_java_tls12", "kafka44_java_tls13"])
def test_what_was_tls_is_plaintext_and_shows_again_without_its_key_log(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (correlation_ids, connection_view):  # the order of ids of this client is a finding then
        monkeypatch.setattr(module, "NUMBER_EARLY", frozenset())
    capture, keys = CAPTURES / f"{name}.pcapng", (str(CAPTURES / f"{name}.keys"),)
    brokers = {
        event.connection.broker.port
        for event in Dissection(capture, key_logs=keys).events()
        if isinstance(event, ConnectionClosed) and event.connection.tls is not None
    }
    packets = Dissection(capture).captures.packets()
    path = write_pcap(tmp_path / "leg.pcap", [each for each in packets if brokers & ports_of(each)])
    assert judged(path) == []
    findings = judged(path, keys)
    assert findings
    made = collect_evidence(findings, lambda: Dissection(path, key_logs=keys), Judge)
    assert len(made) == len(findings)
    assert all(evidence.shows_again for evidence in made)
    assert all("written as plaintext" in file_comment(evidence, [path], False) for evidence in made)


def test_frames_that_are_not_found_among_the_bytes_give_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packets of the connection are there, what the finding is about is not."""
    monkeypatch.setattr("kdissect.excerpt.frame_plans.MARK_BYTES", 0)
    monkeypatch.setattr("kdissect.excerpt.cutter._find", lambda payload, mark, at: -1)
    assert evidence_of(str(CAPTURES / "tansu_kp3_groups.pcap")) == []
