"""Layers and functions: what `docs/architecture.md` promises about the code."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.console import CHECKOUT

PACKAGE = CHECKOUT / "kdissect"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAX_FUNCTION_LINES = 60
# Functions that are longer, each with its reason.
LONG_FUNCTIONS: dict[str, str] = {}


def test_layers_hold() -> None:
    program = shutil.which("lint-imports", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("import-linter is not installed beside this Python")
    ran = subprocess.run([program, "--no-cache"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def functions() -> Iterator[tuple[str, int]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(PACKAGE)}:{node.name}", (node.end_lineno or 0) - node.lineno + 1


def test_functions_are_short() -> None:
    long = {name for name, lines in functions() if lines > MAX_FUNCTION_LINES}
    assert long == set(LONG_FUNCTIONS)


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent


def test_no_sockets_clocks_or_files_below_the_engine() -> None:
    forbidden = {"time.time", "time.monotonic", "open", "threading", "logging", "asyncio", "random"}
    for layer in ("session", "net", "engine", "model"):
        for path in (PACKAGE / layer).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    assert not forbidden & {alias.name for alias in node.names}, path
                if isinstance(node, ast.Call):
                    assert ast.unparse(node.func) not in forbidden, path


@pytest.mark.exhaustive
def test_the_type_check_sees_what_runs() -> None:
    """For it alone are imports and names of types; late reading of declared attributes is hidden from it."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                seen = [part for part in node.body if not isinstance(part, ast.Import | ast.ImportFrom)]
                if ast.unparse(node.test) == "TYPE_CHECKING":
                    is_true = all(isinstance(part, ast.Assign) for part in seen)
                else:
                    is_true = [getattr(part, "name", "") for part in seen] == ["__getattr__"]
                assert is_true, f"{path}:{node.lineno}"
                assert not node.orelse, f"{path}:{node.lineno}"
