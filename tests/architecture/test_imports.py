"""What the common path imports: every heavy module is a delay that a user waits for."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from kdissect.model.native import is_compiled
from tests.support.console import CHECKOUT, TXN

HEAVY = {
    "argcomplete", "ast", "asyncio", "click", "concurrent", "csv", "cryptography", "ctypes", "dataclasses",
    "datetime",
    "difflib", "dis", "dpkt", "email", "hashlib", "http", "inspect", "ipaddress", "json", "logging", "lz4",
    "multiprocessing",
    "numpy", "orjson", "pandas", "pathlib", "pickle", "pyarrow", "pydantic", "pyspark", "random", "rich",
    "scapy", "shutil",
    "socket", "ssl", "subprocess", "tempfile", "textual", "threading", "tokenize", "unittest", "urllib",
    "uuid", "zstandard",
}  # fmt: skip
# Of our own: what is for bodies, records, rules, metrics, several captures, packets and streams that are not
# plain. Each module costs a seventh of a millisecond at least, a named tuple in it the same, an enum more.
RARE = {
    "capture.merge", "capture.resume", "cli.options.api_names",
    "config.key_lines", "decoders.as_json", "decoders.generated.naming", "decoders.messages",
    "decoders.payloads", "decoders.records.reader", "decoders.trees", "engine.exchange_bodies", "engine.taps",
    "metrics", "model.finding",
    "model.record_batch", "net.headers.datagram", "net.headers.foreign_links", "net.headers.fragments",
    "net.headers.layers", "net.headers.link_header",
    "net.headers.tunnel", "query", "rules", "tls",
}  # fmt: skip
# The list of exchanges takes 135 modules (packages count). Three of them decode Metadata, from which clusters
# and topic ids are learned.
MOST_MODULES = 135
PLAIN = str(CHECKOUT / "captures" / "kafka44_aiokafka_produce.pcapng")  # records of users alone
PROGRAM = """
import sys
before = set(sys.modules)
from kdissect.cli import main
code = main({arguments!r})
loaded = sorted(set(sys.modules) - before)
sys.stderr.write(repr((code, loaded)))
"""


def loaded_by(*arguments: str) -> set[str]:
    """Top-level modules that a run imports, beyond those of the interpreter's start."""
    return {name.partition(".")[0] for name in modules_of(*arguments)}


def modules_of(*arguments: str) -> set[str]:
    """Return all modules that a run imports, by their full names."""
    code, modules = ast.literal_eval(_stderr(PROGRAM.format(arguments=list(arguments))))
    assert code == 0
    return set(modules)


def _stderr(program: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=CHECKOUT, check=True
    )
    return ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", TXN, "--format", "jsonl"),
        ("inspect", TXN),
        ("inspect", TXN, "--api", "Fetch", "--errors", "--limit", "3"),
        ("inspect", TXN, "-Y", "api == Fetch and latency > 5ms and response.**.error_code != NONE"),
        ("connections", TXN),
        ("info", TXN),
    ],
    ids=" ".join,
)
def test_no_heavy_import(arguments: tuple[str, ...]) -> None:
    assert not loaded_by(*arguments) & HEAVY


@pytest.mark.skipif(not is_compiled, reason="without it hashlib tells the SHA-256 of files")
@pytest.mark.parametrize("arguments", [("check", TXN, "--exit-zero"), ("why", TXN)], ids=" ".join)
def test_the_library_of_tls_stays_away(arguments: tuple[str, ...]) -> None:
    """It takes 3.5 MB of memory."""
    assert not modules_of(*arguments) & {"_hashlib", "ssl"}


@pytest.mark.parametrize("arguments", [("records", TXN), ("inspect", TXN, "--records", "--format", "jsonl")])
def test_records_do_without_arrow(arguments: tuple[str, ...]) -> None:
    """Columns are for Parquet. (The package crc32c alone imports a dozen others, so the list is short.)"""
    assert not loaded_by(*arguments) & {"numpy", "pyarrow", "pandas", "rich", "scapy", "lz4", "zstandard"}


def test_rules_do_without_what_writes_classes_and_finds_files() -> None:
    """`dataclasses` took 20 ms of the start of `check`, `importlib.resources` 8."""
    loaded = modules_of("check", TXN, "--exit-zero")
    assert not loaded & {"dataclasses", "inspect", "importlib.resources", "tempfile"}


def test_a_list_of_plain_traffic_loads_nothing_for_other_traffic() -> None:
    loaded = modules_of("inspect", PLAIN, "--format", "jsonl")
    ours = {name.removeprefix("kdissect.") for name in loaded if name.startswith("kdissect.")}
    assert not ours & RARE
    # A module that was split in two counts: raise the bound where both halves are always needed.
    assert len(ours) <= MOST_MODULES


@pytest.mark.parametrize("name", sorted(RARE))
def test_what_is_rare_exists(name: str) -> None:
    assert find_spec(f"kdissect.{name}"), "renamed: then the test above no longer asks for it"


@pytest.mark.skipif(not is_compiled, reason="rows need `pyarrow.array`")
def test_parquet_needs_no_more_than_arrow() -> None:
    """Where pandas is installed, pyarrow imports it to look at a list, longer than 50 MB of records take."""
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    loaded = loaded_by("records", PLAIN, "--format", "parquet", "--output", os.devnull)
    assert "pyarrow" in loaded
    assert not loaded & {"pandas", "ssl", "asyncio"}


def test_the_package_itself_is_free() -> None:
    program = (
        "import sys, kdissect; sys.stderr.write(repr([name for name in sys.modules if 'kdissect.' in name]))"
    )
    assert _stderr(program) == "[]"


def late_imports(source: str) -> Iterator[tuple[int, str]]:
    """Yield imports in functions, consecutive ones together: the first line, and the comments."""
    lines = source.splitlines()
    for block in blocks_in_functions(ast.parse(source)):
        before: list[ast.stmt] = []
        for node in [*block, ast.Pass()]:
            if isinstance(node, ast.Import | ast.ImportFrom):
                before.append(node)
            elif before:
                first, last = before[0].lineno, before[-1].end_lineno or 0
                above = [line for line in lines[first - 2 : first - 1] if line.lstrip().startswith("#")]
                comments = [line.partition("#")[2] for line in above + lines[first - 1 : last]]
                yield first, re.sub(r"noqa: \w+|type: ignore\S*", "", " ".join(comments)).strip()
                before = []


def blocks_in_functions(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield every list of statements in a function, once."""
    seen: set[int] = set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in (inner for function in functions for inner in ast.walk(function)):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and id(block) not in seen:
                seen.add(id(block))
                yield block


@pytest.mark.exhaustive
def test_an_import_in_a_function_says_why() -> None:
    silent = [
        f"{path.relative_to(CHECKOUT)}:{line}"
        for path in sorted((CHECKOUT / "kdissect").rglob("*.py"))
        for line, why in late_imports(path.read_text())
        if not why
    ]
    assert silent == [], "imports stand at the top, or say why they do not: start-up, an extra, a platform"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("import a  # start-up", [(2, "start-up")]),
        ("from a import b\n    import c  # an extra\n    c()", [(2, "an extra")]),
        ("if f:\n        import a", [(3, "")]),
        ("# not on Windows\n    import a", [(3, "not on Windows")]),
        ("import a  # noqa: F401", [(2, "")]),
        ("f()", []),
    ],
)
def test_imports_in_functions_are_found(body: str, found: list[tuple[int, str]]) -> None:
    assert list(late_imports(f"def f():\n    {body}")) == found
