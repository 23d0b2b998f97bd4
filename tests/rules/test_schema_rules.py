"""Rules about keys and values by the user's schemas: only `check --schemas` applies them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="needs the extra schemas")
pytest.importorskip("jsonschema", reason="needs the extra schemas")

from kdissect.cli import main
from kdissect.cli.diagnostics import FINDINGS, USAGE
from kdissect.engine.records.value_faults import ValueFaults
from kdissect.rules.kinds import SchemaRule
from kdissect.rules.registry import ALL_RULES, EVERY_RULE
from kdissect.schema.citations import is_place
from kdissect.session.exchange import Exchange
from tests.support.messages.valued_topics import CUT, FITS, SCHEMA, Valued, capture, poisoned, registry

RULES = [rule for rule in EVERY_RULE if isinstance(rule, SchemaRule)]
Findings = list[dict[str, Any]]


def checked(capfd: pytest.CaptureFixture[str], path: str, *words: str, code: int | None = None) -> Findings:
    """Return the findings of rules about schemas."""
    found = main(["check", path, "--format", "json", *words])
    assert code is None or found == code
    report = json.loads(capfd.readouterr().out)
    return [one for one in report["findings"] if one["code"].startswith("SCH")]


def of_writer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *values: bytes, others: list[dict[str, object]]
) -> Findings:
    path = capture(tmp_path / "a.pcap", Valued("shop").write(0, values))
    return checked(capfd, path, "--schemas", registry(tmp_path, *others))


def test_they_need_schemas_and_have_sources() -> None:
    assert RULES and not set(RULES) & set(ALL_RULES)
    assert all(rule.cites and all(map(is_place, rule.cites)) for rule in RULES)


def test_a_pill_is_reported_with_producer_offset_and_readers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = poisoned(tmp_path, before=120)
    (found,) = checked(capfd, path, "--schemas", registry(tmp_path), code=FINDINGS)
    assert (found["code"], found["severity"], found["count"]) == ("SCH001", "error", 1)
    assert found["who"]["client_id"] == "shop"
    assert found["seen"] == (
        "orders-0 offset 120: the value ends before its schema does; written by 'shop' (10.0.0.1:40000)"
    )
    assert found["consequence"] == (
        "read by 'audit' (10.0.0.1:40003); read by 'billing' (10.0.0.1:40001), 'billing' (10.0.0.1:40002), "
        "which never fetched from a later offset"
    )
    assert found["where"]["api"] == "Produce"
    assert checked(capfd, path) == []


def test_without_later_records_nobody_stopped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = poisoned(tmp_path, before=60, after=0)
    (found,) = checked(capfd, path, "--schemas", registry(tmp_path))
    assert "never fetched" not in found["consequence"]


def test_a_reader_of_the_rest_of_the_batch_did_not_stop(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It received the records after the pill with it."""
    path = capture(tmp_path / "a.pcap", Valued("billing").read(0, [FITS, CUT, FITS]))
    (found,) = checked(capfd, path, "--schemas", registry(tmp_path))
    assert found["consequence"] == "read by 'billing' (10.0.0.1:40000)"


