"""The rules that had nothing to judge: what this capture cannot tell about."""

from kdissect.report.html.markup import Markup, element, section
from kdissect.report.html.numbers import plural
from kdissect.report.verdict import Verdict
from kdissect.rules.pages import page


def rules_section(verdict: Verdict) -> Markup:
    """Rules exercised and not, by code."""
    idle = {rule.code for rule in verdict.not_exercised}
    exercised = [rule for rule in verdict.rules if rule.code not in idle]
    parts = []
    for title, rules in (("exercised", exercised), ("not exercised", verdict.not_exercised)):
        items = (
            element("li", element("code", rule.code), " ", rule.name, title=page(rule).splitlines()[0])
            for rule in sorted(rules, key=lambda rule: rule.code)
        )
        summary = element("summary", f"{plural(len(rules), 'rule')} {title}")
        parts.append(element("details", summary, element("ul", *items, class_="codes"), class_="plain"))
    note = "kdissect rules CODE explains one. A rule that was not exercised says nothing about the software."
    return section("rules", "Rules", *parts, note=note)
