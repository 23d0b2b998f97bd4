"""The page around the sections: its head says how it went, its foot what was judged."""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from kdissect.engine.times import rfc3339
from kdissect.model.cause import Diagnosis
from kdissect.model.version import __version__
from kdissect.model.wording import plural
from kdissect.report.about import hash_texts, versions_text
from kdissect.report.html.markup import Markup, code, element, join, wire
from kdissect.report.quantities import duration, grouped
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.capture_quality import GOOD

_STYLE = "style.css"
_SHOWN_FILES = 3
_LOUD = ("error", "warning")
SEVERITY_KINDS = ("error", "error", "warning", "info")  # by the severity of a cause, as findings are coloured
LINKS = (
    ("findings", "Findings"),
    ("timeline", "Timeline"),
    ("coverage", "Coverage"),
    ("latency", "Latency"),
    ("quality", "Capture"),
    ("software", "Software"),
    ("rules", "Rules"),
)


def page(
    header: Markup,
    sections: Sequence[Markup],
    footer: Markup,
    links: Sequence[tuple[str, str]] = LINKS,
    title: str = "kdissect: Kafka on the wire",
    style: str = "",
    script: str = "",
) -> str:
    """Return the whole document. `links` are names and titles of its sections, the main one first. `style`
    adds to the style sheet, and `script` is the one script that runs: both are HTML already (`Markup`).
    """
    style = Markup(_style() + style)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", style),
    )
    main, what = links[0]
    skip = element("a", f"Skip to the {what.lower()}", href=f"#{main}", class_="skip")
    to_sections = join(element("a", name, href=f"#{place}") for place, name in links)
    navigation = element("nav", element("div", to_sections), aria_label="Sections")
    runs = element("script", script) if script else ""
    body = element("body", skip, header, navigation, element("main", *sections), footer, runs)
    document = element("html", head, body, lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


@cache
def _style() -> Markup:
    return Markup(files("kdissect.report.html").joinpath(_STYLE).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Return the policy: the page loads no resource, and runs its one script if there is one.

    Style and script are known by their hashes (CSP level 3, section 2.3.1).
    """
    scripts = f"script-src {_hash(script)}; " if script else ""
    return f"default-src 'none'; {scripts}style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def header(verdict: Verdict, causes: Diagnosis | None = None) -> Markup:
    """Title, captures, and the numbers that matter. The number of causes comes first if they are known."""
    times = verdict.coverage.traffic.times
    when = f" · {rfc3339(times.start_ns)[:19].replace('T', ' ')} UTC" if times.span() else ""
    cards = element("ul", *_of_causes(causes), *_cards(verdict), class_="cards")
    return titled("Kafka on the wire", verdict.files, when, cards)


def titled(title: str, files: Sequence[str], when: str = "", *more: Markup) -> Markup:
    """Return the head of a page: its title, and the captures that it is about."""
    heading = element("h1", element("span", "kdissect", class_="brand"), f" {title}")
    names = join((code(path) for path in files[:_SHOWN_FILES]), ", ")
    left = len(files) - _SHOWN_FILES
    rest = f" and {left} more" if left > 0 else ""
    return element(
        "header", element("div", heading, element("p", names, rest, when, class_="captures"), *more)
    )


def _of_causes(diagnosis: Diagnosis | None) -> list[Markup]:
    if diagnosis is None:
        return []
    worst = min((cause.severity for cause in diagnosis.causes), default=None)
    kind = "" if worst is None else SEVERITY_KINDS[worst]
    return [_count(len(diagnosis.causes) + diagnosis.left_out, "cause", kind)]


def _cards(verdict: Verdict) -> list[Markup]:
    found = verdict.by_severity()
    times, quality = verdict.coverage.traffic.times, verdict.quality
    loud = [_count(found.get(name, 0), name, name) for name in _LOUD]
    long = duration(times.span() * times.width_ns) if times.span() else ""
    return [
        *loud,
        _count(found["info"], "note", "info") if "info" in found else Markup(),
        _card(grouped(verdict.exchanges), f"exchanges in {long}" if long else "exchanges"),
        _card(
            str(len(verdict.rules) - len(verdict.not_exercised)),
            f"of {plural(len(verdict.rules), 'rule', spec=',')} exercised",
        ),
        _card(quality.verdict, "capture quality", "good" if quality.verdict == GOOD else "warning"),
    ]


def _count(number: int, noun: str, kind: str) -> Markup:
    return _card(grouped(number), noun if number == 1 else f"{noun}s", kind if number else "")


def _card(value: str, name: str, kind: str = "") -> Markup:
    content = element("strong", value), " ", element("span", name)
    return element("li", *content, class_=f"card {kind}".strip())


def footer(verdict: Verdict) -> Markup:
    """Return versions, and the hashes of the captures."""
    rows = [element("li", wire(path), " ", element("code", f"sha256 {d}")) for path, d in hash_texts(verdict)]
    about = element("p", f"kdissect {__version__}, {versions_text(verdict)}")
    what = plural(len(rows), "capture", spec=",")
    return element("footer", element("div", about, element("p", what), element("ul", *rows, class_="hashes")))
