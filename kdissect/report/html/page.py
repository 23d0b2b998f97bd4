"""The frame of the page: head, navigation, sections."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from kdissect.report.html.markup import Markup, element, join

STYLE = "style.css"
_LINKS = (
    ("findings", "Findings"),
    ("timeline", "Timeline"),
    ("coverage", "Coverage"),
    ("latency", "Latency"),
    ("quality", "Capture"),
    ("software", "Software"),
    ("rules", "Rules"),
)


def page(header: Markup, sections: Sequence[Markup], footer: Markup) -> str:
    """The whole document."""
    style = _style()
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", "kdissect: Kafka on the wire"),
        element("style", style),
    )
    skip = element("a", "Skip to the findings", href="#findings", class_="skip")
    links = join(element("a", title, href=f"#{name}") for name, title in _LINKS)
    navigation = element("nav", element("div", links), aria_label="Sections")
    body = element("body", skip, header, navigation, element("main", *sections), footer)
    document = element("html", head, body, lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


@cache
def _style() -> Markup:
    return Markup(files("kdissect.report.html").joinpath(STYLE).read_text(encoding="utf-8"))


def _policy(style: str) -> str:
    """Nothing is loaded and nothing runs; the one style is known by its hash (CSP level 3, section 2.3.1)."""
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
