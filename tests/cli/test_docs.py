"""The documents say what the program does.

`python -m tests.regenerate docs` writes them anew.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import JOBS, command_of, main
from kdissect.cli.options.command_parser import SHOW_PARSER, ParserShownError
from kdissect.engine.connection_rows import CONNECTION_FIELDS
from kdissect.engine.exchange_rows import PROCESS_FIELDS, PROXIED_FIELD, RowField
from kdissect.engine.listed_rows import LISTED_FIELDS
from kdissect.engine.records.record_fields import RECORD_FIELDS
from kdissect.engine.segments.index_kinds import KINDS
from kdissect.engine.segments.segment_rows import SEGMENT_BATCH_FIELDS, SEGMENT_RECORD_FIELDS
from kdissect.model.anomaly import AnomalyKind
from kdissect.session.problem import Reason
from kdissect.stats.failed_connections import PROBLEM_FIELDS, REASONS
from kdissect.stats.one_way_connections import ONE_WAY_FIELDS
from tests.support.console import CAPTURES, CHECKOUT

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
OUTPUT = CHECKOUT / "docs" / "output.md"
README = CHECKOUT / "README.md"
EXAMPLES_PAGE = CHECKOUT / "docs" / "examples.md"
QUESTIONS = CHECKOUT / "docs" / "questions.md"
CONSOLE = re.compile(r"```console\n\$ (kdissect [^\n]*)\n(.*?)```", re.DOTALL)
FINDINGS = 1  # what `upgrade` gives where something breaks
WRONG_USAGE = 2
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "captures/**/*.md", "packaging/**/*.md", "agent/**/*.md")
    for path in CHECKOUT.glob(pattern)
)
CONSOLE_PAGES = [page for page in PAGES if "```console" in page.read_text()]
# Pages whose console blocks build upon each other, and the test that walks through them.
WALKED = {
    "docs/record.md": "tests/recorder/test_record_page.py",
    "docs/tour.md": "tests/cli/test_tour.py",
    "docs/wireshark.md": "tests/cli/reference/test_wireshark_plugin.py",
}
CI_DOCS = "tests/cli/findings/test_ci_docs.py"
OTHERS = "captures of the reader, or other programs"
CLUSTER, ROOT = "needs a cluster and its JVMs", "needs the right to capture, or another host"
LONG = "a whole run: it installs, tests or records"
# Blocks of shell that are not run as they stand, by their page: what runs their lines, or why nothing does.
# A page has several such blocks; they are counted, so that one which comes later is looked at.
NOT_RUN: dict[str, tuple[int, str]] = {
    "CONTRIBUTING.md": (5, LONG),
    "README.md": (3, f"{LONG}, in a fresh clone before each release; {ROOT}"),
    "captures/faults/README.md": (1, CLUSTER),
    "captures/healthy/README.md": (1, CLUSTER),
    "captures/upgrades/README.md": (1, CLUSTER),
    "captures/phases/README.md": (1, CLUSTER),
    "captures/logged/README.md": (1, CLUSTER),
    "captures/pairs/README.md": (1, CLUSTER),
    "captures/record/README.md": (1, CLUSTER),
    "docs/ci.md": (1, CI_DOCS),
    "docs/configuration.md": (2, CI_DOCS),
    "docs/examples.md": (1, OTHERS),
    "docs/extract.md": (1, OTHERS),
    "docs/personal-data.md": (1, OTHERS),
    "docs/filter.md": (1, "tests/cli/reference/test_completion.py"),
    "docs/live.md": (1, ROOT),
    "docs/metrics.md": (2, f"{ROOT}; tests/live/test_live_metrics.py, tests/metrics/test_otlp.py"),
    "docs/native.md": (1, "pipx, uv and a wheel: a release is tried with them by hand"),
    "docs/performance.md": (1, LONG),
    "docs/record.md": (2, f"{ROOT}; tests/live/test_record.py"),
    "docs/reports.md": (2, f"{CI_DOCS}; tests/report/test_capture_page.py"),
    "docs/request-logs.md": (
        2,
        "tests/capture/live/test_followed_log.py, tests/benchmarks/test_multiply_log.py",
    ),
    "docs/schemas.md": (1, "tests/serdes/test_registry.py"),
    "docs/source-mutants.md": (1, LONG),
    "docs/tap.md": (4, f"{CLUSTER}; tests/tap has the same lines"),
    "docs/testing.md": (1, CI_DOCS),
    "docs/tls.md": (3, f"{OTHERS}; tests/tls/test_preloaded_key_log.py builds and preloads the logger"),
    "docs/tour.md": (1, f"{LONG}: what it installs is what runs the tests"),
    "docs/tui.md": (1, ROOT),
    "docs/traces.md": (1, "tests/otel/test_traces.py"),
    "docs/wireshark.md": (1, "tests/cli/reference/test_wireshark_plugin.py"),
}


def name_of(page: Path) -> str:
    """Return where a page is, as this file names it."""
    return page.relative_to(CHECKOUT).as_posix()


def field_table(fields: Iterable[RowField]) -> str:
    rows = [f"| `{field.name}` | {field.type} | {field.doc} |" for field in fields]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])


def test_the_page_lists_the_commands_by_job() -> None:
    listed: dict[str, list[str]] = {}
    text = EXAMPLES_PAGE.read_text().split("## Commands by job")[1].split("\n## ")[0]
    for section in text.split("\n### ")[1:]:
        listed[section.splitlines()[0].lower()] = re.findall(r"^- `kdissect ([\w-]+)", section, re.MULTILINE)
    del listed["in every command"]
    assert {job: sorted(names) for job, names in listed.items()} == {
        job: sorted(commands) for job, commands in JOBS.items()
    }


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


EXAMPLES = [
    (page, match[1])
    for page in CONSOLE_PAGES
    if name_of(page) not in WALKED
    for match in CONSOLE.finditer(page.read_text())
]


@pytest.mark.parametrize(("page", "line"), EXAMPLES, ids=lambda part: getattr(part, "name", part))
def test_examples(
    page: Path, line: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if line == "kdissect --version" and not _native_is_there():
        pytest.skip("no compiled hot path (docs/native.md)")
    if line.startswith("kdissect traces ") and find_spec("opentelemetry") is None:
        pytest.skip("needs the extra otel")
    monkeypatch.chdir(CHECKOUT)
    called, _, most = line.partition(" | head -")
    words = shlex.split(called)
    code = main(words[1:])
    captured = capfd.readouterr()  # a terminal shows both
    lines = captured.out.rstrip().splitlines()[: int(most) if most else None]
    printed = "\n".join([*lines, captured.err]).lstrip("\n")
    out = "".join(f"{row.rstrip()}\n" for row in printed.splitlines())
    wrong = [WRONG_USAGE] if ": error: " in out else []
    fails = words[1] == "upgrade" or (words[1] == "check" and most)  # the exit code is that of `head`
    assert code in (0, *wrong, *([FINDINGS] if fails else []))
    text = page.read_text()
    (match,) = (match for match in CONSOLE.finditer(text) if match[1] == line)
    if UPDATE:
        page.write_text(text[: match.start(2)] + out + text[match.end(2) :])
    else:
        assert match[2] == out


def _native_is_there() -> bool:
    return find_spec("kdissect._native") is not None and os.environ.get("KDISSECT_NATIVE") != "0"


def test_every_console_block_is_run() -> None:
    for page in CONSOLE_PAGES:
        blocks = re.findall(r"^ *```console\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)
        name = name_of(page)
        if name in WALKED:
            assert page.name in (CHECKOUT / WALKED[name]).read_text()
            continue
        asked = [line for block in blocks for line in block.splitlines() if line.startswith("$ ")]
        run = [f"$ {line}" for of, line in EXAMPLES if of == page]
        assert asked == run, f"{name}: a block is one line of kdissect and its output"
        assert len(blocks) == len(run) == len(set(run)), name


SHELL = re.compile(r"^ *```(?:sh|bash|shell)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def test_every_block_of_shell_is_run_or_has_a_reason() -> None:
    counts = {name_of(page): len(SHELL.findall(page.read_text())) for page in PAGES}
    assert {name: count for name, count in counts.items() if count} == {
        name: count for name, (count, _) in NOT_RUN.items()
    }
    for _, why in NOT_RUN.values():
        for path in re.findall(r"tests/[\w/]+(?:\.py)?", why):
            assert (CHECKOUT / path).exists(), path


def shell_commands() -> list[tuple[str, list[str]]]:
    """Return what blocks of shell start, in words, each with its page."""
    found = []
    for page in PAGES:
        for block in SHELL.findall(page.read_text()):
            for line in block.replace("\\\n", " ").splitlines():
                inside = re.findall(r"[$<]\(([^)]*)\)", line)  # $(...), <(...)
                for text in (re.sub(r"[$<]\([^)]*\)", "X", line), *inside):
                    found += [(name_of(page), words) for words in split_commands(text)]
    return found


def split_commands(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line: without comments, redirections and settings of the environment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not words and re.fullmatch(r"[A-Z_]+=.*", word):
            continue
        if set(word) <= set("|&;<>"):
            if words:
                yield words
            words = []
        else:
            words.append(word)


def test_commands_of_shell_can_be_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of kdissect by their parsers; Python's modules and scripts are there."""
    (tmp_path / "tls.keys").write_bytes((CAPTURES / "kafka44_java_tls13.keys").read_bytes())
    monkeypatch.chdir(tmp_path)
    seen = 0
    for page, words in shell_commands():
        program = words[0].rpartition("/")[2]
        if program == "kdissect" and words[1:] != ["--version"]:
            seen += 1
            with pytest.raises(ParserShownError) as shown:
                command_of(words[1]).run([SHOW_PARSER])
            try:
                shown.value.parser.parse_args(words[2:])
            except SystemExit:
                pytest.fail(f"{page}: {shlex.join(words)}")
        elif program == "python" and words[1] == "-m":
            assert find_spec(words[2]) is not None, f"{page}: {shlex.join(words)}"
        elif program == "python":
            assert (CHECKOUT / words[1]).is_file(), f"{page}: {shlex.join(words)}"
    assert seen > 20


