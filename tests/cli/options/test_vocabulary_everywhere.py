"""One set of names: what is the same thing has one name in filters, rows, tables, metrics and on the screen.

What a column holds decides what it is. Its values are compared with those that `inspect -e` prints for the
same capture: a column whose values are all client ids is one of client ids, whatever it is called.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.query.fields.field_list import fields
from kdissect.tui.panes.exchange_columns import COLUMNS
from tests.cli.output.test_format_matrix import PARTS, RUNS
from tests.support.console import CAPTURES, CHECKOUT

NAMES = {info.name for info in fields()}
SHORT = {info.name: info.doc.split("`")[1] for info in fields() if info.doc.startswith("short for `")}
# Names whose values tell them apart from all others.
TOLD = (
    "connection", "client", "client.ip", "broker", "broker.ip", "client_id", "software", "principal",
    "mechanism", "api", "errors", "topics", "topic_ids", "group", "transactional_id",
)  # fmt: skip
OF_BODIES = {"request", "response", "body", "headers", "key", "value", "decoded"}
NO_EXCHANGES = ("inspect", "segments", "fields", "limits", "rules")  # and what all others are compared with

# Other words for what has a name, and why a row uses them.
A_PART = "one of several that the row is about, told by the part it plays"
OTHER_WORDS = {
    "address": "client.ip: without the port, which differs from connection to connection",
    "addresses": "the same, of several",
    "client_ids": "of several",
    "groups": "of several",
    "apis": "of several",
    "coordinator": A_PART,
    "member": A_PART,
    "read_by": A_PART,
    "waiting": A_PART,
    "source_topic": A_PART,
    "target_topic": A_PART,
    "good_client": A_PART,
    "bad_client": A_PART,
    "name": "of whatever kind the row says: a topic is one of them",
    "label": "what the user calls an end, and else its client id",
    "clients": "of diff: whatever tells the clients of both captures apart",
    "role": "a word that a client id of the capture is as well",
}
# Names of fields that mean something else in a row.
NOT_THE_FIELD = {
    "client": "of stats and latencies: without the port, as `--by` tells clients apart",
    "version": "of findings: that of the software",
    "software": "of findings: without its version, which stands beside it",
}
# Of metrics: labels that no field of an exchange is.
LABELS = {
    "rule": "a finding's code",
    "severity": "of a finding",
    "where": "where packets were lost",
}
# Columns of the screen that show what several fields say.
ON_THE_SCREEN = {
    "size": "bytes of the request and of the response",
    "outcome": "state and errors",
    "findings": "codes of rules, as the filter's `has finding` names them",
}


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from flat(item)
    elif value is not None and value != "":
        yield value


def leaves(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a row with its dotted name, but those of bodies and records."""
    for name, value in row.items():
        if name in OF_BODIES:
            continue
        rows = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
        if rows:
            yield before + name, None
        for item in rows:
            yield from leaves(item, f"{before}{name}.")
        if not rows:
            for one in flat(value) if isinstance(value, list) else [value]:
                yield before + name, one


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main([*arguments, "--format", "jsonl"]) == 0, capfd.readouterr().err
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def capture_of(line: Iterable[str]) -> str:
    return next(word for word in line if str(CAPTURES) in word)


@cache
def owners(path: str) -> dict[str, frozenset[str]]:
    """For each value of `inspect -e` the names that have it."""
    import contextlib
    import io
    import tempfile

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        out = Path(folder) / "rows.jsonl"
        assert main(["inspect", path, "-e", ",".join(TOLD), "-o", str(out)]) == 0
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name in TOLD:
            for value in flat(row[name]):
                found[value].add(name)
    return {value: frozenset(names) for value, names in found.items()}


def what_it_is(path: str, values: Iterable[Any]) -> frozenset[str]:
    """Return the names that have all of the values."""
    of = [owners(path).get(value, frozenset()) for value in values if isinstance(value, str)]
    return frozenset.intersection(*of) if of else frozenset()


def spellings(name: str) -> set[str]:
    """Return a name, its long forms and its short forms."""
    return {name, SHORT.get(name, name), *(short for short, of in SHORT.items() if of == name)}


