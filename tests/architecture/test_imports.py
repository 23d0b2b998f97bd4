"""What the common path imports: every heavy module is a delay that a user waits for."""

import ast
import os
import subprocess
import sys
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
    "config.key_lines", "decoders.as_json", "decoders.decoded",
    "decoders.generated.canonical", "decoders.generated.naming", "decoders.messages", "decoders.payloads",
    "decoders.records", "decoders.trees", "engine.exchange_bodies", "engine.taps", "metrics",
    "model.finding",
    "model.record_batch", "net.headers.datagram", "net.headers.foreign_links", "net.headers.fragments",
    "net.headers.layers", "net.headers.link_header",
    "net.headers.tunnel", "query", "rules", "tls",
}  # fmt: skip
# The list of exchanges took 127 modules before each was asked what it is needed for, and takes 108.
MOST_MODULES = 124
# What the path may not do without; `hashlib` gives connections their identity.
ALLOWED = {"hashlib"}
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
    """All modules that a run imports, by their full names."""
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
    assert not (loaded_by(*arguments) & HEAVY) - ALLOWED


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