def test_a_reader_that_skips_a_pill_did_not_stop(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A broker sends the whole batch again, from which the reader drops what it skipped (KIP-334)."""
    batch, other = [FITS, CUT, FITS], Valued("audit", 40001, begins=9).read(3, [FITS])
    billing = Valued("billing").read(0, batch).read(0, batch, after=2)
    path = capture(tmp_path / "a.pcap", billing, other)
    assert main(["why", path, "--schemas", registry(tmp_path), "--json"]) == 0
    (cause,) = json.loads(capfd.readouterr().out)["causes"]
    assert cause["severity"] == "data"
    assert "never" not in cause["sentence"]


def test_an_id_of_another_registry_is_no_pill(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = {"id": 7, "subject": "users-value", "version": 1, "schema": json.dumps(SCHEMA)}
    foreign = b"\0\0\0\0\7\2"
    assert of_writer(tmp_path, capfd, foreign, others=[other]) == []
    fits = b"\0\0\0\0\7\2\2a"
    for values in ((fits, foreign), (foreign, fits)):
        found = of_writer(tmp_path, capfd, *values, others=[other])
        assert [one["code"] for one in found] == ["SCH001"]
    by_chance = [foreign, foreign, fits, foreign]
    assert of_writer(tmp_path, capfd, *by_chance, others=[other]) == []


def test_an_id_that_the_registry_lacks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = of_writer(tmp_path, capfd, FITS, b"\0\0\0\0\11\2", b"\0\0\0\0\11\2", others=[])
    assert (found["code"], found["severity"], found["count"]) == ("SCH002", "warning", 2)
    assert found["seen"] == "id 9; written by 'shop' (10.0.0.1:40000)"
    assert of_writer(tmp_path, capfd, b"\0\0\0\0\11\2", others=[]) == [], "any bytes may begin so"


def test_two_subjects(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = {"id": 2, "subject": "users-value", "version": 3, "schema": '"long"'}
    (found,) = of_writer(tmp_path, capfd, FITS, b"\0\0\0\0\2\2", others=[other])
    assert (found["code"], found["severity"]) == ("SCH003", "info")
    assert found["expected"] == "values of orders with schemas of the subject of orders-value v1"
    assert found["seen"].startswith("users-value v3; ")


def test_a_value_without_a_schema(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = of_writer(tmp_path, capfd, FITS, b"text", b"text", others=[])
    assert (found["code"], found["severity"], found["count"]) == ("SCH004", "warning", 2)
    assert of_writer(tmp_path, capfd, b"text", others=[]) == []


def test_bytes_that_begin_as_an_id_prove_no_schema(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Numbers of four bytes, of a topic without schemas: the registry has such ids."""
    other = {"id": 2, "subject": "users-value", "version": 3, "schema": json.dumps(SCHEMA)}
    numbers = b"\0\0\0\0\1\0\0\0\1\0", b"\0\0\0\0\2\0\0\0\1\0", b"\1\0\0\0\2\0"
    path = capture(tmp_path / "a.pcap", Valued("shop").write(0, numbers, topic="numbers"))
    assert checked(capfd, path, "--schemas", registry(tmp_path, other)) == []


def test_an_incompatible_change(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "state", "type": "string"}]
    text = json.dumps({"type": "record", "name": "Order", "fields": fields})
    other = {"id": 2, "subject": "orders-value", "version": 2, "schema": text}
    (found,) = of_writer(tmp_path, capfd, FITS, b"\0\0\0\0\2\2\2a", others=[other])
    assert found["code"] == "SCH005"
    assert found["expected"] == "values of orders that a reader with orders-value v2 can read"
    assert found["seen"].startswith(
        "orders-value v1: field 'state' is missing, and has no default; written by 'shop'"
    )


def test_a_change_that_backward_compatibility_allows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fields = [{"name": "id", "type": "double"}, {"name": "state", "type": "string", "default": ""}]
    text = json.dumps({"type": "record", "name": "Order", "fields": fields})
    other = {"id": 2, "subject": "orders-value", "version": 2, "schema": text}
    assert of_writer(tmp_path, capfd, FITS, b"\0\0\0\0\2" + bytes(9), others=[other]) == []


def test_a_pill_whose_producer_was_not_captured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path / "a.pcap", Valued("billing").read(5, [FITS, CUT]))
    (found,) = checked(capfd, path, "--schemas", registry(tmp_path))
    assert found["who"]["role"] == "broker"
    assert found["seen"] == "orders-0 offset 6: the value ends before its schema does"
    assert found["consequence"] == "read by 'billing' (10.0.0.1:40000)"
    assert checked(capfd, path, "--schemas", registry(tmp_path), "--judge", "client") == []


def test_selecting_them_without_schemas_is_a_usage_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = capture(tmp_path / "a.pcap", Valued("shop").write(0, [FITS]))
    assert main(["check", path, "--select", "SCH001"]) == USAGE
    assert "SCH001: these rules need --schemas" in capfd.readouterr().err


