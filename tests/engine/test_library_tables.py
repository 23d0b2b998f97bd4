"""`kdissect.open`: tables have the rows that the commands print, and become data frames."""

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import kdissect
from kdissect.cli import main
from kdissect.library import Table
from tests.support.console import CAPTURES, CHECKOUT

GROUPS = str(CAPTURES / "kafka44_java_groups.pcapng")
ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")
NOTEBOOK = CHECKOUT / "docs" / "notebook.ipynb"
TABLES = ("exchanges", "connections", "records", "stats", "topics", "groups", "producers", "check")


def printed(capfd: pytest.CaptureFixture[str], *words: str, path: str = GROUPS) -> Any:
    assert main([*words, path]) in (0, 1)
    out = capfd.readouterr().out
    return [json.loads(line) for line in out.splitlines()] if "jsonl" in words else json.loads(out)


@pytest.mark.parametrize(
    ("name", "words", "key"),
    [
        ("connections", ("connections", "--format", "jsonl"), None),
        ("records", ("records", "--format", "jsonl"), None),
        ("stats", ("stats", "--format", "json"), "rows"),
        ("topics", ("topics", "--format", "json"), "topics"),
        ("groups", ("groups", "--format", "json"), "groups"),
        ("producers", ("producers", "--format", "json"), "producers"),
        ("check", ("check", "--format", "json"), "findings"),
    ],
)
def test_rows_are_those_of_the_command(
    name: str, words: tuple[str, ...], key: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    path = ACKS if name == "check" else GROUPS
    found = getattr(kdissect.open(path), name)()
    told = printed(capfd, *words, path=path)
    wanted = told if key is None else told[key]
    assert len(found) > 0
    assert json.loads(json.dumps(found.rows)) == wanted


@pytest.mark.parametrize("bodies", [False, True])
def test_exchanges_are_those_of_inspect(bodies: bool, capfd: pytest.CaptureFixture[str]) -> None:
    found = kdissect.open(GROUPS).exchanges(bodies=bodies)
    told = printed(capfd, "inspect", "--format", "jsonl", *(["--bodies"] if bodies else []))
    assert json.loads(json.dumps(found.rows)) == told


def test_tables_are_read_as_often_as_they_are_asked_for() -> None:
    capture = kdissect.open(GROUPS)
    first, again = capture.stats(by=["client_id", "api"]), capture.stats(by=["client_id", "api"])
    assert first.rows == again.rows
    assert first[0] == first.rows[0]
    assert {"client_id", "api"} <= set(first.columns)
    with pytest.raises(ValueError, match="names are api"):
        capture.stats(by="nosuch")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_becomes_arrow(name: str) -> None:
    table = getattr(kdissect.open(GROUPS), name)()
    arrow = table.to_arrow()
    assert arrow.num_rows == len(table)
    assert arrow.column_names == table.columns


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_become_data_frames(library: str) -> None:
    pytest.importorskip(library, reason=f"needs {library}")
    for name in TABLES:
        table = getattr(kdissect.open(GROUPS), name)()
        frame = getattr(table, f"to_{library}")()
        assert len(frame) == len(table)
        assert list(frame.columns) == table.columns


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_what_is_missing_is_said_in_a_line(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdissect.library.are_installed", lambda _name: False)
    with pytest.raises(kdissect.KdissectError, match=r"not installed: pip install [^\n]+$"):
        getattr(Table("t", []), f"to_{library}")()


def test_notebooks_see_the_first_rows_as_inert_text() -> None:
    table = Table("t", [{"a": "<script>", "b": "x" * 200}] * 25)
    html = table._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 21
    assert "and 5 rows more" in html
    assert "x" * 80 not in html
    assert repr(table) == "<t: 25 rows>"


def test_a_stream_gives_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(GROUPS).open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        capture = kdissect.open("-")
        assert len(capture.topics()) > 0
        with pytest.raises(kdissect.KdissectError, match="a stream can be read once"):
            capture.groups()


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell in one namespace, as Jupyter does; the last expression of a cell is what it shows."""
    monkeypatch.chdir(CHECKOUT)
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), str(NOTEBOOK), "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names))
    table, errors, groups, slow, findings = shown
    assert "<table>" in table._repr_html_()
    assert errors
    assert groups
    assert len(slow) == 3
    assert slow[0]["latency_ns"] >= slow[2]["latency_ns"] > 0
    assert all(len(finding) == 3 for finding in findings)


def test_the_notebook_runs_in_jupyter() -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(CHECKOUT)}}).execute()


def test_racks_have_their_names() -> None:
    """As `kdissect stats --by client_rack,broker_rack`; nothing of how they are counted is to be seen."""
    by = ["client_rack", "broker_rack"]
    rows = kdissect.open(str(CAPTURES / "kafka44_java_racks.pcapng")).stats(by)
    places = {tuple(row[name] for name in by) for row in rows}
    assert ("rack-1", "rack-1") in places
    racks = {f"rack-{number}" for number in (1, 2, 3)}
    assert {name for place in places for name in place} <= racks | {None}
