"""No circle of files: what a file imports, at its top, in a function or for types, never leads back to it.

The same for the compiled part: paths that begin with `crate` or `super`, in `use` or in code.
"""

import ast
import re
from collections import deque
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.console import CHECKOUT

PARTS = ("kdissect", "tests", "fuzz", "benchmarks", "captures")
COMPILED = CHECKOUT / "native/src"
Graph = Mapping[str, set[str]]


def sources() -> dict[str, str]:
    """Return the text of every file by its name: `kdissect.api`, `kdissect.rules.__init__`."""
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
    """Return the files that each file imports."""
    found: dict[str, set[str]] = {}
    for file, text in texts.items():
        targets = found[file] = set()
        for modules in imported(file, text):
            files = [name for module in modules for name in (module, f"{module}.__init__") if name in texts]
            targets.update(files[:1])
    return found


def compiled_sources() -> dict[str, str]:
    """Return the text of every file of the compiled part by its module: `engine::held`, `engine`; "" is the
    root.
    """
    found = {}
    for path in COMPILED.rglob("*.rs"):
        parts = path.relative_to(COMPILED).with_suffix("").parts
        found["::".join(parts[:-1] if parts[-1] in ("mod", "lib") else parts)] = path.read_text()
    return found


def rust_paths(text: str) -> Iterator[list[str]]:
    """Yield all paths that begin with `crate` or `super`, those in braces one by one."""
    code = re.sub(r"//[^\n]*", "", text)
    for match in re.finditer(r"(?<!::)\b(?:crate|super)\s*::", code):
        tokens = re.findall(r"\w+|::|\S", code[match.start() : code.find(";", match.start())])
        yield from _tree(deque(tokens), [])


def _tree(tokens: deque[str], before: list[str]) -> Iterator[list[str]]:
    """Yield the paths of a tree of `use`, which are taken from the tokens."""
    path = list(before)
    while (token := tokens.popleft()) != "{":
        path += [token] * (token != "self")
        if not tokens or tokens[0] != "::":
            yield path
            return
        tokens.popleft()
    while (token := tokens.popleft()) != "}":
        if token == "as":
            tokens.popleft()
        elif token != ",":
            tokens.appendleft(token)
            yield from _tree(tokens, path)


def rust_graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the files that each file of the compiled part takes something from."""
    found: dict[str, set[str]] = {}
    for module, text in texts.items():
        targets = found[module] = set()
        for path in rust_paths(text):
            base, rest = module.split("::"), path
            while rest and rest[0] == "super":
                base, rest = base[:-1], rest[1:]
            names = rest[1:] if rest[:1] == ["crate"] else [*base, *rest]
            modules = ("::".join(names[:length]) for length in range(len(names), -1, -1))
            targets.add(next(name for name in modules if name in texts))
        targets.discard(module)
    return found


def circle(files: Graph) -> str:
    """Return one circle, `a -> b -> a`; empty if there is none."""
    try:
        TopologicalSorter(files).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


@pytest.mark.exhaustive
def test_no_circle_of_files() -> None:
    assert circle(graph(sources())) == ""


def test_no_circle_of_files_of_the_compiled_part() -> None:
    assert circle(rust_graph(compiled_sources())) == ""


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
    around = circle(graph(texts))
    assert around in ("p.a -> p.b -> p.c -> p.a", "p.b -> p.c -> p.a -> p.b", "p.c -> p.a -> p.b -> p.c")
    assert circle(graph(texts | {"p.c": "from p import name"})) == ""


@pytest.mark.parametrize(
    "back",
    [
        "use crate::p::a::Name;",
        "use super::a::Name;",
        "use super::{a, d};",
        "use crate::{\n    p::{d::{self, Name as Other}, a::Name},\n};",
        "fn f() { super::a::name(1) }",
        "type T = Option<crate::p::a::Name>;",
    ],
)
def test_a_circle_of_the_compiled_part_is_found_wherever_the_path_stands(back: str) -> None:
    texts = {
        "": "mod p;",
        "p": "pub mod a;\npub mod b;",
        "p::a": "use std::mem;\nuse super::b::{Name, Other};",
        "p::b": "use crate::p::{self, c::Name};",
        "p::c": back,
        "p::d": "// use super::a::Name;",
    }
    around = circle(rust_graph(texts))
    assert set(around.split(" -> ")) == {"p::a", "p::b", "p::c"}
    assert circle(rust_graph(texts | {"p::c": "use super::d::Name; // super::a"})) == ""
