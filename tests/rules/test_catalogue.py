"""Statements of the catalogue and rows of the tables of spec/004: a rule each, or a reason to be none."""

import json
import re
from pathlib import Path

from kdissect.rules.registry import ALL_RULES
from tests.support.console import CHECKOUT

SPEC = "## Statements of spec 004"
DOCUMENT = "004-message-format-and-requirements.txt"
# Tables of the document that demand nothing: fields, examples, advice, and one that disagreements.md has.
NO_STATEMENTS = ("| Field |", "| Pattern |", "| API |", "| Strategy |", "| Configuration |")
Table = tuple[str, list[str]]
"""The heading above a table, and the level of each row; `-` for a table without levels."""
PAGE = CHECKOUT / "docs" / "rules" / "not-rules.md"


def test_nothing_of_the_catalogue_is_forgotten(reference: Path) -> None:
    catalogue = {row["id"] for row in json.loads((reference / "protocol" / "rules.json").read_text())}
    before = PAGE.read_text().partition(SPEC)[0]
    told = re.findall(r"^\| `([a-z0-9-]+)` \| .{5,} \|$", before, re.MULTILINE)
    assert sorted(told) == sorted(catalogue)


def test_the_rules_it_names_exist() -> None:
    codes = {rule.code for rule in ALL_RULES}
    assert set(re.findall(r"\b[A-Z]{3}\d{3}\b", PAGE.read_text())) <= codes


def tables(lines: list[str], heading: str) -> list[tuple[str, str, list[str]]]:
    """Heading, head row and rows of each table."""
    found: list[tuple[str, str, list[str]]] = []
    above, inside = "", False
    for before, line in zip(["", *lines], lines, strict=False):
        match = re.fullmatch(heading, line)
        above = match[1] if match else above
        if line.startswith("|---"):
            found.append((above, before, []))
            inside = True
        elif inside and line.startswith("|"):
            found[-1][2].append(line)
        else:
            inside = False
    return found


def test_no_row_of_the_document_is_forgotten(reference: Path) -> None:
    lines = (reference / "spec" / DOCUMENT).read_text().splitlines()
    wanted: list[Table] = []
    for heading, head, rows in tables(lines, "(.+)¶"):
        if not head.startswith(NO_STATEMENTS):
            levelled = head.endswith("| Level |")
            wanted.append((heading, [row.split("|")[2].strip() if levelled else "-" for row in rows]))
    here = tables(PAGE.read_text().partition(SPEC)[2].splitlines(), "### (.+)")
    assert [(heading, [row.split("|")[2].strip() for row in rows]) for heading, _, rows in here] == wanted


def test_each_row_is_a_rule_or_has_a_reason() -> None:
    for _, _, rows in tables(PAGE.read_text().partition(SPEC)[2].splitlines(), "### (.+)"):
        for row in rows:
            assert re.match(r"([A-Z]{3}\d{3}|refused: |Disagreement: )", row.split("|")[3].strip()), row
