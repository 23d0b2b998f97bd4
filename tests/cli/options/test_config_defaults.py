"""Options of every command from kdissect.toml; errors name file and line."""

from pathlib import Path

import pytest

from kdissect.cli import main
from tests.support.console import CAPTURES, TXN

SASL = str(CAPTURES / "kafka44_java_sasl.pcapng")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KDISSECT_HOSTS", raising=False)
    monkeypatch.delenv("KDISSECT_CONFIG", raising=False)
    return tmp_path


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capfd.readouterr().out


def test_options_of_commands_and_profiles(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = printed(
        capfd, "inspect", TXN, "-e", "api,latency", "--format", "csv", "--limit", "3", "-Y", "error"
    )
    (project / "names.txt").write_text("127.0.0.1 here\n")
    (project / "kdissect.toml").write_text(
        '[command.all]\nhosts = "names.txt"\n'
        '[command.inspect]\ncolumns = ["api", "latency"]\nformat = "csv"\nlimit = 3\n'
        '[profile.trouble]\nfilter = "error"\nwide = true\n'
    )
    assert printed(capfd, "inspect", TXN, "--profile", "trouble") == plain
    assert printed(capfd, "inspect", TXN) != plain
    assert printed(capfd, "inspect", TXN, "--profile=trouble", "--format", "tsv").startswith("api\tlatency\n")
    assert printed(capfd, "inspect", TXN, "-e", "client", "--limit", "1").splitlines()[1].startswith("here:")
    assert "here:" in printed(capfd, "connections", TXN)
    assert "here:" not in printed(capfd, "connections", TXN, "-n")
    assert main(["check", TXN, "--exit-zero"]) == 0
    assert "here:" in capfd.readouterr().out


def test_the_nearest_file_upwards_counts_and_the_environment_names_another(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text('[tool.kdissect.command.inspect]\nformat = "jsonl"\n')
    below = project / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert printed(capfd, "inspect", TXN).startswith('{"number":1,')
    other = project / "other.toml"
    other.write_text('[command.inspect]\nformat = "csv"\n')
    monkeypatch.setenv("KDISSECT_CONFIG", str(other))
    assert printed(capfd, "inspect", TXN).startswith("number,")
    monkeypatch.setenv("KDISSECT_CONFIG", "")
    assert printed(capfd, "inspect", TXN).startswith("number\t")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[command.inspect]\n\nfromat = "csv"', ":3: unknown key 'fromat'; did you mean 'format'?"),
        ('[command.inspect]\nformat = "cvs"', ":2: 'format' is one of table, tsv, csv"),
        ('[command.inspect]\nby = "api"', ":2: kdissect inspect has no option --by"),
        ('[command.all]\nhosts = "nowhere"', ":2: 'hosts': "),
        ('[command.inspect]\nfilter = "latncy > 1s"', ":2: 'filter': column 1: no field 'latncy'"),
        ('[command.inspect]\nwide = 1', ":2: 'wide' is true or false"),
        ('[command.inspect]\nport = [true]', ":2: 'port' is a text or a number"),
        ("command = 1", ":1: 'command' is a table"),
        ("[command.inspect", ":1: "),
    ],
)  # fmt: skip
def test_what_is_wrong_names_file_and_line(
    text: str, expected: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "kdissect.toml").write_text(text + "\n")
    assert main(["inspect", TXN]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert f"kdissect.toml{expected}" in captured.err.splitlines()[0]


def test_a_file_does_not_choose_what_is_judged(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    acks = str(CAPTURES / "tansu_rdk216_acks.pcap")
    config, line = project / "kdissect.toml", 'filter = "time < 2000-01-01"\n'
    config.write_text(f"[command.all]\n{line}[profile.none]\n{line}")
    assert main(["check", acks]) == 1
    assert main(["check", acks, "--profile", "none"]) != 1
    config.write_text(f"[command.check]\n{line}")
    capfd.readouterr()
    assert main(["check", acks]) == 2
    assert "kdissect.toml:2: what check judges comes from the command line" in capfd.readouterr().err


def test_profiles_that_are_not_there(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", TXN, "--profile", "x"]) == 2
    assert "--profile x: there is no configuration file" in capfd.readouterr().err
    (project / "kdissect.toml").write_text("[profile.trouble]\nwide = true\n")
    assert main(["inspect", TXN, "--profile", "x"]) == 2
    assert "no profile 'x'; there are trouble" in capfd.readouterr().err


def test_a_rule_that_check_does_not_know_is_told_with_its_line(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "kdissect.toml").write_text('strict = true\nselect = ["FRM", "NOPE"]\n')
    assert main(["check", SASL]) == 2
    assert "kdissect.toml:2: no rule has the code, name or prefix 'NOPE'" in capfd.readouterr().err


def test_what_all_says_of_lists_leaves_the_report_of_check_whole(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = ["check", TXN, "--exit-zero"]
    assert main(said) == 0
    report = capfd.readouterr().out
    (project / "kdissect.toml").write_text('[command.all]\nlimit = 2\nsort = "api"\n')
    assert main(said) == 0
    assert capfd.readouterr().out == report
    assert main(["inspect", TXN]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 3
