"""`kdissect/_native.pyi`, by which calls into the compiled part are checked, names what is there, no more."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent.parent
PACKAGE = CHECKOUT / "kdissect"
STUB = ast.parse((PACKAGE / "_native.pyi").read_text())
CLASSES = {of.name: of for of in STUB.body if isinstance(of, ast.ClassDef) and not of.name.startswith("_")}
FUNCTIONS = {of.name: of for of in STUB.body if isinstance(of, ast.FunctionDef)}
CONSTANTS = {
    of.target.id for of in STUB.body if isinstance(of, ast.AnnAssign) and isinstance(of.target, ast.Name)
}
EXTENDS = 1 << 10  # Py_TPFLAGS_BASETYPE: what may be a base
OF_EVERY_CLASS = {"__module__", "__doc__"}
SOURCES = sorted((CHECKOUT / "native" / "src").rglob("*.rs"))
# Where the compiled part asks an object for something by name, and why. All else it is given.
BY_NAME = {
    "canonical_body.rs": ("",),  # sets fields of an object of a class it was given, by names it was given
    "template.rs": (
        "__self__",  # the object of a bound method: it may be one of `Summaries`
        "summarize",  # of `Summaries`, its own class
    ),
    "told_names.rs": (
        "identities",  # of a connection: one for all connections of a capture set
        "moves",  # how many addresses went to another cluster by now
    ),
}


def _members(of: ast.ClassDef) -> dict[str, ast.stmt]:
    """Methods, properties and attributes by name."""
    methods = {each.name: each for each in of.body if isinstance(each, ast.FunctionDef)}
    fields = {ast.unparse(each.target): each for each in of.body if isinstance(each, ast.AnnAssign)}
    return {**methods, **fields}


def _is_property(of: ast.stmt) -> bool:
    return isinstance(of, ast.FunctionDef) and any(
        ast.unparse(each) == "property" for each in of.decorator_list
    )


def _arguments(of: ast.FunctionDef) -> list[str]:
    """Return names as PyO3 reports them, without the object itself."""
    args = of.args
    star = [f"*{args.vararg.arg}"] if args.vararg else []
    named = [f"**{args.kwarg.arg}"] if args.kwarg else []
    names = [each.arg.removesuffix("_") for each in (*args.posonlyargs, *args.args)]
    return [name for name in [*names, *star, *named] if name not in ("self", "cls")]


def _told(signature: str) -> list[str]:
    """Return those of a `__text_signature__`."""
    names = [name.strip() for name in re.sub(r"[()]", "", signature).split(",")]
    return [name for name in names if name and name not in ("$self", "$type", "/")]


def test_it_names_what_is_there(native: Any) -> None:
    there = {name for name in vars(native) if not name.startswith("__")}
    assert set(CLASSES) | set(FUNCTIONS) | CONSTANTS == there
    assert {name for name in there if isinstance(getattr(native, name), type)} == set(CLASSES)
    assert {name for name in there if not callable(getattr(native, name))} == CONSTANTS


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_the_same_members(native: Any, name: str) -> None:
    made = getattr(native, name)
    members = _members(CLASSES[name])
    assert set(members) == set(vars(made)) - OF_EVERY_CLASS
    methods = {
        each for each, of in members.items() if isinstance(of, ast.FunctionDef) and not _is_property(of)
    }
    assert methods == {each for each in members if callable(getattr(made, each))}


@pytest.mark.parametrize("name", CLASSES)
def test_none_is_a_base(native: Any, name: str) -> None:
    """The compiled part is leaves: no class of it can be derived from, and the check knows that."""
    assert any(ast.unparse(each) == "final" for each in CLASSES[name].decorator_list)
    assert not getattr(native, name).__flags__ & EXTENDS


def _by_name(source: str) -> Iterator[str]:
    """Yield names by which Rust asks objects for attributes and methods; empty for one that it was given."""
    for call in re.finditer(r"\b(?:call_method[01]?|[gs]etattr(?:_opt)?|delattr|hasattr)\(", source):
        name = re.match(r'(?:intern!\(\w+, )?"(\w+)"', source[call.end() :])
        yield name[1] if name else ""


def test_nothing_is_asked_of_objects_by_name() -> None:
    """Nor is anything imported."""
    found = {path.name: tuple(_by_name(path.read_text())) for path in SOURCES}
    assert {name: names for name, names in found.items() if names} == BY_NAME
    assert not [path.name for path in SOURCES if re.search(r"\bimport\(", path.read_text())]


def _signatures(native: Any) -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Yield what the stub says and what PyO3 reports of a function, a method, or of the making of a class."""
    for name, function in FUNCTIONS.items():
        yield name, function, getattr(native, name).__text_signature__
    for name, of in CLASSES.items():
        made = getattr(native, name)
        for called, method in _members(of).items():
            if isinstance(method, ast.FunctionDef) and not _is_property(method):
                found = made if called == "__new__" else getattr(made, called)
                yield f"{name}.{called}", method, found.__text_signature__


def test_arguments_have_the_same_names_and_order(native: Any) -> None:
    pairs = list(_signatures(native))
    assert {name: _arguments(of) for name, of, _ in pairs} == {name: _told(text) for name, _, text in pairs}


@pytest.mark.exhaustive
def test_nothing_compiled_takes_the_place_of_a_class_in_python() -> None:
    """One class of each thing: what is seen by the check is what runs."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for branch in ast.walk(ast.parse(path.read_text())):
            if isinstance(branch, ast.If) and ast.unparse(branch.test) == "is_compiled":
                assigned = [each.value for each in branch.body if isinstance(each, ast.Assign)]
                assert not any(isinstance(value, ast.Attribute) for value in assigned), path


WRONG = """
from kdissect.model.native import is_compiled, native
if is_compiled:
    native.records(b"", 0, True, 16, 1, 1, "a limit")
    native.blocks(b"", 0, True, [])
    native.HeldFlows().put(b"", None)
    native.nothing
"""


@pytest.mark.exhaustive
def test_mypy_sees_wrong_calls(tmp_path: Path) -> None:
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir",
        tmp_path / "cache",
    ]
    ran = subprocess.run(
        [*command, tmp_path / "wrong.py"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    errors = re.findall(r"wrong\.py:(\d+): error: .*\[([a-z-]+)\]", ran.stdout)
    assert errors == [("4", "arg-type"), ("5", "call-arg"), ("6", "attr-defined"), ("7", "attr-defined")], (
        ran.stdout
    )
