"""A map of the traffic: lines between clients and brokers, writers and topics, topics and readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kdissect.model.wording import plural
from kdissect.report.capture_page.facts import CaptureFacts
from kdissect.report.capture_page.sortable import short_text
from kdissect.report.columns.topics import topic_name
from kdissect.report.html.markup import Markup, element, join, section, wire
from kdissect.report.quantities import grouped

Facts = dict[str, Any]
LINKS = ("map", "Traffic map")
"""Name and title of the section, for links."""
# Names of a column, those with the most traffic first: more lines cannot be followed.
MAX_ENDS = 24
_ROW = 28  # units of a picture for a name: they are pixels, until it is printed
_WIDE = 100
_WIDEST, _STEP = 7, 1.5  # of a line, and for each digit of its count


class Link(NamedTuple):
    """A line of a picture: its ends, what went over it (`12 exchanges`), how much, and how much failed."""

    left: str
    right: str
    unit: str
    traffic: int
    failed: int


def links_section(facts: CaptureFacts) -> Markup:
    """Return the pictures that have lines."""
    pictures = [
        _picture("Clients and brokers", ("client", "broker"), _paths(facts)),
        _picture("Writers and topics", ("writer", "topic"), _writers(facts.topics)),
        _picture("Topics and readers", ("topic", "reader"), _readers(facts.topics)),
    ]
    shown = [picture for picture in pictures if picture]
    if not shown:
        return section(*LINKS, element("p", "No exchanges.", class_="empty"))
    note = "A wider line has more traffic: a step for each digit. A red line has errors."
    return section(*LINKS, element("div", *shown, class_="pictures"), note=note)


def client_label(row: Facts) -> str:
    """Return the client id and the host of a row of `stats` or `topics`, as far as they are known."""
    host = row.get("client") or row.get("address") or ""
    return short_text(f"{row['client_id']} ({host})" if row["client_id"] else host or "?")


def _paths(facts: CaptureFacts) -> Iterator[Link]:
    for row in facts.paths["rows"]:
        yield Link(
            client_label(row), short_text(row["broker"] or "?"), "exchange", row["exchanges"], row["failed"]
        )


def _writers(topics: Iterable[Facts]) -> Iterator[Link]:
    for topic in topics:
        for user in topic["writers"]:
            failed = sum(user["errors"].values())
            yield Link(client_label(user), short_text(topic_name(topic)), "request", user["requests"], failed)


def _readers(topics: Iterable[Facts]) -> Iterator[Link]:
    for topic in topics:
        for user in topic["readers"]:
            groups = ", ".join(user["groups"])
            reader = short_text(f"{groups}: {client_label(user)}" if groups else client_label(user))
            failed = sum(user["errors"].values())
            yield Link(short_text(topic_name(topic)), reader, "request", user["requests"], failed)


def _picture(title: str, nouns: tuple[str, str], links: Iterable[Link]) -> Markup:
    """Return a picture with both columns, the names with the most traffic; nothing without links."""
    joined: dict[tuple[str, str], Link] = {}
    for link in links:
        ends = link.left, link.right
        held = joined.get(ends)
        joined[ends] = (
            link
            if held is None
            else held._replace(traffic=held.traffic + link.traffic, failed=held.failed + link.failed)
        )
    if not joined:
        return Markup()
    by_left, by_right = Counter[str](), Counter[str]()
    for link in joined.values():
        by_left[link.left] += link.traffic
        by_right[link.right] += link.traffic
    left = [name for name, _ in by_left.most_common(MAX_ENDS)]
    right = _facing(left, [name for name, _ in by_right.most_common(MAX_ENDS)], joined)
    drawn = [link for link in joined.values() if link.left in left and link.right in right]
    tall = max(len(left), len(right)) * _ROW
    lines = join(_line(link, _at(left, link.left, tall), _at(right, link.right, tall)) for link in drawn)
    what = ", ".join(plural(len(names), noun) for names, noun in zip((left, right), nouns, strict=True))
    label = f"{title}: {what}, {plural(len(drawn), 'line')}"
    svg = element(
        "svg", lines, viewBox=f"0 0 {_WIDE} {tall}", preserveAspectRatio="none", role="img", aria_label=label,
    )  # fmt: skip
    columns = _names(left, f"{nouns[0]}s"), element("div", svg, class_="wires"), _names(right, f"{nouns[1]}s")
    rest = [
        f"{plural(count - MAX_ENDS, f'more {noun}', spec=',')}"
        for count, noun in zip((len(by_left), len(by_right)), nouns, strict=True)
        if count > MAX_ENDS
    ]
    more = element("p", f"{' and '.join(rest)} not shown.", class_="note") if rest else ""
    return element("figure", element("figcaption", title), element("div", *columns, class_="picture"), more)


def _facing(left: list[str], right: list[str], links: dict[tuple[str, str], Link]) -> list[str]:
    """Return the right names in the order of their left names, so that few lines cross."""
    places: dict[str, list[int]] = {name: [] for name in right}
    for one, other in links:
        if other in places and one in left:
            places[other].append(left.index(one))
    return sorted(right, key=lambda name: sum(places[name]) / max(len(places[name]), 1))


def _names(names: list[str], what: str) -> Markup:
    return element("ol", *(element("li", wire(name), title=name) for name in names), aria_label=what)


def _at(names: list[str], name: str, tall: int) -> float:
    """Return the height at which the style sheet puts a name: names share the height of a column equally."""
    return (names.index(name) + 0.5) * tall / len(names)


def _line(link: Link, start: float, end: float) -> Markup:
    errors = f", {grouped(link.failed)} failed" if link.failed else ""
    what = f"{plural(link.traffic, link.unit, spec=',')}{errors}"
    title = element("title", f"{link.left} \u2192 {link.right}: {what}")
    middle = _WIDE // 2
    path = f"M0,{start:g} C{middle},{start:g} {middle},{end:g} {_WIDE},{end:g}"
    width = min(_STEP * len(str(link.traffic)), _WIDEST)
    line = element("path", d=path, stroke_width=f"{width:g}")
    return element("g", title, line, class_="failed" if link.failed else None)
