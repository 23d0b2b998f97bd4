"""The page as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.model.cause import Diagnosis, FoundCause
from kdissect.model.version import __version__
from kdissect.report.causes.words import (
    certainty_text,
    clock,
    command_text,
    cost_text,
    headline,
    packets_text,
    since_text,
)
from kdissect.report.html.markup import Markup, code, definitions, element, join, section, text, wire
from kdissect.report.html.page import page
from kdissect.schema.citations import resolve

_LINKS = (("causes", "Causes"), ("looked-at", "Looked at"))
_KINDS = ("error", "error", "warning", "info")  # by severity, as findings are coloured


def causes_html(diagnosis: Diagnosis) -> str:
    """The whole page."""
    title = element("h1", element("span", "kdissect", class_="brand"), " why")
    names = join((code(path) for path in diagnosis.files[:3]), ", ")
    when = f" · {clock(diagnosis.first_ns)[:19].replace('T', ' ')} UTC" if diagnosis.first_ns else ""
    about = element("p", names, when, class_="captures")
    head = element("header", element("div", title, about, element("p", headline(diagnosis))))
    shown = [_cause(number, cause, diagnosis) for number, cause in enumerate(diagnosis.causes, 1)]
    if diagnosis.left_out:
        shown.append(element("p", f"{diagnosis.left_out} more cost less.", class_="empty"))
    nothing = [element("p", "Nothing wrong was found.", class_="empty")]
    foot = element("footer", element("p", f"kdissect {__version__}"))
    sections = [section("causes", "Causes", *(shown or nothing)), _looked_at(diagnosis)]
    return page(head, sections, foot, _LINKS, "kdissect: why")


def _cause(number: int, cause: FoundCause, diagnosis: Diagnosis) -> Markup:
    title = element("h3", element("span", str(number), class_="rule-code"), " ", cause.title)
    tags = join(element("span", word, class_="tag") for word in (cause.id, str(cause.certainty)))
    loud = element("span", cause.severity.name.lower(), class_=f"tag {_KINDS[cause.severity]}")
    head = element("div", title, loud, tags, class_="rule-head")
    what = element("p", wire(cause.sentence))
    return element("article", head, what, definitions(_facts(cause, diagnosis)), class_="rule")


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


def _looked_at(diagnosis: Diagnosis) -> Markup:
    rows = [("looked at", wire(line)) for line in diagnosis.looked_at]
    rows += [("not seen", wire(line)) for line in diagnosis.not_seen]
    return section("looked-at", "Looked at", definitions(rows))
