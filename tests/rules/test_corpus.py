"""Recordings: what Apache Kafka and its Java clients send is never malformed or refused.

Other software has the faults that were looked at, and no others.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.finding import Claim, Severity
from kdissect.rules.findings import who_of
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Once
from tests.support.console import CAPTURES
from tests.support.verdicts import verdict_of

# What was looked at byte by byte: docs/found-in-the-wild.md.
WILD = {
    "tansu_rdk216_acks.pcap": {"FRM006", "PAI004", "PAI009"},
    "tansu_rdk216_kip848.pcap": {"PAI009"},
    "tansu_rdk216_share.pcap": {"PAI009"},
    "tansu_kp202_admin.pcap": {"BDY001"},
    "tansu_rdk216_txn.pcap": {"FRM006", "PAI009"},
    "mock_rdk216_txn.pcap": {"FRM006", "REC004", "VER004"},
    "tansu_kp3_groups.pcap": {"PAI009"},
    "kafka28zk_franz_early.pcapng": set(),
    "kafka28zk_franz_middle.pcapng": set(),
    "kafka28zk_franz_late.pcapng": set(),
    "kafka39_franz_raw.pcapng": {"TXN003"},
    "kafka39zk_franz_raw.pcapng": {"TXN003"},
    "kafka44_franz_raw.pcapng": {"TXN003"},
    "kafka44_hanging_raw.pcapng": {"TXN004"},
    "kafka44_missteps_raw.pcapng": {"FET012", "FET013", "PRD004"},
    "kafka44_connect_plain.pcapng": {"CON001", "CON005", "SAS013"},
    "kafka44_connect_tls.pcapng": {"CON002"},
    "kafka44_java_refused.pcapng": {"SAS013"},
    "kafka44_kafkajs_admin.pcapng": set(),
    "kafka44_rdkafka_admin.pcapng": {"FRM006"},
    "kafka44_segmentio_admin.pcapng": {"FRM006"},
    "kafka44_segmentio_groups.pcapng": {"GRP009"},
}
NAMES = sorted(path.name for path in CAPTURES.glob("*.pcap*"))
# Its bytes were changed inside of batches; one change hit the log start of a partition that has none.
TRUE_OF_DAMAGE = {"badcrc": {"REC004", "BDY028"}}
DAMAGES = ("bigendian", "cutfile", "dup", "loss1", "reorder", "seqwrap", "vlan", "badcrc")


def judged(path: Path, *, guards: bool = True) -> Judge:
    judge = Judge(guards=guards)
    for event in Dissection(path).events():
        judge.add(event)
    judge.finish()
    return judge


@cache
def codes(path: Path) -> set[str]:
    return {finding.code for finding in judged(path).findings.all()}


@pytest.fixture(scope="module", params=NAMES)
def recording(request: pytest.FixtureRequest) -> tuple[str, Judge]:
    """Return a capture and its judge, for all tests of the capture: judging takes most of their time."""
    return request.param, judged(CAPTURES / request.param)


OWN = ("_java_", "_scala_", "_quorum", "_snapshot", "_zookeeper_")  # Apache Kafka speaks to itself
HEALTHY = sorted(path.name for path in CAPTURES.glob("*.pcapng*") if any(part in path.name for part in OWN))
# What is above information was provoked by what the capture is a recording of (`story` in its truth).
PROVOKED = {
    "kafka28_java_admin.pcapng": {"SAS001"},  # clients that log in with PLAIN, without TLS
    "kafka28_java_generations_early.pcapng": {"SAS001"},
    "kafka28_java_generations_late.pcapng.gz": {"SAS001"},
    "kafka39_java_admin.pcapng": {"SAS001"},
    "kafka44_java_admin.pcapng": {"SAS001"},
    "kafka44_java_errors.pcapng": {"SAS001"},
    "kafka44_java_generations.pcapng.gz": {"SAS001"},
    "kafka44_java_refused.pcapng": {"SAS013"},  # a mechanism that the listener does not have
    "kafka44_java_sasl.pcapng": {"SAS001"},
}


@pytest.mark.sampled(32)
def test_faults_are_those_known(recording: tuple[str, Judge]) -> None:
    """Of healthy traffic there is besides nothing above information but what was provoked."""
    name, judge = recording
    found = judge.findings.all()
    assert {one.code for one in found if one.claim is not Claim.DIFFERS} == WILD.get(name, set())
    if name in HEALTHY:
        loud = {one.code for one in found if one.severity is not Severity.INFO}
        assert loud == PROVOKED.get(name, set())
        lines = Counter((one.code, who_of(one.party, Once.SOFTWARE)) for one in found)
        assert max(lines.values(), default=1) == 1, "one line for each code and software, or broker"


@pytest.mark.sampled(32)
def test_guards_leave_nothing_out(recording: tuple[str, Judge]) -> None:
    """A judge that shows every rule everything comes to the same verdict."""
    name, judge = recording
    assert verdict_of(judge) == verdict_of(judged(CAPTURES / name, guards=False))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_adds_nothing(reference: Path, damage: str) -> None:
    captures = reference / "captures"
    whole = codes(captures / "tansu_rdk216_codecs.pcap")
    damaged = codes(captures / f"dmg_tansu_rdk216_codecs_{damage}.pcap")
    assert damaged <= whole | TRUE_OF_DAMAGE.get(damage, set())


def test_each_wrong_checksum_is_named(reference: Path) -> None:
    path = reference / "captures" / "dmg_tansu_rdk216_codecs_badcrc.pcap"
    truth = json.loads((reference / "captures" / "MANIFEST.json").read_text())[path.name]
    found = [finding for finding in judged(path).findings.all() if finding.code.startswith("REC")]
    assert {finding.code for finding in found} == {"REC004"}
    assert sum(finding.count for finding in found) == truth["bad_crc"] == 17
