"""The examples of docs/ci.md, docs/testing.md and docs/configuration.md are run, not only read.

Programs that need a network or a privilege are stand-ins: `tcpdump` writes a shipped capture, `pip` and
`apt-get` do nothing. `kdissect` is the real one.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from kdissect.cli import main
from kdissect.cli.findings.check_command import _parser
from kdissect.config.read import read_config
from kdissect.config.suppression import parse_suppressions
from tests.support.console import CAPTURES, CHECKOUT
from tests.support.patience import PATIENCE_S

CI = (CHECKOUT / "docs" / "ci.md").read_text()
TESTING = (CHECKOUT / "docs" / "testing.md").read_text()
CONFIGURATION = (CHECKOUT / "docs" / "configuration.md").read_text()
STAND_INS = {
    # what was recorded is there at once; the rest of a recorder's life is waiting to be ended
    "tcpdump": "while [ $# -gt 0 ]; do if [ \"$1\" = -w ]; then cp {capture} \"$2\"; fi; shift; done\n"
    "trap 'exit 0' TERM\nwhile :; do sleep 0.05; done",
    "sudo": 'exec "$@"',
    "setcap": "test -n \"$2\"",
    "pip": ":",
    "apt-get": ":",
    "python3": "mkdir -p .venv/bin && cp \"$(command -v pip)\" \"$(command -v kdissect)\" .venv/bin/",
    "kdissect": "exec {python} -m kdissect \"$@\"",
}  # fmt: skip
HAS_REPORT = any("--report" in action.option_strings for action in _parser()._actions)


def blocks(text: str, language: str) -> list[str]:
    """Return the code of one language in a document."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def documents() -> list[dict[Any, Any]]:
    return [yaml.safe_load(block) for block in blocks(CI, "yaml")]


def github() -> list[str]:
    steps = documents()[0]["jobs"]["wire"]["steps"]
    return [step["run"] for step in steps if "run" in step]


def gitlab() -> list[str]:
    job = documents()[1]["wire"]
    return ["\n".join([*job["before_script"], *job["script"]])]


def jenkins() -> list[str]:
    (pipeline,) = blocks(CI, "groovy")
    return [script.replace("\\\\", "\\") for script in re.findall(r"sh '''(.*?)'''", pipeline, re.DOTALL)]


@pytest.fixture
def job(tmp_path: Path) -> "Job":
    """Return an empty workspace with the stand-ins before everything else."""
    return Job(tmp_path)


