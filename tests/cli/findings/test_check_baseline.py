"""`--baseline` and `--write-baseline`: known findings fail nothing, new ones do, fixed ones are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.model.finding import Finding
from kdissect.rules.fingerprint import fingerprint, shape
from tests.rules.scripted_connection import ScriptedConnection, findings
from tests.support.console import CAPTURES
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")  # FRM006, PAI004, PAI009, BDY012
TXN = str(CAPTURES / "tansu_rdk216_txn.pcap")  # FRM006 as well, of the same software
ADMIN = str(CAPTURES / "tansu_kp202_admin.pcap")  # others
JAVA = str(CAPTURES / "kafka39_java_admin.pcapng")  # none; Metadata v12, and nothing of the others


@pytest.fixture
def recorded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    """Return a baseline of one capture."""
    path = tmp_path / "known.json"
    assert main(["check", ACKS, "--write-baseline", str(path)]) == 0
    assert capfd.readouterr().err == f"kdissect: 4 findings recorded in {path}\n"
    return path


def row_of(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capfd.readouterr()
    main(["check", *arguments, "--format", "json"])
    row: dict[str, Any] = json.loads(capfd.readouterr().out)
    return row


def test_what_is_known_does_not_fail(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ACKS]) == 1
    assert main(["check", ACKS, "--baseline", str(recorded)]) == 0
    out = capfd.readouterr().out
    assert "FRM006 trailing-bytes  error, must, malformed, known\n" in out
    assert f"baseline {recorded}: 4 known, 0 new, 0 fixed\n" in out


@pytest.mark.parametrize(("version", "code"), [(0, 2), (1, 0), (2, 2)])
def test_files_have_a_version(
    version: int, code: int, recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads(recorded.read_text())
    recorded.write_text(json.dumps(rows | {"baseline_version": version}))
    assert main(["check", ACKS, "--baseline", str(recorded)]) == code
    assert ("no baseline of version 1" in capfd.readouterr().err) is (code == 2)


def test_the_same_fault_in_another_capture_is_known(
    recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    row = row_of(capfd, TXN, "--baseline", str(recorded))
    assert {finding["code"]: finding["known"] for finding in row["findings"]}["FRM006"]


def test_what_is_new_fails(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ACKS, ADMIN, "--baseline", str(recorded)]) == 1
    row = row_of(capfd, ACKS, ADMIN, "--baseline", str(recorded))
    new = {finding["code"] for finding in row["findings"] if not finding["known"]}
    assert "BDY001" in new
    assert "FRM006" not in new


def test_what_is_gone_is_told(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    row = row_of(capfd, JAVA, "--baseline", str(recorded))
    assert [item["code"] for item in row["baseline"]["fixed"]] == ["FRM006", "PAI009"]
    assert {item["code"] for item in row["baseline"]["not_judged"]} == {"PAI004", "BDY012"}
    main(["check", JAVA, "--baseline", str(recorded)])
    where = "client confluent-kafka-python, Metadata v12 request, # bytes left over"
    assert f"  fixed: FRM006 trailing-bytes, {where}\n" in capfd.readouterr().out


def test_what_did_not_run_is_not_called_fixed(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    row = row_of(capfd, JAVA, "--baseline", str(recorded), "--ignore", "FRM006,PAI009")
    assert row["baseline"]["fixed"] == []
    assert "FRM006" in {item["code"] for item in row["baseline"]["not_judged"]}


def test_a_suppressed_finding_is_not_called_fixed(
    recorded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "kdissect.toml"
    config.write_text("[[suppress]]\nrule = 'FRM006'\nreason = 'x'\n")
    row = row_of(capfd, ACKS, "--baseline", str(recorded), "--config", str(config))
    assert row["baseline"]["fixed"] == []


def test_the_file_is_the_same_for_the_same_faults(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = recorded.read_text()
    assert main(["check", ACKS, "--baseline", str(recorded), "--write-baseline", str(recorded)]) == 0
    assert recorded.read_text() == before
    assert "127.0.0.1" not in before
    assert list(recorded.parent.iterdir()) == [recorded]  # nothing left beside it


def test_a_baseline_that_is_about_to_be_made(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config, known = tmp_path / "kdissect.toml", tmp_path / "known.json"
    config.write_text("baseline = 'known.json'\n")
    assert main(["check", ACKS, "--config", str(config)]) == 2
    assert main(["check", ACKS, "--config", str(config), "--write-baseline", str(known)]) == 0
    assert main(["check", ACKS, "--config", str(config)]) == 0


def test_a_baseline_in_the_configuration(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = recorded.parent / "kdissect.toml"
    config.write_text("baseline = 'known.json'\n")  # beside the file, wherever the run is
    assert main(["check", ACKS, "--config", str(config)]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n}}", "known.json:2: Extra data"),
        ("[]", "known.json: no baseline of version 1"),
        ('{"baseline_version": 2}', "known.json: no baseline of version 1"),
        ('{"baseline_version": 1}', "known.json: a finding needs fingerprint, code and name"),
        ('{"baseline_version": 1, "findings": [{"code": "X"}]}', "known.json: a finding needs"),
        (None, "known.json: No such file or directory; --write-baseline known.json makes it"),
    ],
)
def test_files_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("known.json").write_text(text)
    assert main(["check", ACKS, "--baseline", "known.json"]) == 2
    assert capfd.readouterr().err.startswith(f"kdissect: {message}")


def test_a_baseline_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ACKS, "--write-baseline", str(tmp_path / "none" / "known.json")]) == 3


def talk(**where: Any) -> ScriptedConnection:
    """Return a conversation from anywhere at any time."""
    conversation = ScriptedConnection(negotiate=False, handshake=False)
    conversation.talk = Conversation(**where).handshake()
    return conversation


def finding(conversation: ScriptedConnection, acks: int = 7, topics: int = 0, version: int = 9) -> Finding:
    data = [{"name": f"t-{index}", "partition_data": []} for index in range(topics)]
    conversation.ask("Produce", version, {"acks": acks, "timeout_ms": 1, "topic_data": data})
    found = findings(conversation.answer("Produce", version, {"responses": []}).close())
    (only,) = [each for each in found if each.code == "PRD001"]
    return only


def test_a_fingerprint_does_not_depend_on_where_and_when() -> None:
    there = talk(client="10.9.9.9", ports=(50000, 19092), start_ns=10**18)
    assert fingerprint(finding(talk())) == fingerprint(finding(there))
    assert fingerprint(finding(talk())) == fingerprint(finding(talk(), acks=8, topics=3))


def test_a_fingerprint_depends_on_what() -> None:
    first = fingerprint(finding(talk()))
    assert fingerprint(finding(talk(), version=8)) != first
    other = finding(talk())
    other.seen = "something else"
    assert fingerprint(other) != first
    other = finding(talk())
    other.party = other.party._replace(software="librdkafka")
    assert fingerprint(other) != first
    other.party = other.party._replace(version="2.0", address="1.2.3.4:5", client_id="me")
    assert fingerprint(other) == fingerprint(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 bytes left over", "# bytes left over"),
        ("'orders-7f3a' accepted", "'' accepted"),
        ("10, 4", "#"),
        ("1 missing: a-0, a-1, a-2", "# missing: #"),
        ("consumer, sticky", "consumer, sticky"),
        ("Produce v2, gone in 4.0; fin after 1.0 ms", "Produce #, gone in #; fin after # ms"),
        ("-1 partitions", "# partitions"),
    ],
)
def test_shapes(text: str, expected: str) -> None:
    assert shape(text) == expected


def test_nothing_to_judge_makes_an_empty_baseline(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    quiet = write_pcap(tmp_path / "empty.pcap", Conversation().handshake().packets)
    assert main(["check", quiet, "--write-baseline", str(tmp_path / "b.json")]) == 0
    assert json.loads((tmp_path / "b.json").read_text())["findings"] == []
