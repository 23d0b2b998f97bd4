"""The pages of docs/rules say what the docstrings say.

`python -m tests.regenerate rules` writes them anew.
"""

import inspect
import os
import re

import pytest

from kdissect.rules.answer_keys import ANSWERS
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.pages import answers_markdown, index_markdown, rule_markdown
from kdissect.rules.registry import EVERY_RULE
from kdissect.rules.rule import Rule
from tests.support.console import CHECKOUT

PAGES = CHECKOUT / "docs" / "rules"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
TEXTS = {"README": index_markdown(EVERY_RULE), "answers": answers_markdown(ANSWERS)} | {
    rule.code: rule_markdown(rule) for rule in EVERY_RULE
}


@pytest.mark.parametrize("name", TEXTS)
def test_page_is_fresh(name: str) -> None:
    path = PAGES / f"{name}.md"
    if UPDATE:
        path.write_text(TEXTS[name])
    assert path.read_text() == TEXTS[name]


LOOKS_FURTHER = re.compile(
    r"\.other\(\)|body\.request|view\.(previous|in_flight|advertised|info)|exchange\.response|\.latency_ns"
)

EACH_BY_ITSELF = {"HDR004"}  # looks at both frames of an exchange, at each for its own sake


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.code)
def test_a_rule_that_looks_further_than_its_frame_says_so(rule: Rule) -> None:
    looks = bool(LOOKS_FURTHER.search(inspect.getsource(type(rule)))) or isinstance(rule, FactRule)
    refusable = isinstance(rule, BodyRule) and rule.refusable
    assert not (looks or refusable) or rule.code in EACH_BY_ITSELF or rule.vantage != "the frame alone"


def test_no_page_is_left_over() -> None:
    if UPDATE:
        for path in PAGES.glob("*.md"):
            if path.stem not in {*TEXTS, "not-rules"}:
                path.unlink()
    assert {path.stem for path in PAGES.glob("*.md")} == set(TEXTS) | {"not-rules"}