def test_questions_are_twelve_or_more() -> None:
    asked = re.findall(r"^## (.*)$", QUESTIONS.read_text(), re.MULTILINE)
    assert len(asked) >= 12
    assert all(question.endswith("?") for question in asked)


def test_python_of_the_examples(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    (program,) = re.findall(r"```python\n(.*?)```", EXAMPLES_PAGE.read_text(), re.DOTALL)
    exec(compile(program, EXAMPLES_PAGE.name, "exec"), {})
    assert capsys.readouterr().out.splitlines()


def test_setup_commands_are_one_line_each_and_stand_alone() -> None:
    commands = re.findall(r"```sh\n(python3 -m venv[^\n]*)\n```", README.read_text())
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install ") for command in commands)


def test_links_lead_somewhere() -> None:
    pages = [*CHECKOUT.glob("*.md"), CHECKOUT / "findings" / "README.md"]
    for folder in ("docs", "captures"):
        pages += (CHECKOUT / folder).rglob("*.md")
    for path in pages:
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose_of(path)):
            name, _, heading = target.partition("#")
            page = path.parent / name if name else path
            assert page.exists(), f"{path}: {target}"
            assert not heading or page.suffix != ".md" or heading in headings_of(page), f"{path}: {target}"


def prose_of(path: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL)


def headings_of(path: Path) -> set[str]:
    """Return the headings of a page as links name them."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    plain = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", one) for one in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    )
    return {re.sub(r"[^\w -]", "", one.strip().lower()).replace(" ", "-") for one in plain}


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
    told_by_tools = {field.name for field in (*PROCESS_FIELDS, PROXIED_FIELD)}  # of few captures
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
