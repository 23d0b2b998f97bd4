"""Rules as SARIF describes them: `reportingDescriptor` (section 3.49)."""

from typing import Any

from kdissect.model.finding import Severity
from kdissect.rules.pages import page
from kdissect.rules.rule import Rule
from kdissect.schema.citations import resolve

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def rule_row(rule: Rule) -> dict[str, Any]:
    """A rule with its page as help; `helpUri` leads to the first source it cites."""
    text = page(rule)
    cites = [{"source": name, "url": found.url} for name in rule.cites if (found := resolve(name))]
    row = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": text.splitlines()[0]},
        "fullDescription": {"text": _why(text)},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": LEVELS[rule.loudness()]},
        "properties": {
            "claim": rule.claim,
            "level": rule.level,
            "judges": rule.who or "both",
            "needs": rule.vantage,
            "cites": cites,
            "tags": ["kafka", rule.claim, rule.level],
        },
    }
    return row | {"helpUri": cites[0]["url"]} if cites else row


def _why(text: str) -> str:
    """The second paragraph of a page, or all there is."""
    paragraphs = text.split("\n\n")
    return paragraphs[min(1, len(paragraphs) - 1)].replace("\n", " ")
