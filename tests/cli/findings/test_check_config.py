"""`kdissect check` with a configuration file: what holds, what is suppressed, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.findings.check_command import _parser
from kdissect.cli.findings.check_config import KEYS
from tests.support.console import CAPTURES

ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")  # FRM006 by the client, PAI004 by the broker
SUPPRESS = """
[[suppress]]
rule = "{rule}"
reason = "known"
{more}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a configuration file that is the nearest one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "kdissect.toml"


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        ("", [], 1),
        ("ignore = ['FRM006', 'acks0-response']", [], 0),
        ("ignore = ['FRM006', 'acks0-response']", ["--no-config"], 1),
        ("ignore = ['FRM006', 'acks0-response']", ["--ignore", "FRM006"], 1),  # replaces the file's
        ("ignore = ['FRM006', 'acks0-response']", ["--select", "FRM006"], 1),  # also its ignore
        ("select = ['GRP']", [], 0),
        ("select = ['GRP']", ["--select", "FRM"], 1),
        ("fail-on = 'never'", [], 0),
        ("fail_on = 'never'", [], 0),
        ("fail-on = 'never'", ["--fail-on", "error"], 1),
        ("exit-zero = true", [], 0),
        ("exit-zero = true", ["--no-exit-zero"], 1),
        ("judge = 'client'\nignore = ['FRM006']", [], 0),
    ],
)
def test_the_command_line_wins(
    config: Path, text: str, arguments: list[str], code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    assert main(["check", ACKS, *arguments]) == code


def test_a_file_may_be_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    named = tmp_path / "pyproject.toml"
    named.write_text("[tool.kdissect]\nexit-zero = true\n")
    assert main(["check", ACKS, "--config", str(named)]) == 0
    assert main(["check", ACKS, "--config", str(tmp_path / "none.toml")]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = ['FRM']", "kdissect.toml:1: unknown key 'selct'; did you mean 'select'?"),
        ("\nstrict = 'yes'", "kdissect.toml:2: 'strict' is true or false"),
        ("select = 'FRM'", "kdissect.toml:1: 'select' is a list of texts"),
        ("select = [1]", "kdissect.toml:1: 'select' is such a list"),
        ("port = [true]", "kdissect.toml:1: 'port' is such a list"),
        ("port = [70000]", "kdissect.toml:1: 'port': '70000' is no port"),
        ("fail-on = 'all'", "kdissect.toml:1: 'fail-on' is 'error' or 'warning' or 'never', not 'all'"),
        ("format = 'pdf'", "kdissect.toml:1: 'format' is"),
        ("[label]\nbroker = 3", "kdissect.toml:2: label.broker is a text that is not empty"),
        ("output = 'x'", "kdissect.toml:1: unknown key 'output'; known are"),
        ("[[suppress]]\nrule = 'XXX'\nreason = 'x'", "kdissect.toml:2: no rule has the code"),
    ],
)
def test_bad_files_are_refused(
    config: Path, text: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    assert main(["check", ACKS]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"kdissect: {message}")


def test_every_key_is_an_option() -> None:
    options = {text for action in _parser()._actions for text in action.option_strings}
    assert {key for key in KEYS if f"--{key}" not in options} <= {"report", "baseline", "evidence"}


def report(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(["check", ACKS, "--ignore", "BDY,PAI009", "--format", "json", *arguments])
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def test_labels_of_the_file(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config.write_text("[label]\nbroker = 'tansu'\n")
    labels = {finding["who"]["label"] for finding in report(capfd)["findings"]}
    assert labels == {"tansu", None}


@pytest.mark.parametrize(
    ("rule", "more", "left"),
    [
        ("FRM006", "", {"PAI004"}),
        ("frm", "", {"PAI004"}),
        ("trailing-bytes", "", {"PAI004"}),
        ("ALL", "", set()),
        ("ALL", "api = 'Metadata'", {"PAI004"}),
        ("ALL", "api = ['Meta*', 'Produce']", set()),
        ("FRM006", "software = 'librdkafka'", {"PAI004", "FRM006"}),
        ("FRM006", "software = 'confluent-*'\nversion = '*-2.16.?'", {"PAI004"}),
        ("FRM006", "software = 'confluent-*'\nversion = '2.15.*'", {"PAI004", "FRM006"}),
        ("FRM006", "client-id = 'rdk-*'", {"PAI004"}),
        ("FRM006", "client_id = 'other'", {"PAI004", "FRM006"}),
        ("ALL", "address = '127.0.0.1'", set()),
        ("ALL", "address = '127.0.0.1:9092'", {"FRM006"}),
        ("ALL", "label = 'tansu'", {"FRM006"}),
        ("ALL", "path = 'x'", {"PAI004", "FRM006"}),
    ],
)
def test_suppressions(
    config: Path, rule: str, more: str, left: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    config.write_text(SUPPRESS.format(rule=rule, more=more))
    row = report(capfd, "--label", "broker=tansu")
    assert {finding["code"] for finding in row["findings"]} == left
    assert {finding["code"] for finding in row["suppressed"]} == {"PAI004", "FRM006"} - left
    assert all(finding["suppression"]["reason"] == "known" for finding in row["suppressed"])
    assert len(row["unused_suppressions"]) == (len(left) == 2)


def test_text_tells_what_is_suppressed(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config.write_text(SUPPRESS.format(rule="ALL", more="") + SUPPRESS.format(rule="GRP", more=""))
    assert main(["check", ACKS, "--ignore", "BDY,PAI009"]) == 0
    out = capfd.readouterr().out
    assert "suppressed: 2\n" in out
    assert "  PAI004 acks0-response 2 times: known (kdissect.toml:2)\n" in out
    assert "  kdissect.toml:7: suppresses nothing: GRP, known\n" in out


def test_a_suppression_of_rules_that_do_not_run_is_not_called_unused(
    config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config.write_text(SUPPRESS.format(rule="GRP", more=""))
    assert "suppresses nothing" in report_text(capfd)
    assert "suppresses nothing" not in report_text(capfd, "--select", "FRM")


def report_text(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["check", ACKS, *arguments])
    return capfd.readouterr().out
