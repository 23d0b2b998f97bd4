"""The targets of citations, from `sources.table`, read at first use.

A citation is text such as `spec/004 Size Constraints`, `KIP-482 Proposed Changes`, `RFC 5802 section 3`,
`DefaultRecordBatch` or `org.apache.kafka.common.protocol.ApiKeys#requestHeaderVersion`. `resolve` finds it. A
heading that a document does not have, or a member that a class does not have, does not resolve, so that a
test finds stale citations. `is_place` asks for more: a heading, a section or a member, not the whole.
"""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple
from urllib.parse import quote_plus

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import read_rows

TABLE = "sources.table"
_KIP_PAGES = "https://cwiki.apache.org/confluence/display/KAFKA/"
_KAFKA_SOURCES = "https://github.com/apache/kafka/blob"
_RFC_PAGES = "https://www.rfc-editor.org/rfc/rfc"
_RELEASE = "4.4.0"
# Headings of every KIP, by its template (https://cwiki.apache.org/confluence/display/KAFKA/KIP+Template)
KIP_HEADINGS = (
    "Motivation",
    "Public Interfaces",
    "Proposed Changes",
    "Compatibility, Deprecation, and Migration Plan",
    "Rejected Alternatives",
)


class Source(NamedTuple):
    """Something that can be cited."""

    id: str
    """`spec/004`, `KIP-482`, `RFC 5802` or a class's full name."""
    title: str
    url: str
    """The public place of the text."""
    sections: tuple[str, ...]
    """The headings of a document or KIP, the members of a class, that a citation may name."""
    release: str = ""
    """Of a class: the release of Kafka whose source is cited."""


def resolve(citation: str) -> Source | None:
    """Return the source that a citation begins with, or None if it is unknown or has no such place."""
    words = citation.split()
    if not words:
        return None
    if words[0] == "RFC":
        return _rfc(words[1:])
    source = _find(words[0])
    place = _place(citation)
    return source if source is None or not place or _has(source, place) else None


def is_place(citation: str) -> bool:
    """Return whether a citation leads to a place: a section, the heading of a KIP, the member of a class.

    A document without sections, such as an issue, is a place.
    """
    source = resolve(citation)
    return source is not None and (bool(_place(citation)) or not source.sections)


def source(source_id: str) -> Source | None:
    """Return a source by its exact id."""
    return _all().get(source_id)


def all_sources() -> tuple[Source, ...]:
    """Return every source of the table, in its order."""
    return tuple(_all().values())


def parse_sources(rows: Iterable[tuple[str, list[str]]]) -> dict[str, Source]:
    """Return rows as the head of the table describes them. Raises SchemaError (`file:line: why`)."""
    found: dict[str, Source] = {}
    for place, words in rows:
        kind, rest = words[0], words[1:]
        if kind in ("section", "member") and found:
            last = found[next(reversed(found))]
            found[last.id] = last._replace(sections=(*last.sections, " ".join(rest)))
            continue
        if kind not in _KINDS or len(rest) < 2:
            raise SchemaError(f"{place}: a row is a document, section, kip, class or member")
        row = _KINDS[kind](rest)
        if row.id in found:
            raise SchemaError(f"{place}: {row.id} stands here twice")
        found[row.id] = row
    return found


def _document(words: list[str]) -> Source:
    return Source(words[0], " ".join(words[2:]), words[1], ())


def _kip(words: list[str]) -> Source:
    title = " ".join(words)
    return Source(words[0].rstrip(":"), title, _KIP_PAGES + quote_plus(title), KIP_HEADINGS)


def _class(words: list[str]) -> Source:
    name, folder = words[0], words[1]
    release = words[2] if len(words) > 2 else _RELEASE
    suffix = "scala" if folder.endswith("scala") else "java"
    url = f"{_KAFKA_SOURCES}/{release}/{folder}/{name.replace('.', '/')}.{suffix}"
    return Source(name, name, url, (), release)


_KINDS = {"document": _document, "kip": _kip, "class": _class}


def _rfc(words: list[str]) -> Source | None:
    number = words[0].rstrip(".,;:") if words else ""
    section = f"#section-{words[2]}" if words[1:2] == ["section"] and len(words) > 2 else ""
    known = Source(f"RFC {number}", f"RFC {number}", f"{_RFC_PAGES}{number}{section}", ("section",))
    return known if number.isdigit() else None


def _find(word: str) -> Source | None:
    """Return the source of a citation's first word: an id, or a class with or without its package and a
    method.
    """
    name = word.rstrip(".,;:)").partition("#")[0]
    while name:
        found = _all().get(name) or _by_class_name().get(name)
        if found:
            return found
        name = name.rpartition(".")[0]  # `Uuid.toString` cites Uuid
    return None


def _place(citation: str) -> str:
    """Return the place within the source that a citation names, or an empty text if it names the whole."""
    if citation.startswith("RFC "):
        return " ".join(citation.split()[2:])
    source, _, heading = citation.partition(" ")
    return heading.strip() or source.partition("#")[2]


def _has(source: Source, place: str) -> bool:
    """Return whether a source has a place. Numbered headings may be cited by the number alone (`5.3.1`)."""
    if place in source.sections:
        return True
    return place in {section.partition(" ")[0] for section in source.sections if section[0].isdigit()}


@cache
def _all() -> dict[str, Source]:
    return parse_sources(read_rows(TABLE))


@cache
def _by_class_name() -> dict[str, Source]:
    return {source_id.rpartition(".")[2]: found for source_id, found in _all().items() if "." in source_id}