class Job:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "workspace"
        self.folder.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        for name, body in STAND_INS.items():
            text = body.replace("{checkout}", str(CHECKOUT)).replace("{python}", sys.executable)
            _program(programs / name, text.replace("{capture}", str(CAPTURES / "tansu_rdk216_acks.pcap")))
        _program(self.folder / "run-your-tests", "test -s wire.pcap")
        summary = str(folder / "summary.md")
        path = f"{programs}:{os.environ['PATH']}"
        self.environment = dict(os.environ) | {"PATH": path, "GITHUB_STEP_SUMMARY": summary}

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script as the CI does: it ends with the first command that fails."""
        if not HAS_REPORT:
            script = re.sub(r"--report \S+", "", script)
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=self.folder, env=self.environment, capture_output=True,
            text=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip

    def has(self, *names: str) -> bool:
        return all((self.folder / name).exists() for name in names if HAS_REPORT or "kdissect." not in name)


def _program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_github(job: Job) -> None:
    install, record, check = github()
    assert job.run(install).returncode == 0
    assert job.run(record).returncode == 0
    checked = job.run(check)
    assert checked.returncode == 1, checked.stderr
    assert checked.stdout.startswith("::error file=wire.pcap,title=FRM006 trailing-bytes::")
    assert job.has("wire.pcap", "kdissect.sarif", "evidence/FRM006-001.pcapng")


def test_gitlab(job: Job) -> None:
    (script,) = gitlab()
    ran = job.run(script)
    assert ran.returncode == 1, ran.stderr
    assert "FRM006 trailing-bytes" in ran.stdout
    assert job.has("wire.pcap", "kdissect.xml", "kdissect.html", "evidence/FRM006-001.pcapng")
    assert set(documents()[1]["wire"]["artifacts"]["paths"]) == {"wire.pcap", "evidence", "kdissect.html"}


def test_jenkins(job: Job) -> None:
    pipeline = blocks(CI, "groovy")[0]
    assert pipeline.count("{") == pipeline.count("}")
    for script in jenkins():
        ran = job.run(script)
        assert ran.returncode == 0, ran.stderr
    assert job.has("wire.pcap", "kdissect.xml", "kdissect.sarif", "evidence/FRM006-001.pcapng")


def test_tests_that_fail_fail_the_job_and_keep_the_recording(job: Job) -> None:
    _program(job.folder / "run-your-tests", "exit 7")
    assert job.run(github()[1]).returncode == 7
    assert job.has("wire.pcap")


def test_a_recorder_that_may_not_record_ends_the_job(job: Job, tmp_path: Path) -> None:
    _program(tmp_path / "bin" / "tcpdump", "exit 1")
    for script in (github()[1], gitlab()[0], jenkins()[1]):
        assert job.run(script).returncode != 0


def command_lines() -> list[str]:
    """Return every command of kdissect in shell blocks of the three documents."""
    found = []
    for text in (CI, TESTING, CONFIGURATION):
        for block in blocks(text, "sh"):
            found += [line for line in block.splitlines() if line.startswith("kdissect ")]
    return found


def test_command_lines_work(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "captures").symlink_to(CAPTURES)
    (tmp_path / "wire.pcap").symlink_to(CAPTURES / "tansu_rdk216_acks.pcap")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        for line in command_lines():
            assert main(shlex.split(line)[1:]) == 0, line
    finally:
        os.chdir(before)
    assert len(command_lines()) == 6


def test_the_example_of_a_configuration_is_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, _, text = blocks(CONFIGURATION, "toml")
    path = tmp_path / "kdissect.toml"
    path.write_text(text)
    assert len(parse_suppressions(read_config(str(path)))) == 1
    assert main(["check", str(CAPTURES / "tansu_rdk216_acks.pcap"), "--config", str(path)]) == 0
    assert "suppressed: 1" in capfd.readouterr().out
    assert set(tomllib.loads(text)["suppress"][0]) == {"rule", "software", "version", "api", "reason"}


def test_the_example_of_options_of_commands_is_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capture = str(CAPTURES / "tansu_rdk216_acks.pcap")
    text, coloring, _ = blocks(CONFIGURATION, "toml")
    (tmp_path / "kdissect.toml").write_text(text + coloring)
    (tmp_path / "hosts.txt").write_text("127.0.0.1 here\n")
    assert main(["inspect", capture, "--profile", "trouble"]) == 0
    assert capfd.readouterr().out.startswith("time\tprincipal\tapi\tlatency\terrors\n")
    assert main(["stats", capture]) == 0
    assert capfd.readouterr().out.startswith("client_id")
    assert main(["connections", capture]) == 0
    assert "here:" in capfd.readouterr().out


def test_every_key_is_documented() -> None:
    from kdissect.cli.findings.check_config import KEYS
    from kdissect.cli.options.config_defaults import KEYS as OF_COMMANDS
    from kdissect.config.suppression import MATCHERS

    for key in (*KEYS, *OF_COMMANDS, *MATCHERS):
        assert f"`{key}`" in CONFIGURATION, key


def test_the_python_of_the_plugin_runs(pytester: pytest.Pytester) -> None:
    (pytester.path / "captures").symlink_to(CAPTURES)
    pytester.makepyfile(blocks(TESTING, "python")[1])
    options = ("-p", "kdissect.testing", "-p", "no:cacheprovider")
    reports = pytester.inline_run(*options).getreports("pytest_runtest_logreport")
    # the capture has a finding, so the test passes and its end does not
    assert [report.outcome for report in reports] == ["passed", "passed", "failed"]


pytest_plugins = ("pytester",)
