"""The names that other programs may use are the same in docs/library.md, `__all__` and for type checkers."""

import ast
import re
from importlib import import_module
from itertools import chain

import pytest

import kdissect
from tests.support.console import CHECKOUT, TXN

PAGE = (CHECKOUT / "docs" / "library.md").read_text()
SOURCE = (CHECKOUT / "kdissect" / "__init__.py").read_text()
SECTIONS = dict(re.findall(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
METHOD = re.compile(r"^\| `(\w+)` \| a method:", re.MULTILINE)


def table(text: str, heading: str) -> str:
    """Return the rows of the table under a heading."""
    return text.partition(f"| {heading} | what it is |\n")[2].partition("\n\n")[0]


def test_the_package_is_typed() -> None:
    assert (CHECKOUT / "kdissect" / "py.typed").exists()


def test_the_page_has_every_module() -> None:
    assert list(SECTIONS) == ["kdissect", "kdissect.query", "kdissect.pipeline", "kdissect.testing"]


@pytest.mark.parametrize("module", SECTIONS)
def test_the_page_has_every_name(module: str) -> None:
    named = ROW.findall(table(SECTIONS[module], "name"))
    assert sorted(named) == sorted(import_module(module).__all__)


def test_public_names_are_there() -> None:
    for name in kdissect.__all__:
        assert getattr(kdissect, name).__name__ == name
        assert name in dir(kdissect)
    with pytest.raises(AttributeError):
        _ = kdissect.nonsense


def test_type_checkers_see_what_runs() -> None:
    branches = [node.body for node in ast.parse(SOURCE).body if isinstance(node, ast.If)]
    seen = {
        alias.asname: node.module
        for node in chain.from_iterable(branches)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == kdissect._HOMES


@pytest.mark.parametrize("kind", ["Dissection", "Exchange", "Table"])
def test_attributes_are_there(kind: str) -> None:
    dissection = kdissect.open(TXN)
    one: object = dissection
    if kind != "Dissection":
        one = next(iter(dissection)) if kind == "Exchange" else dissection.exchanges()
    rows = table(PAGE, f"attribute of `{kind}`")
    names = ROW.findall(rows)
    assert names
    assert [name for name in names if not hasattr(one, name)] == []
    assert [name for name in names if callable(getattr(one, name))] == METHOD.findall(rows)


def test_the_example_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(program, "library.md", "exec"), {})
    assert re.fullmatch(r"slowest answer: \d+\.\d ms\n", capsys.readouterr().out)
