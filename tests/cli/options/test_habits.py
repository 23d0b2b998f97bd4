"""What hands are used to: files without a command, -r, errors of one line, what was meant, examples."""

import shlex

import pytest

from kdissect.cli import COMMANDS, command_of, main
from kdissect.cli.colour import wants_colour
from kdissect.cli.options.command_parser import SHOW_PARSER, ParserShownError
from kdissect.cli.options.examples import examples_of
from tests.support.console import CAPTURES, TXN, run

NO_RULE = "no rule has the code, name or prefix"
SASL = str(CAPTURES / "kafka44_java_sasl.pcapng")
OTHER = str(CAPTURES / "tansu_kp3_groups.pcap")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((TXN,), ("info", TXN)),
        ((TXN, OTHER), ("info", TXN, OTHER)),
        (("-r", TXN), ("info", TXN)),
        (("-r", TXN, "-Y", "error"), ("info", TXN, "-Y", "error")),
        (("inspect", "-r", TXN, "-Y", "error"), ("inspect", TXN, "-Y", "error")),
        (("inspect", "-Y", "error", "-r", TXN), ("inspect", TXN, "-Y", "error")),
        (("groups", "-r", TXN, "-r", OTHER), ("groups", TXN, OTHER)),
        (("info", TXN, "-n", OTHER, SASL), ("info", TXN, OTHER, SASL, "-n")),
        (("stats", "-r", TXN, "--by", "client_id", OTHER), ("stats", TXN, OTHER, "--by", "client_id")),
    ],
)
def test_files_are_named_as_elsewhere(
    arguments: tuple[str, ...], expected: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(list(arguments)) == 0
    found = capfd.readouterr()
    assert main(list(expected)) == 0
    assert found == capfd.readouterr()


def test_a_file_goes_to_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.cli.captures import tui_command

    seen: list[list[str]] = []
    monkeypatch.setattr(tui_command, "run", lambda arguments: seen.append(list(arguments)) or 0)
    assert main(["-t", TXN]) == main([TXN, "-t"]) == 0
    assert seen == [[TXN], [TXN]]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("insepct", "x"), "kdissect: unknown command or file 'insepct'; did you mean inspect?"),
        (("--verison",), "kdissect: unknown option '--verison'"),
        (("nosuch.pcap",), "kdissect: unknown command or file 'nosuch.pcap'"),
        (("inspect", "x", "-i", "lo"), "unrecognized arguments: -i lo; kdissect live -i captures"),
        (("inspect", "x", "--bodeis"), "unrecognized arguments: --bodeis; did you mean --bodies?"),
        (("inspect", "x", "-T", "fields"), "unrecognized arguments: -T fields; --format chooses"),
        (("extract", "x", "-o", "z", "-w", "y"), "unrecognized arguments: -w y; -o FILE names the file"),
        (("inspect", "x", "--format", "jsn"), "argument --format: no 'jsn'; did you mean json?"),
        (("check", "x", "--judge", "boker"), "argument --judge: no 'boker'; did you mean broker?"),
        (("inspect", "x", "--api", "Fetsch"), "argument --api: no API 'Fetsch'; did you mean Fetch?"),
        (("inspect",), "the following arguments are required: PATH"),
        (("tables", "--output", "x"), "the following arguments are required: PATH"),
        (("fields", "requst"), "no field begins with 'requst'; did you mean request?"),
        (("check", TXN, "--select", "FRM06"), f"{NO_RULE} 'FRM06'; did you mean FRM"),
        (("check", TXN, "--ignore", "trailing-byte"), f"{NO_RULE} 'trailing-byte'; did you mean trailing"),
        (("inspect", TXN, "--limits", "batch_byte=1"), "argument --limits: no limit 'batch_byte'; did you"),
        (("rules", "FRM06"), "no rule has the code or name 'FRM06'; did you mean FRM"),
    ],
)  # fmt: skip
def test_an_error_is_a_line_and_where_help_is(
    arguments: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(arguments)) == 2
    first, *more = capsys.readouterr().err.splitlines()
    assert first.removeprefix(f"kdissect {arguments[0]}: error: ").startswith(line)
    assert len(more) == 1
    assert more[0].startswith("for the ") and more[0].endswith(" --help'")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_can_be_parsed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    examples = examples_of(f"kdissect {name}")
    assert examples
    assert capsys.readouterr().out.endswith(examples)
    with pytest.raises(ParserShownError) as shown:
        command_of(name).run([SHOW_PARSER])
    for line in examples.splitlines():
        if not line.strip().startswith(("#", "examples:")) and line:
            kdissect, command, *words = shlex.split(line)
            assert (kdissect, command) == ("kdissect", name)
            own = words[: words.index("--")] if "--" in words else words  # a command of the user follows
            shown.value.parser.parse_args(own)


@pytest.mark.parametrize(
    ("environment", "on_terminal", "in_pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"CLICOLOR": "0"}, False, False),
        ({"CLICOLOR": "1"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR_FORCE": "0"}, True, False),
        ({"FORCE_COLOR": "1", "CLICOLOR": "0"}, True, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colour_follows_the_environment(
    environment: dict[str, str], on_terminal: bool, in_pipe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert [wants_colour("auto", is_terminal) for is_terminal in (True, False)] == [on_terminal, in_pipe]
    assert wants_colour("always", False)
    assert not wants_colour("never", True)


def test_help_names_the_ways_without_a_command() -> None:
    assert "usage: kdissect COMMAND ... | FILE | -t FILE |" in run("--help").out


@pytest.mark.parametrize("option", ["-Y=--", "--exchange=--", "--limits=--", "--client-id=--", "--topic=--"])
def test_two_dashes_are_a_value_like_any_other(option: str) -> None:
    ran = run("inspect", CAPTURES / "tansu_rdk216_acks.pcap", option.replace("-Y=", "-Y"))
    assert "a fault of kdissect" not in ran.err
    assert ran.code in (0, 2)
    assert "--" in ran.err
