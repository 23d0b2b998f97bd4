"""Captures the generator makes for these tests: each once a session, by its command line."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.benchmarks.generated import Generate, Generated

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
# The scripts' modules are importable as they are when a script runs.
sys.path.append(str(BENCHMARKS))


@pytest.fixture(scope="session")
def generate(tmp_path_factory: pytest.TempPathFactory) -> Generate:
    """Run `benchmarks/generate.py` with these options; equal options give the same file object again."""
    pytest.importorskip("crc32c", reason="the generator needs the `test` extra")
    folder = tmp_path_factory.mktemp("generated")

    @cache
    def run(*options: str, attempt: int = 1) -> Generated:
        path = folder / f"{'_'.join(options).replace('-', '').replace('%', '')}_{attempt}.pcap"
        truth = path.with_suffix(".json")
        command = [
            sys.executable,
            str(BENCHMARKS / "generate.py"),
            *options,
            "-o",
            str(path),
            "--truth",
            str(truth),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Generated(path, json.loads(truth.read_text()))

    return run


@pytest.fixture
def benchmarks_on_path() -> Path:
    """Return the folder of the scripts, whose modules can be imported."""
    return BENCHMARKS
