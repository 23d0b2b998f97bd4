"""Comments in Rust name Python that there is, and Python names files of Rust that there are."""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.console import CHECKOUT

PACKAGE = CHECKOUT / "kdissect"
RUST = CHECKOUT / "native" / "src"
COMMENT = re.compile(r"(?<!:)//[/!]?(.*)")
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)+)`")
PYTHON_PATH = re.compile(r"\bkdissect/[\w./-]+\.pyi?\b")
RUST_PATH = re.compile(r"\bnative/(?:src/)?[\w/-]+\.rs\b")
# What dots join and no module of ours has: files beside the comment, and classes of libraries.
FILES = ("rs", "pyi")
LIBRARIES = {"ZstdDecompressor.decompress", "LogarithmicMapping.key"}  # zstandard, ddsketch


class Names:
    """What the package defines: names by module, members by class."""

    def __init__(self) -> None:
        self.modules: dict[str, set[str]] = {}
        self.members: dict[str, set[str]] = defaultdict(set)
        self._bases: dict[str, set[str]] = defaultdict(set)
        for path in PACKAGE.rglob("*.py"):
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = set(self._defined(ast.parse(path.read_text("utf-8"))))

    def has(self, name: str) -> bool:
        """Return whether a module, or what is in one, is called so; outer packages may be left out."""
        parts = name.removeprefix("kdissect.").split(".")
        return any(
            self._holds(".".join(parts[:at]), parts[at:]) for at in range(len(parts), 0, -1)
        ) or self._is_member(parts)

    def _holds(self, module: str, rest: list[str]) -> bool:
        found = [known for known in self.modules if f".{known}".endswith(f".{module}")]
        if not rest:
            return bool(found)
        return any(rest[0] in self.modules[one] for one in found) and (
            len(rest) == 1 or self._is_member(rest)
        )

    def _is_member(self, parts: list[str]) -> bool:
        if len(parts) != 2 or parts[0] not in self.members:
            return False
        owner, name = parts
        return name in self.members[owner] or any(
            self._is_member([base, name]) for base in self._bases[owner]
        )

    def _defined(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                members = set(_inside(node))
                self.members[node.name] |= members
                yield from members  # `module.method`, of a class that is alone there
                self._bases[node.name] |= {base.id for base in node.bases if isinstance(base, ast.Name)}
        yield from _bound(tree.body)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements of a module or class bind, also within `if` and `try`."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            yield from _bound([*node.body, *node.orelse])


def _inside(owner: ast.ClassDef) -> Iterator[str]:
    yield from _bound(owner.body)
    for node in ast.walk(owner):
        is_own = (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        )
        if is_own and isinstance(node.ctx, ast.Store):
            yield node.attr


@cache
def names() -> Names:
    """Read once in each process that runs one of these tests, and not while tests are collected."""
    return Names()


def comments(path: Path) -> Iterator[str]:
    """Yield the comments of a file of Rust, line by line."""
    for line in path.read_text("utf-8").splitlines():
        found = COMMENT.search(line)
        if found:
            yield found[1]


def unknown(text: str) -> list[str]:
    """Return names of Python in a comment that nothing is called by."""
    dotted = [name for name in DOTTED.findall(text) if name.rpartition(".")[2] not in FILES]
    found = [
        name
        for name in dotted
        if not (names().has(name) or name in LIBRARIES or hasattr(builtins, name.partition(".")[0]))
    ]
    return found + [path for path in PYTHON_PATH.findall(text) if not (CHECKOUT / path).exists()]


@pytest.mark.parametrize(
    "path", sorted(RUST.rglob("*.rs")), ids=lambda path: path.relative_to(RUST).as_posix()
)
def test_rust_names_python_that_there_is(path: Path) -> None:
    assert [name for text in comments(path) for name in unknown(text)] == []


def test_python_names_files_of_rust_that_there_are() -> None:
    named = {
        (path.relative_to(CHECKOUT).as_posix(), name)
        for folder in (PACKAGE, CHECKOUT / "tests")
        for path in (*folder.rglob("*.py"), *folder.rglob("*.pyi"))
        if path != Path(__file__)
        for name in RUST_PATH.findall(path.read_text("utf-8"))
    }
    assert named
    assert [(path, name) for path, name in sorted(named) if not (CHECKOUT / name).exists()] == []


@pytest.mark.parametrize(
    "name",
    ["kdissect.net.nothing", "Producers.nothing", "line_filler.nothing", "schema.nothing", "nothing.At.all"],
)
def test_what_is_gone_is_found(name: str) -> None:
    assert unknown(f" As `{name}` has it.") == [name]


@pytest.mark.parametrize(
    "name",
    ["kdissect.net.parser", "Producers.passes", "history.api_keys", "summary.Summary", "str.isprintable"],
)
def test_what_is_there_is_not(name: str) -> None:
    assert unknown(f" As `{name}` has it.") == []
