"""What a filter can ask for, a column can show, by the same name."""

import json
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli.formats.named_fields import columns_of
from kdissect.cli.options.output_options import OF_EXCHANGES
from kdissect.engine.listed_rows import LISTED_FIELDS, ListedRows
from kdissect.query import Context, compile_filter
from kdissect.query.fields.field_list import fields
from kdissect.query.fields.lookup import look_up
from kdissect.query.fields.printed_fields import FieldValues
from kdissect.query.fields.record_sources import RECORD_FILTER_FIELDS
from kdissect.query.values.value_kinds import Flag
from tests.support.console import CAPTURES, TXN, run

SASL = str(CAPTURES / "kafka44_java_sasl.pcapng")
GROUPS = str(CAPTURES / "tansu_kp3_groups.pcap")
# Fields of records are no columns of exchanges.
NAMES = [info.name for info in fields() if info.name not in {field.name for field in RECORD_FILTER_FIELDS}]


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """Return what a command prints as JSON lines."""
    assert main([*arguments, "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize("path", [SASL, GROUPS, TXN])
def test_a_column_shows_something_where_the_filter_says_there_is(path: str) -> None:
    columns = columns_of(NAMES, LISTED_FIELDS, OF_EXCHANGES)
    dissection = Dissection(path)
    context = Context(topics_of=dissection.topics.topics_of, file_names=dissection.file_names)
    rows = ListedRows(dissection.file_names, bodies=True, topics_of=dissection.topics.topics_of)
    made = FieldValues([column.name for column in columns if column.is_made], context)
    tests = {name: compile_filter(name).bind(context) for name in NAMES}
    flags = {name for name in NAMES if any(isinstance(kind, Flag) for kind in look_up(name).kinds)}
    shown = set()
    for exchange in dissection:
        row = rows.row(exchange) | made(exchange)
        for column in columns:
            value, takes = column.value(row), tests[column.name](exchange)
            if column.name in flags:
                assert any(value) is takes, column.name
            elif not column.name.startswith("anomal"):  # bodies are decoded here: that adds some
                assert (value is not None and value != []) is takes, (column.name, value)
            shown |= {column.name} if takes else set()
    assert {"api", "group" if path == GROUPS else "throttle", "host", "time"} <= shown


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("version", "api_version"),
        ("latency", "latency_ns"),
        ("topic", "topics"),
        ("error", "errors"),
        ("request.acks", "request.body.acks"),
        ("request.topics.name", "request.body.topics.name"),
        ("response.error_code", "response.body.error_code"),
    ],
)
def test_both_spellings_show_the_same(asked: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = printed(capfd, "inspect", TXN, "-e", f"{asked},{expected}")
    assert all(row[asked] == row[expected] for row in rows)
    assert any(row[asked] for row in rows)


def test_errors_with_group_and_principal_in_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    rows = printed(capfd, "inspect", SASL, "-Y", "error != NONE", "-e", "errors,principal,group,software")
    assert all(set(row) == {"errors", "principal", "group", "software"} for row in rows)


def test_lines_say_who_asked(capfd: pytest.CaptureFixture[str]) -> None:
    rows = printed(capfd, "inspect", SASL)
    assert {row["principal"] for row in rows} >= {None, "alice", "bob"}
    assert {row["software"] for row in rows} == {None, "apache-kafka-java 4.4.0"}
    names = [field.name for field in LISTED_FIELDS]
    told = [name for name in names if "processes" not in name and name != "client_proxied"]
    assert list(rows[0])[:9] == told[:9]


@pytest.mark.parametrize("path", [SASL, GROUPS, TXN])
def test_lines_have_groups_throttle_and_rack_as_filters_have_them(
    path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ["group", "throttle", "rack"]
    dissection = Dissection(path)
    values = FieldValues(names, Context())
    rows = printed(capfd, "inspect", path)
    assert [{name: row[name] for name in names} for row in rows] == [values(one) for one in dissection]
    assert any(row["group"] for row in rows) or path == SASL
    assert {row["throttle"] for row in rows} > {None}


def test_a_plus_adds_to_the_usual_columns(capfd: pytest.CaptureFixture[str]) -> None:
    usual, more = printed(capfd, "inspect", GROUPS), printed(capfd, "inspect", GROUPS, "-e", "+group,+rack")
    assert [
        row | {"group": found["group"], "rack": found["rack"]} for row, found in zip(usual, more, strict=True)
    ] == more
    assert any(row["group"] for row in more)
    main(["inspect", GROUPS, "-e", "+group", "--format", "tsv"])
    assert capfd.readouterr().out.partition("\n")[0].endswith("errors\ttopics\tgroup")


def test_connections_have_their_names(capfd: pytest.CaptureFixture[str]) -> None:
    rows = printed(capfd, "connections", SASL, "-e", "client.ip,client.port,broker,principal,host")
    assert rows[0]["client.ip"] == "127.0.0.1"
    assert f"127.0.0.1:{rows[0]['client.port']}" == rows[0]["host"][0]
    assert "bob" in {row["principal"] for row in rows}
    assert main(["connections", SASL, "-e", "api"]) == 2
    assert "no field 'api'" in capfd.readouterr().err


def test_records_know_their_exchange(capfd: pytest.CaptureFixture[str]) -> None:
    rows = printed(capfd, "records", TXN, "-e", "topic,offset,api,software,request.bytes,errors")
    listed = printed(capfd, "inspect", TXN, "-Y", "batch")
    assert {row["api"] for row in rows} == {"Produce", "Fetch"}
    assert {row["request.bytes"] for row in rows} <= {row["request"]["bytes"] for row in listed}


@pytest.mark.parametrize("path", [SASL, TXN])
def test_compiled_and_not_say_the_same(path: str) -> None:
    arguments = ("inspect", path, "-e", "+group,+throttle,+rack,+mechanism", "--format", "jsonl")
    assert run(*arguments).out == run(*arguments, KDISSECT_NATIVE="0").out
    assert (
        run("inspect", path, "--format", "jsonl").out
        == run("inspect", path, "--format", "jsonl", KDISSECT_NATIVE="0").out
    )
