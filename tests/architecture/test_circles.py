"""No circle of files: what a file imports, at its top, in a function or for types, never leads back to it."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.console import CHECKOUT

PARTS = ("kdissect", "tests", "fuzz", "benchmarks", "captures")


def sources() -> dict[str, str]:
    """The text of every file by its name: `kdissect.api`, `kdissect.rules.__init__`."""
    return {
        ".".join(path.relative_to(CHECKOUT).with_suffix("").parts): path.read_text()
        for part in PARTS
        for path in (CHECKOUT / part).rglob("*.py")
    }


def imported(file: str, text: str) -> Iterator[list[str]]:
    """Of every import, wherever it stands, the modules it may be of, the first that exists."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ([alias.name] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = file.split(".")[: -node.level] if node.level else []
            module = ".".join([*around, *filter(None, [node.module])])
            yield from ([f"{module}.{alias.name}", module] for alias in node.names)


def graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """The files that each file imports."""
    found: dict[str, set[str]] = {}
    for file, text in texts.items():
        targets = found[file] = set()
        for modules in imported(file, text):
            files = [name for module in modules for name in (module, f"{module}.__init__") if name in texts]
            targets.update(files[:1])
    return found


def circle(texts: Mapping[str, str]) -> str:
    """One circle, `a -> b -> a`; empty if there is none."""
    try:
        TopologicalSorter(graph(texts)).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


def test_no_circle_of_files() -> None:
    assert circle(sources()) == ""


@pytest.mark.parametrize(
    "back",
    [
        "from p.a import name",
        "from p import a",
        "from . import a",
        "from .a import name",
        "import p.a",
        "def f():\n    from p.a import name",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import name",
    ],
)
def test_a_circle_is_found_wherever_the_import_stands(back: str) -> None:
    texts = {
        "p.__init__": "",
        "p.a": "from p.b import name",
        "p.b": "import os\nfrom p import c",
        "p.c": back,
    }
    around = circle(texts)
    assert around in ("p.a -> p.b -> p.c -> p.a", "p.b -> p.c -> p.a -> p.b", "p.c -> p.a -> p.b -> p.c")
    assert circle(texts | {"p.c": "from p import name"}) == ""
