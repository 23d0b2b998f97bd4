"""`-Y` on every command that has it, and `kdissect fields`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.findings.judge_reading import TakenExchanges
from kdissect.cli.options.filter_option import EventFilter
from kdissect.query.fields.field_list import fields
from kdissect.query.fields.lookup import look_up
from kdissect.session.events import ConnectionClosed, ConnectionOpened
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL
from tests.query.exchanges import exchange
from tests.support.console import CAPTURES, TXN, run

Rows = list[dict[str, Any]]


@pytest.fixture
def rows(capfd: pytest.CaptureFixture[str]) -> Callable[..., Rows]:
    """Return a function that runs a command with JSON lines, which must succeed in silence."""

    def call(command: str, *options: str) -> Rows:
        capfd.readouterr()
        assert main([command, TXN, "--format", "jsonl", *options]) == 0
        captured = capfd.readouterr()
        assert captured.err == ""
        return [json.loads(line) for line in captured.out.splitlines()]

    return call


def test_inspect(rows: Callable[..., Rows]) -> None:
    everything = rows("inspect")
    taken = rows("inspect", "-Y", "api == Produce and latency > 250us")
    assert taken == [r for r in everything if r["api"] == "Produce" and r["latency_ns"] > 250_000]
    assert 0 < len(taken) < 8
    assert rows("inspect", "--filter", "error", "-e", "number") == [{"number": 5}, {"number": 26}]
    in_time = rows("inspect", "-Y", "time <= +100ms")
    assert in_time == rows("inspect", "--until", "+100ms")
    assert 0 < len(in_time) < len(everything)


def test_together_with_the_other_options(rows: Callable[..., Rows]) -> None:
    everything = rows("inspect")
    taken = rows("inspect", "--api", "Fetch", "-Y", "number in (60..90)", "--limit", "2")
    assert taken == [r for r in everything if r["api"] == "Fetch" and 60 <= r["number"] <= 90][:2]
    assert taken


def test_connections_keep_their_numbers(rows: Callable[..., Rows]) -> None:
    everything = rows("connections")
    taken = rows("connections", "-Y", "group")
    assert taken == [r for r in everything if r["number"] in (6, 7, 9, 13, 16)]


def test_records(rows: Callable[..., Rows]) -> None:
    everything = rows("records")
    taken = rows("records", "-Y", "api == Produce")
    assert [r["value"] for r in taken] == [r["value"] for r in everything if r["direction"] == "produce"]
    assert 0 < len(taken) < len(everything)


def test_info(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", TXN, "--format", "json", "-Y", "api == Produce"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["exchanges"] == {"total": 8, "by_state": {"complete": 8}}
    assert found["connections"]["total"] == 2
    assert found["packets"]["total"] == 345


def findings(capfd: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main(["check", TXN, "--exit-zero", "--format", "json", *options]) == 0
    found: list[dict[str, Any]] = json.loads(capfd.readouterr().out)["findings"]
    return found


def test_check(capfd: pytest.CaptureFixture[str]) -> None:
    everything = findings(capfd)
    codes = {finding["code"] for finding in everything}
    assert len(everything) >= len(codes) > 1
    code = min(codes)
    assert {finding["code"] for finding in findings(capfd, "-Y", f"has finding {code}")} == {code}
    assert findings(capfd, "-Y", "not has finding") == []
    assert findings(capfd, "-Y", "api == Produce") == []


def test_has_finding_elsewhere(rows: Callable[..., Rows], capfd: pytest.CaptureFixture[str]) -> None:
    everything = rows("inspect")
    found = rows("inspect", "-Y", "has finding FRM006")
    assert 0 < len(found) < len(everything)
    assert not [row for row in rows("inspect", "-Y", "not has finding FRM006") if row in found]
    (finding,) = (f for f in findings(capfd) if f["code"] == "FRM006")
    assert len(found) == finding["count"]


def test_has_finding_about_records(reference: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """REC004 is a wrong checksum of a batch, which the field `batch.crc_ok` finds by another way."""
    damaged = str(reference / "captures" / "dmg_tansu_rdk216_codecs_badcrc.pcap")

    def numbers(expression: str) -> list[str]:
        assert main(["inspect", damaged, "-Y", expression, "-e", "number", "--no-header"]) == 0
        return capfd.readouterr().out.splitlines()

    found = numbers("has finding REC004")
    assert 0 < len(found) < len(numbers("number > 0"))
    assert numbers("batch.crc_ok == false") == found
    assert numbers("has finding checksum") == found
    assert numbers("has finding REC004 and not has finding REC") == []


def test_findings_need_a_second_reading() -> None:
    ran = run("inspect", "-", "-Y", "has finding", stdin=Path(TXN).read_bytes())
    assert ran.code == 2
    assert "reads its inputs twice" in ran.err


def test_standard_input_otherwise_does() -> None:
    ran = run("inspect", "-", "-Y", "error", "-e", "number", "--no-header", stdin=Path(TXN).read_bytes())
    assert (ran.code, ran.out, ran.err) == (0, "5\n26\n", "")


@pytest.mark.parametrize("command", ["inspect", "info", "connections", "records", "check"])
def test_what_is_wrong_is_usage(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command, TXN, "-Y", "api == Prodce"]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(
        "column 8: no API 'Prodce'; did you mean Produce?\n  api == Prodce\n         ^^^^^^\n"
        f"for the options, run 'kdissect {command} --help'\n"
    )


def test_taken_exchanges_are_remembered_by_connection() -> None:
    taken = TakenExchanges(lambda made: made.ordinal % 2 == 1)
    for ordinal in (0, 1, 5, FIRST_ORPHAN_ORDINAL, FIRST_ORPHAN_ORDINAL + 3):
        taken.add(exchange(ordinal=ordinal))
    name = exchange().connection.id
    asked = (0, 1, 2, 5, 6, 10**6, FIRST_ORPHAN_ORDINAL, FIRST_ORPHAN_ORDINAL + 3)
    held = [ordinal for ordinal in asked if taken.holds(name, ordinal)]
    assert held == [1, 5, FIRST_ORPHAN_ORDINAL + 3]
    assert taken.holds(name, -1)
    assert not taken.holds("another", -1)
    taken.forget(name)
    assert not taken.holds(name, -1)


def test_fields_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fields"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["number", "int"]
    assert main(["fields", "response.responses.partition_responses.", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)["fields"]
    name = "response.responses.partition_responses.error_code"
    assert {"name": name, "type": "error", "unit": "", "doc": "in Produce 0+"} in found
    assert main(["fields", "nonsense"]) == 2
    assert "no field begins with 'nonsense'" in capfd.readouterr().err


def test_every_field_listed_can_be_used() -> None:
    for prefix in ("", "request.", "response."):
        for info in fields(prefix):
            source = look_up(info.name)
            assert source.kinds, info.name
            assert info.type == " or ".join(dict.fromkeys(kind.name for kind in source.kinds))
            assert info.doc
    assert len(fields("request.")) > 300


def test_completion_for_shells(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fields", "--complete", "api == Produce and lat"]) == 0
    lines = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["latency_ns", "field"], ["latency", "field"]]
    assert main(["fields", "--complete", "api == Pro", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["start"], found["end"]) == (7, 10)
    assert [candidate["text"] for candidate in found["candidates"]] == ["Produce"]
    assert main(["fields", "--complete", "nonsense == "]) == 0
    assert capfd.readouterr().out == ""


def test_connections_that_are_over_are_forgotten() -> None:
    made = exchange(ordinal=1)
    takes = EventFilter(lambda each: each.ordinal == 1)
    assert takes(ConnectionOpened(made.connection))
    assert not takes(exchange(ordinal=2))
    assert not takes(ConnectionClosed(made.connection))
    assert takes(made)
    assert takes(ConnectionClosed(made.connection))
    assert not takes(ConnectionClosed(made.connection))


def test_a_throttle_in_a_body_that_does_not_fit_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    """The mock's ApiVersions have 5 bytes left over, and 20 minutes where the throttle time would be."""
    mock = str(CAPTURES / "mock_rdk216_txn.pcap")
    assert main(["inspect", mock, "-Y", "throttle > 0", "--format", "jsonl"]) == 0
    assert capfd.readouterr().out == ""
    assert main(["inspect", mock, "-Y", "response.throttle_time_ms > 0", "--format", "jsonl"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 24  # what stands there can be asked for all the same