def strangers(path: str, columns: dict[str, set[Any]]) -> dict[str, frozenset[str]]:
    """Return the columns that hold what has a name, and are called otherwise without a reason."""
    found = {}
    for column, values in columns.items():
        names = what_it_is(path, values)
        word = column.rpartition(".")[2]
        known = {each for name in names for each in spellings(name)}
        if names and word not in OTHER_WORDS and not {word, column} & known and word not in NOT_THE_FIELD:
            found[column] = names
    return found


def columns_of(rows: Iterable[dict[str, Any]]) -> dict[str, set[Any]]:
    columns: dict[str, set[Any]] = defaultdict(set)
    for row in rows:
        for name, value in leaves(row):
            if value is None or value == "":
                columns[name]
            else:
                columns[name].add(value)
    return columns


TABLES = [(name, "") for name in RUNS if name not in NO_EXCHANGES] + [
    (name, part) for name, part in PARTS if name not in NO_EXCHANGES
]


def line_of(name: str, part: str) -> list[str]:
    return [*RUNS[name], *(["--table", part] if part else [])]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "part"), TABLES)
def test_rows_call_things_by_their_names(name: str, part: str, capfd: pytest.CaptureFixture[str]) -> None:
    line = line_of(name, part)
    columns = columns_of(printed(capfd, *line))
    assert not strangers(capture_of(line), columns)


def had(path: str, columns: dict[str, set[Any]]) -> dict[str, str]:
    """Return the names of fields that rows have a column for, with the column."""
    found = {}
    for column, values in columns.items():
        bare = re.sub(r"^(where|who)\.", "", column)
        if bare in NAMES:
            found |= {each: column for each in spellings(bare) if each not in columns}
            found[bare] = column
        if "." in bare or bare in NOT_THE_FIELD:
            continue
        for name in what_it_is(path, values) - {"broker.ip"}:
            if bare in spellings(name) | {"address", "addresses", f"{name}s"}:
                found |= {each: column for each in spellings(name) if each not in columns}
    return found


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "part"), TABLES)
def test_names_of_fields_print_what_rows_have(
    name: str, part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    line = line_of(name, part)
    rows = printed(capfd, *line)
    if not rows or name == "connections":
        return  # test_one_vocabulary.py has connections
    places = had(capture_of(line), columns_of(rows))
    assert places or name in ("check", "diff", "info", "stats", "producers"), (
        "a table about nothing that has a name"
    )
    if not places:
        return
    shown = printed(capfd, *line, "-e", ",".join(places))
    assert len(shown) == len(rows)
    for row, cells in zip(rows, shown, strict=True):
        held: dict[str, list[Any]] = defaultdict(list)
        for column, value in leaves(row):
            held[column] += [] if value in (None, "") else [value]
        inner = {column.rpartition(".")[0] for column in held}  # of structs the -e prints all
        for asked, column in places.items():
            if column not in inner and not isinstance(cells[asked], dict):
                assert list(flat(cells[asked])) == held[column], (asked, column)


def test_tables_call_things_by_their_names(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    import pyarrow.parquet as pq

    path = str(CAPTURES / "kafka44_java_groups.pcapng")
    assert main(["tables", path, "--output", str(tmp_path / "out")]) == 0
    found = {}
    for folder in sorted((tmp_path / "out").iterdir()):
        if folder.is_dir() and (files := sorted(folder.rglob("*.parquet"))):
            rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
            found |= {f"{folder.name}.{name}": of for name, of in strangers(path, columns_of(rows)).items()}
    assert not found


def test_labels_of_metrics_are_names() -> None:
    page = (CHECKOUT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `kdissect_(\w+)` \| \w+ \| ([^|]*) \|", page, re.MULTILINE)
    labels = {
        label for metric, text in rows for label in re.findall(r"`(\w+)`", text) if metric != "build_info"
    }
    assert len(labels) > 10
    assert labels - NAMES == set(LABELS)


def test_columns_of_the_screen_are_names() -> None:
    assert {column.field for column in COLUMNS if column.field} <= NAMES | {"has finding"}
    for column in COLUMNS:
        assert column.name in NAMES or column.name in ON_THE_SCREEN, column.name
