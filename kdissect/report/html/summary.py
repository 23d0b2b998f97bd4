"""The head of the page, which says how it went, and its foot, which says what was judged by what."""

from kdissect.engine.times import rfc3339
from kdissect.report.about import hash_texts, versions_text
from kdissect.report.html.markup import Markup, code, element, join, wire
from kdissect.report.html.numbers import count, duration, plural
from kdissect.report.verdict import Verdict
from kdissect.rules.capture_quality import GOOD

SHOWN_FILES = 3


def header(verdict: Verdict) -> Markup:
    """Title, captures, and the numbers that matter."""
    title = element("h1", element("span", "kdissect", class_="brand"), " Kafka on the wire")
    parts = (title, _captures(verdict), element("ul", *_cards(verdict), class_="cards"))
    return element("header", element("div", *parts))


def _captures(verdict: Verdict) -> Markup:
    names = join((code(path) for path in verdict.files[:SHOWN_FILES]), ", ")
    more = len(verdict.files) - SHOWN_FILES
    left = f" and {more} more" if more > 0 else ""
    times = verdict.coverage.traffic.times
    when = f" · {rfc3339(times.start_ns)[:19].replace('T', ' ')} UTC" if times.span() else ""
    return element("p", names, left, when, class_="captures")


def _cards(verdict: Verdict) -> list[Markup]:
    found = verdict.by_severity()
    times, quality = verdict.coverage.traffic.times, verdict.quality
    loud = [_count(found.get(name, 0), name, name) for name in _LOUD]
    long = duration(times.span() * times.width_ns) if times.span() else ""
    return [
        *loud,
        _count(found["info"], "note", "info") if "info" in found else Markup(),
        _card(count(verdict.exchanges), f"exchanges in {long}" if long else "exchanges"),
        _card(
            str(len(verdict.rules) - len(verdict.not_exercised)),
            f"of {plural(len(verdict.rules), 'rule')} exercised",
        ),
        _card(quality.verdict, "capture quality", "good" if quality.verdict == GOOD else "warning"),
    ]


_LOUD = ("error", "warning")


def _count(number: int, noun: str, kind: str) -> Markup:
    return _card(count(number), noun if number == 1 else f"{noun}s", kind if number else "")


def _card(value: str, name: str, kind: str = "") -> Markup:
    content = element("strong", value), " ", element("span", name)
    return element("li", *content, class_=f"card {kind}".strip())


def footer(verdict: Verdict) -> Markup:
    """Versions, and the hashes of the captures."""
    from kdissect import __version__

    rows = [element("li", wire(path), " ", element("code", f"sha256 {d}")) for path, d in hash_texts(verdict)]
    about = element("p", f"kdissect {__version__}, {versions_text(verdict)}")
    what = plural(len(rows), "capture")
    return element("footer", element("div", about, element("p", what), element("ul", *rows, class_="hashes")))
