"""docs/filter.md says what the language is. `python -m tests.regenerate filters` writes its tables anew."""

import os
import re

import pytest

from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.query import compile_filter
from kdissect.query.fields.field_list import fields
from kdissect.query.fields.named import API, ERROR
from kdissect.query.values.addresses import ADDRESS
from kdissect.query.values.operators import OPERATORS
from kdissect.query.values.patterns import LOOKED_AT
from kdissect.query.values.points_in_time import TIME_NS
from kdissect.query.values.units import NANOSECONDS, SIZE
from kdissect.query.values.value_kinds import BYTES, FLAG, HEX, NUMBER, REAL, STRUCTURE, TEXT, UUID
from tests.support.console import CHECKOUT

PATH = CHECKOUT / "docs" / "filter.md"
KINDS = (
    NUMBER, REAL, FLAG, TEXT, BYTES, HEX, UUID, API, ERROR, NANOSECONDS, SIZE, TIME_NS, ADDRESS, STRUCTURE,
)  # fmt: skip


def table(head: str, rows: list[list[str]]) -> str:
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join([f"| {head} |", "|" + "---|" * len(rows[0]), *(f"| {line} |" for line in lines)])


def operators() -> str:
    rows = [[", ".join(f"`{s}`" for s in each.symbols), each.help, f"`{each.example}`"] for each in OPERATORS]
    return table("operator | the field | example", rows)


def kinds() -> str:
    rows = [[kind.name, kind.doc, f"`{kind.example}`" if kind.example else ""] for kind in KINDS]
    rows.insert(8, ["enum", "one of the field's names, which an error message lists", "`complete`"])
    return table("kind | how it is written | example", rows)


def all_fields() -> str:
    return table("field | kind | meaning", [[f"`{f.name}`", f.type, f.doc] for f in fields()])


@pytest.mark.parametrize(
    ("section", "content"), [("operators", operators()), ("kinds", kinds()), ("fields", all_fields())]
)
def test_generated_sections(section: str, content: str) -> None:
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    text = PATH.read_text()
    before, _, rest = text.partition(begin)
    held, _, after = rest.partition(end)
    if os.environ.get("KDISSECT_UPDATE"):
        PATH.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}")
    else:
        assert held.strip() == content


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PATH.read_text(), re.DOTALL)


def test_examples_compile() -> None:
    (examples,) = blocks("filter")
    lines = examples.splitlines()
    assert len(lines) > 20
    for line in lines:
        compile_filter(line)


def test_python_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    (program,) = blocks("python")
    exec(compile(program, "filter.md", "exec"), {})
    assert int(capsys.readouterr().out) > 0


def test_limits_are_those_of_the_code() -> None:
    text = PATH.read_text()
    most = DEFAULT_LIMITS
    told = f"at most {most.filter_characters:,} characters and {most.filter_depth} levels"
    assert told.replace(",", " ") in text
    assert f"more than {DEFAULT_LIMITS.pattern_characters} characters" in text
    assert LOOKED_AT == {0: 65_536, 1: 65_536, 2: 16_384, 3: 1024, 4: 256}
