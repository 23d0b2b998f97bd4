"""The page as one self-contained HTML page: no network, no script, no other file."""

from __future__ import annotations

from kdissect.model.cause import Diagnosis
from kdissect.model.version import __version__
from kdissect.report.causes.words import clock, headline
from kdissect.report.html.causes import CAUSES, causes_section
from kdissect.report.html.markup import Markup, code, definitions, element, join, section, wire
from kdissect.report.html.page import page

_LOOKED_AT = ("looked-at", "Looked at")


def causes_html(diagnosis: Diagnosis) -> str:
    """Return the whole page."""
    title = element("h1", element("span", "kdissect", class_="brand"), " why")
    names = join((code(path) for path in diagnosis.files[:3]), ", ")
    when = f" · {clock(diagnosis.first_ns)[:19].replace('T', ' ')} UTC" if diagnosis.first_ns else ""
    about = element("p", names, when, class_="captures")
    head = element("header", element("div", title, about, element("p", headline(diagnosis))))
    foot = element("footer", element("p", f"kdissect {__version__}"))
    sections = [causes_section(diagnosis), _looked_at(diagnosis)]
    return page(head, sections, foot, (CAUSES, _LOOKED_AT), "kdissect: why")


def _looked_at(diagnosis: Diagnosis) -> Markup:
    """Return the section on the analyzed parts, and on those that could not be analyzed."""
    rows = [("looked at", wire(line)) for line in diagnosis.looked_at]
    rows += [("not seen", wire(line)) for line in diagnosis.not_seen]
    return section(*_LOOKED_AT, definitions(rows))