def test_evidence_shows_a_pill_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, schemas, folder = poisoned(tmp_path, before=60), registry(tmp_path), tmp_path / "e"
    checked(capfd, path, "--schemas", schemas, "--evidence", str(folder))
    (excerpt,) = folder.glob("SCH001-*.pcapng")
    (found,) = checked(capfd, str(excerpt), "--schemas", schemas)
    assert "orders-0 offset 60" in found["seen"]


def test_a_filter_hides_no_evidence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The reader goes on in an exchange that the filter leaves out, and its producer is in another one."""
    batch, rest = [FITS, CUT], [FITS] * 3
    billing = Valued("billing").read(0, batch).read(2, rest)
    path = capture(tmp_path / "a.pcap", Valued("shop", 40001, begins=0).write(0, batch + rest), billing)
    words = ["why", path, "--schemas", registry(tmp_path), "--json", "-Y"]
    assert main([*words, "client_id == billing and time < +0.05s"]) == 0
    (cause,) = json.loads(capfd.readouterr().out)["causes"]
    assert "never" not in cause["sentence"] and "Client 'shop'" in cause["sentence"]
    assert main([*words, "client_id == other"]) == 0
    assert json.loads(capfd.readouterr().out)["causes"] == []


def test_values_are_read_once_for_rules_and_causes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    add = ValueFaults.add

    def note(values: ValueFaults, exchange: Exchange) -> None:
        read.append((values, exchange.connection.id, exchange.ordinal))
        add(values, exchange)

    monkeypatch.setattr(ValueFaults, "add", note)
    page = tmp_path / "a.html"
    path = poisoned(tmp_path, before=60)
    checked(capfd, path, "--schemas", registry(tmp_path), "--report", f"html={page}", code=FINDINGS)
    assert read and len(set(read)) == len(read)
    assert "A record does not fit its schema" in page.read_text()


def test_why_says_who_wrote_a_pill_and_who_stopped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = poisoned(tmp_path, before=120)
    assert main(["why", path, "--schemas", registry(tmp_path), "--json"]) == 0
    (cause,) = json.loads(capfd.readouterr().out)["causes"]
    assert (cause["id"], cause["severity"], cause["certainty"]) == ("poison-pill", "stops", "sure")
    assert cause["sentence"] == (
        "The value of orders-0 offset 120 does not fit orders-value v1: the value ends before its schema "
        "does. Client 'shop' at 10.0.0.1 wrote it. Client 'billing' at 10.0.0.1 received it, and never "
        "fetched from a later offset. Client 'audit' at 10.0.0.1 received it."
    )
    assert main(["why", path, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["causes"] == []


def test_the_place_is_the_write_also_if_a_reader_was_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    talks = Valued("billing", 40001).read(0, [CUT]), Valued("shop", 40002, begins=5).write(0, [CUT])
    (found,) = checked(capfd, capture(tmp_path / "a.pcap", *talks), "--schemas", registry(tmp_path))
    assert (found["where"]["api"], found["who"]["client_id"]) == ("Produce", "shop")


def test_without_schemas_nothing_that_reads_values_is_imported() -> None:
    """Start-up: few runs of `check` and `why` have `--schemas`."""
    script = "import sys; from kdissect.cli.findings import check_command, why_command; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert not [name for name in loaded.split() if name.startswith("kdissect.serdes")]


def test_reports_from_tables_have_the_rules(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    path, schemas, report = poisoned(tmp_path, before=4), registry(tmp_path), tmp_path / "report.json"
    words = [
        "tables",
        path,
        "--tables",
        "findings",
        "-o",
        str(tmp_path / "out"),
        "--report",
        f"json={report}",
    ]
    assert main([*words, "--schemas", schemas]) == 0
    capfd.readouterr()
    (found,) = (one for one in json.loads(report.read_text())["findings"] if one["code"].startswith("SCH"))
    (checked_one,) = checked(capfd, path, "--schemas", schemas, code=FINDINGS)
    assert found == checked_one
    assert main([*words, "--overwrite"]) == 0
    assert "SCH" not in report.read_text()
