"""Configuration files: which one is found, what is wrong with one and where."""

from pathlib import Path

import pytest

from kdissect.config.key_lines import KeyLines
from kdissect.config.read import ConfigError, find_config, read_config
from kdissect.config.suppression import parse_suppressions

OURS = "[tool.kdissect]\nstrict = true\n"
THEIRS = '[project]\nname = "uses-kdissect"\n'


def project(root: Path, **files: str) -> Path:
    """Return a folder two levels below a project's files; `own` is kdissect.toml, `shared` pyproject.toml."""
    below = root / "a" / "b"
    below.mkdir(parents=True)
    for name, text in files.items():
        (root / {"own": "kdissect.toml", "shared": "pyproject.toml"}[name]).write_text(text)
    return below


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({"own": ""}, "kdissect.toml"),
        ({"shared": OURS}, "pyproject.toml"),
        ({"shared": THEIRS}, None),
        ({"own": "", "shared": OURS}, "kdissect.toml"),
        ({"shared": "[tool.kdissect\n"}, "pyproject.toml"),  # broken: the user must hear of it
    ],
)
def test_the_nearest_file_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], found: str | None
) -> None:
    below = project(tmp_path, **files)
    monkeypatch.chdir(below)
    assert find_config(".") == (None if found is None else f"../../{found}")
    (below / "kdissect.toml").write_text("")
    assert find_config(".") == "kdissect.toml"


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\nb = 2", ("b",), 2),
        ("# a = 0\n\n[x]\na = 1", ("x", "a"), 4),
        ('[x]\ns = """\na = 1\n"""\na = 2', ("x", "a"), 5),
        ("[[x.y]]\na = 1\n[[x.y]]\na = 2", ("x", "y", 1, "a"), 4),
        ("[[x.y]]\na = 1\n[[x.y]]\na = 2", ("x", "y", 1), 3),
        ("x = [\n  { a = 1 },\n]", ("x", 0, "a"), 1),  # what is around it
        ("'a b'.c = 1", ("a b", "c"), 1),
        ("a = 1", ("z",), 0),
    ],
)
def test_lines_of_keys(text: str, path: tuple[str | int, ...], line: int) -> None:
    assert KeyLines(text).line(path) == line


def fails(tmp_path: Path, text: str, name: str = "kdissect.toml") -> str:
    """Return the message about a file, its folder left out."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        parse_suppressions(read_config(str(path)))
    return str(caught.value).removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "kdissect.toml:2: Invalid value"),
        ("a = [1,\n\n", "kdissect.toml:3: "),
        ("fail-on = 'never'\nfail_on = 'error'", "kdissect.toml:2: 'fail-on' appears twice"),
        ("suppress = 1", "kdissect.toml:1: 'suppress' is a list of tables: [[suppress]]"),
        ("\n[[suppress]]\nrule = 'FRM'", "kdissect.toml:2: a suppression needs 'reason'"),
        ("[[suppress]]\nrule = 'FRM'\nreason = ' '", "kdissect.toml:3: 'reason' is a text that is not empty"),
        (
            "[[suppress]]\nrule = 'FRM'\nreason = 'x'\nsofware = 'y'",
            "kdissect.toml:4: unknown key 'sofware' in a suppression. Known keys are rule, reason, software",
        ),
        ("[[suppress]]\nrule='FRM'\nreason='x'\napi = 3", "kdissect.toml:4: 'api' is a text or a list"),
        ("suppress = [3]", "kdissect.toml:1: a suppression is a table"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    assert fails(tmp_path, text).startswith(message)


def test_a_project_file_without_a_section(tmp_path: Path) -> None:
    assert fails(tmp_path, THEIRS, "pyproject.toml") == "pyproject.toml: no section [tool.kdissect]"


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "kdissect.toml"
    with pytest.raises(ConfigError, match="No such file"):
        read_config(str(path))
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 5"):
        read_config(str(path))
