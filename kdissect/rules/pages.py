"""The pages of rules: their facts and docstrings, as text and as Markdown."""

from collections.abc import Sequence

from kdissect.model.wording import plural
from kdissect.rules.rule import Rule
from kdissect.schema.citations import resolve

INDENT = " " * 4


def rule_line(rule: Rule) -> str:
    """One line of the list."""
    who = rule.who or "both"
    return f"{rule.code}  {rule.loudness():7}  {rule.level:6}  {rule.claim:9}  {who:6}  {rule.name}"


def page(rule: Rule) -> str:
    """The docstring without its indentation."""
    lines = (type(rule).__doc__ or "").strip().splitlines()
    return "\n".join(line.removeprefix(INDENT) for line in lines)


def rule_text(rule: Rule) -> str:
    """The page for a terminal."""
    facts = "".join(f"{name:10}{value}\n" for name, value in _facts(rule))
    cites = "".join(f"{'cites':10}{citation}: {_url(citation)}\n" for citation in rule.cites)
    return f"{rule.code} {rule.name}\n\n{page(rule)}\n\n{facts}{cites}"


def rule_markdown(rule: Rule) -> str:
    """The page for docs/rules."""
    facts = "".join(f"| {name} | {value} |\n" for name, value in _facts(rule))
    cites = "".join(f"- [{citation}]({_url(citation)})\n" for citation in rule.cites)
    return f"# {rule.code} {rule.name}\n\n{page(rule)}\n\n| | |\n|---|---|\n{facts}\nSources:\n\n{cites}"


def index_markdown(rules: Sequence[Rule]) -> str:
    """The list of pages."""
    rows = "".join(
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.loudness()} | {rule.level} | {rule.claim} | "
        f"{page(rule).splitlines()[0]} |\n"
        for rule in rules
    )
    return (
        "# Rules\n\nGenerated from the docstrings; `kdissect rules CODE` prints the same.\n"
        "[Not rules](not-rules.md) tells what is no rule, and why.\n\n"
        f"{plural(len(rules), 'rule')}.\n\n"
        f"| code | name | severity | level | claim | |\n|---|---|---|---|---|---|\n{rows}"
    )


def _facts(rule: Rule) -> list[tuple[str, str]]:
    return [
        ("level", rule.level),
        ("claim", rule.claim),
        ("severity", rule.loudness()),
        ("judges", str(rule.who or "client and broker")),
        ("needs", rule.vantage),
    ]


def _url(citation: str) -> str:
    found = resolve(citation)
    return found.url if found else ""
