"""The documents say what the program does.

`python -m tests.regenerate docs` writes them anew.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.engine.connection_rows import CONNECTION_FIELDS
from kdissect.engine.exchange_rows import PROCESS_FIELDS, RowField
from kdissect.engine.listed_rows import LISTED_FIELDS
from kdissect.engine.records.record_fields import RECORD_FIELDS
from kdissect.engine.segments.index_kinds import KINDS
from kdissect.engine.segments.segment_rows import SEGMENT_BATCH_FIELDS, SEGMENT_RECORD_FIELDS
from kdissect.model.anomaly import AnomalyKind
from kdissect.session.problem import Reason
from kdissect.stats.failed_connections import PROBLEM_FIELDS, REASONS
from kdissect.stats.one_way_connections import ONE_WAY_FIELDS
from tests.support.console import CHECKOUT

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
OUTPUT = CHECKOUT / "docs" / "output.md"
README = CHECKOUT / "README.md"
QUESTIONS = CHECKOUT / "docs" / "questions.md"
REPORTS = CHECKOUT / "docs" / "reports.md"
CONSOLE = re.compile(r"```console\n\$ (kdissect [^\n]*)\n(.*?)```", re.DOTALL)
FINDINGS = 1  # what `upgrade` gives where something breaks


def field_table(fields: Iterable[RowField]) -> str:
    rows = [f"| `{field.name}` | {field.type} | {field.doc} |" for field in fields]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])


def reason_table() -> str:
    rows = [f"| `{reason}` | {REASONS[reason]} |" for reason in Reason]
    return "\n".join(["| reason | what it says |", "|---|---|", *rows])


def kind_list() -> str:
    return ", ".join(f"`{kind}`" for kind in AnomalyKind) + "."


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("exchange fields", field_table(LISTED_FIELDS)),
        ("connection fields", field_table(CONNECTION_FIELDS)),
        ("problem fields", field_table(PROBLEM_FIELDS)),
        ("one-way fields", field_table(ONE_WAY_FIELDS)),
        ("problem reasons", reason_table()),
        ("record fields", field_table(RECORD_FIELDS)),
        ("segment batch fields", field_table(SEGMENT_BATCH_FIELDS)),
        ("segment record fields", field_table(SEGMENT_RECORD_FIELDS)),
        *((f"{kind.name} fields", field_table(kind.fields())) for kind in KINDS.values()),
        ("anomaly kinds", kind_list()),
    ],
)
def test_generated_sections(section: str, content: str) -> None:
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    text = OUTPUT.read_text()
    before, _, rest = text.partition(begin)
    held, _, after = rest.partition(end)
    if UPDATE:
        OUTPUT.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}")
    else:
        assert held.strip() == content


PAGES = (README, OUTPUT, QUESTIONS, REPORTS)
EXAMPLES = [(page, match[1]) for page in PAGES for match in CONSOLE.finditer(page.read_text())]


@pytest.mark.parametrize(("page", "line"), EXAMPLES, ids=lambda part: getattr(part, "name", part))
def test_examples(
    page: Path, line: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    words = shlex.split(line)
    assert main(words[1:]) in ((0, FINDINGS) if words[1] == "upgrade" else (0,))
    captured = capfd.readouterr()  # a terminal shows both
    out = "".join(
        f"{row.rstrip()}\n" for row in (captured.out.rstrip("\n") + "\n" + captured.err).splitlines()
    )
    text = page.read_text()
    (match,) = (match for match in CONSOLE.finditer(text) if match[1] == line)
    if UPDATE:
        page.write_text(text[: match.start(2)] + out + text[match.end(2) :])
    else:
        assert match[2] == out


def test_questions_are_twelve_or_more() -> None:
    asked = re.findall(r"^## (.*)$", QUESTIONS.read_text(), re.MULTILINE)
    assert len(asked) >= 12
    assert all(question.endswith("?") for question in asked)


def test_python_of_the_readme(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()


def test_setup_commands_are_one_line_each_and_stand_alone() -> None:
    commands = re.findall(r"```sh\n(python3 -m venv[^\n]*)\n```", README.read_text())
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install ") for command in commands)


def test_links_lead_somewhere() -> None:
    for path in [README, *Path(CHECKOUT / "docs").glob("*.md"), CHECKOUT / "captures" / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path}: {target}"


def names_of(row: dict[str, Any], prefix: str = "") -> set[str]:
    """Dotted names of a row, bodies not looked into."""
    found = set()
    for name, value in row.items():
        found.add(prefix + name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and name != "body":
                found |= names_of(item, f"{prefix}{name}.")
    return found


def test_every_field_of_a_row_is_documented(capfd: pytest.CaptureFixture[str]) -> None:
    documented = {field.name for field in LISTED_FIELDS}
    told_by_tools = {field.name for field in PROCESS_FIELDS}  # in the captures of few of them
    found = set()
    for path in (CHECKOUT / "captures").glob("*.pcap"):
        assert main(["inspect", str(path), "--format", "jsonl", "--bodies"]) == 0
        for line in capfd.readouterr().out.splitlines():
            names = names_of(json.loads(line))
            assert {name for name in documented - told_by_tools if "." not in name} <= names
            found |= names
    # what no shipped capture shows: frames that are cut, or end in another file
    rare = {
        f"{side}{name}" for side in ("request", "response") for name in (".captured", ".packets.last_file")
    }
    assert found | rare | told_by_tools == documented
