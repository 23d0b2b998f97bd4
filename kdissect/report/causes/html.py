"""The page as one self-contained HTML page: no network, no script, no other file."""

from __future__ import annotations

from kdissect.model.cause import Diagnosis
from kdissect.model.version import __version__
from kdissect.report.causes.words import clock, headline
from kdissect.report.html.causes import CAUSES, causes_section
from kdissect.report.html.markup import Markup, code, definitions, element, join, section, wire
from kdissect.report.html.page import page

LOOKED_AT = ("looked-at", "Looked at")
"""Name and title of the section, for links."""


def causes_html(diagnosis: Diagnosis) -> str:
    """Return the whole page."""
    title = element("h1", element("span", "kdissect", class_="brand"), " why")
    names = join((code(path) for path in diagnosis.files[:3]), ", ")
    when = f" · {clock(diagnosis.first_ns)[:19].replace('T', ' ')} UTC" if diagnosis.first_ns else ""
    about = element("p", names, when, class_="captures")
    head = element("header", element("div", title, about, element("p", headline(diagnosis))))
    foot = element("footer", element("p", f"kdissect {__version__}"))
    sections = [causes_section(diagnosis), looked_at_section(diagnosis)]
    return page(head, sections, foot, (CAUSES, LOOKED_AT), "kdissect: why")


def looked_at_section(diagnosis: Diagnosis) -> Markup:
    """Return the section on the analyzed parts, and on those that could not be analyzed."""
    rows = [("looked at", wire(line)) for line in diagnosis.looked_at]
    rows += [("not seen", wire(line)) for line in diagnosis.not_seen]
    return section(*LOOKED_AT, definitions(rows))
