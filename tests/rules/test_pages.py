"""The pages of docs/rules say what the docstrings say.

`KDISSECT_UPDATE=1 pytest tests/rules/test_pages.py` writes them anew.
"""

import os

import pytest

from kdissect.rules.pages import index_markdown, rule_markdown
from kdissect.rules.registry import ALL_RULES
from tests.support.console import CHECKOUT

PAGES = CHECKOUT / "docs" / "rules"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
TEXTS = {"README": index_markdown(ALL_RULES)} | {rule.code: rule_markdown(rule) for rule in ALL_RULES}


@pytest.mark.parametrize("name", TEXTS)
def test_page_is_fresh(name: str) -> None:
    path = PAGES / f"{name}.md"
    if UPDATE:
        path.write_text(TEXTS[name])
    assert path.read_text() == TEXTS[name]


def test_no_page_is_left_over() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(TEXTS) | {"not-rules"}
