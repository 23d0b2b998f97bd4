"""Every statement of the catalogue is a rule, refused with a reason, or said to be waiting."""

import json
import re
from pathlib import Path

from kdissect.rules.registry import ALL_RULES
from tests.support.console import CHECKOUT

PAGE = CHECKOUT / "docs" / "rules" / "not-rules.md"


def test_nothing_of_the_catalogue_is_forgotten(reference: Path) -> None:
    catalogue = {row["id"] for row in json.loads((reference / "protocol" / "rules.json").read_text())}
    before = PAGE.read_text().partition("## The must and should of spec/004")[0]
    told = re.findall(r"^(?:\| |- )`([a-z0-9-]+)`", before, re.MULTILINE)
    assert sorted(told) == sorted(catalogue)


def test_the_rules_it_names_exist() -> None:
    codes = {rule.code for rule in ALL_RULES}
    assert set(re.findall(r"\b[A-Z]{3}\d{3}\b", PAGE.read_text())) <= codes
