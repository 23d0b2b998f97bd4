"""Causes, the worst first: the section that the pages of `why` and of `check` share."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.model.cause import Diagnosis, FoundCause
from kdissect.report.causes.words import (
    certainty_text,
    command_text,
    cost_text,
    headline,
    packets_text,
    since_text,
)
from kdissect.report.html.markup import Markup, code, definitions, element, join, section, text, wire
from kdissect.report.html.page import SEVERITY_KINDS
from kdissect.schema.citations import resolve

CAUSES = ("causes", "Causes")
"""Name and title of the section, for links."""


def causes_section(diagnosis: Diagnosis, note: str = "") -> Markup:
    """Return the ranked causes, or a text that there are none."""
    shown = [_cause(number, cause, diagnosis) for number, cause in enumerate(diagnosis.causes, 1)]
    if diagnosis.left_out:
        shown.append(element("p", f"{diagnosis.left_out} more cost less.", class_="empty"))
    if not shown:
        shown = [element("p", f"{headline(diagnosis).capitalize()}.", class_="empty")]
    return section(*CAUSES, *shown, note=note)


def _cause(number: int, cause: FoundCause, diagnosis: Diagnosis) -> Markup:
    title = element("h3", element("span", str(number), class_="rule-code"), " ", cause.title)
    tags = join(element("span", word, class_="tag") for word in (cause.id, str(cause.certainty)))
    loud = element("span", cause.severity.name.lower(), class_=f"tag {SEVERITY_KINDS[cause.severity]}")
    head = element("div", title, loud, tags, class_="rule-head")
    what = element("p", wire(cause.sentence))
    kind = f"rule is-{SEVERITY_KINDS[cause.severity]}"
    return element("article", head, what, definitions(_facts(cause, diagnosis)), class_=kind)


def _facts(cause: FoundCause, diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    yield "who", wire(cause.who)
    yield "since", since_text(cause)
    if cost := cost_text(cause.cost):
        yield "cost", cost
    for effect in cause.effects:
        yield "then", wire(effect.sentence)
    yield "sure", certainty_text(cause)
    for packets in cause.evidence:
        yield "packets", wire(packets_text(packets, diagnosis.files))
    yield "more", code(command_text(cause.command, diagnosis.files))
    yield "helps", join((text(cause.help), " (", join(map(_source, cause.cites), "; "), ")"))


def _source(citation: str) -> Markup:
    found = resolve(citation)
    return text(citation) if found is None else element("a", citation, href=found.url, rel="noreferrer")
