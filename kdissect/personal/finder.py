"""All personal data in a text, and in the leaves of a value."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from kdissect.personal.bank_numbers import cards, ibans
from kdissect.personal.birth_dates import birth_dates, is_birth_date
from kdissect.personal.bounds import LONGEST_STEP, MAX_HITS, MAX_LEAVES
from kdissect.personal.coordinates import coordinates, is_position, is_written_position
from kdissect.personal.credentials import credentials
from kdissect.personal.greetings import called, greeted
from kdissect.personal.hits import Confidence, Hit, Kind, is_masked
from kdissect.personal.internet import emails, ip_addresses
from kdissect.personal.leaf import Leaf
from kdissect.personal.names_of_mailboxes import names_shown, users_of
from kdissect.personal.national_ids import national_ids
from kdissect.personal.people import Beside, is_name, person_field
from kdissect.personal.phones import phones
from kdissect.personal.street_addresses import street_addresses
from kdissect.personal.telling_names import Telling, of_context, of_name, without

_PARTS_OF_DATE = 3
_YEAR_DIGITS = 4
_CONTEXT = 32  # characters before a value in a text that may name it
# Another field, with its value, in logfmt, a form or XML.
_ASSIGNED = re.compile(r".*(?:=(?:\"[^\"]*\"|[^\s\"]\S*)\s|&|</[^<>]*>)", re.DOTALL)
# Blanks, hyphens and digits of other widths, each as one character of ASCII.
_PLAIN = str.maketrans(
    "\u00a0\u2007\u2009\u202f\u3000\u2010\u2011\u2012\u2013\u2212\uff0d\uff0b\uff08\uff09\uff0f\uff0e"
    + "".join(map(chr, range(0xFF10, 0xFF1A))),
    "     ------+()/." + "0123456789",
)
_PARAMETER = re.compile(r"[;&?]\s?([\w.-]{1,30})=\Z")  # `<tel:...>;tag=` (RFC 3261, section 25.1)
_ABBREVIATED = re.compile(r"\b([^\W\d_]{2,4})\.:? \Z")  # `Tel. 030 ...`: no end of a sentence
_SHORTEST = 3  # characters of anything personal
# Names of fields, and kinds, that make a person of the fields around a field `name`.
_OF_PERSON = frozenset({"name", "birth"})
_KINDS_OF_PERSON = frozenset({Kind.EMAIL, Kind.PHONE, Kind.IBAN, Kind.CARD, Kind.NATIONAL_ID})
_FIELDS_OF_PERSON = frozenset(
    {
        "name",
        "any_name",
        "quoted_name",
        "short_name",
        "part_of_name",
        "person_itself",
        "owner",
        "birth",
        "address",
        "maybe_address",
    }
)
# Next to the name of a client that is a program (RFC 7591, section 2).
_OF_PROGRAMS = frozenset({
    "client_secret", "clientsecret", "redirect_uri", "redirect_uris", "redirecturis", "grant_type",
    "grant_types",
    "granttypes", "scopes", "app_id", "appid",
})  # fmt: skip
_NAMES_OF_PERSON = frozenset({"name", "any_name", "person_itself", "owner"})
_NOT_IN_TEXT = frozenset({"any_name", "person_itself"})
_NUMBERS_OF_STREETS = frozenset({"house_number", "bare_number", "postal_code"})
_TEXTS_OF_MESSAGES = frozenset({"text", "body", "message", "sms", "msg", "dlr"})
_WAYS = frozenset({"channel", "type", "method", "via", "medium", "transport", "kind"})
_CALLED = frozenset({"sms", "whatsapp", "voice", "call", "phone", "mms", "rcs", "viber", "tel"})
_ENDS_OF_MESSAGES = frozenset({"to", "from", "recipient", "sender", "destination", "originator", "msisdn"})
_OF_CARDS = re.compile(r"card_?(?:holder|expir|exp)", re.IGNORECASE)
_DIGITS_OF_CARD = re.compile(r"\d{15,16}")
_DIGITS_OF_PHONE = re.compile(r"(?:\+|00)?\d{10,15}")
_OF_FONTS = frozenset({"first", "style", "weight", "size"})
_NO_SENTENCES = frozenset({"phone", "iban", "card", "password", "birth", "version"})
_PARTS_OF_BIRTH = {
    "year": "year", "month": "month", "day": "day", "jahr": "year", "monat": "month", "tag": "day",
    "annee": "year", "mois": "month", "jour": "day", "ano": "year", "anio": "year", "mes": "month",
    "dia": "day",    "anno": "year", "mese": "month", "giorno": "day",
}  # fmt: skip
_OF_STRUCTS = frozenset({"version", "server"})
_PLAIN_IPS = frozenset(
    {
        "ip",
        "ips",
        "ip address",
        "ip addr",
        "ipaddress",
        "address",
        "addr",
        "ipv 4",
        "ipv 6",
        "public ip",
        "private ip",
        "external ip",
    }
)
_PAIRED = frozenset({"latitude_itself", "longitude_itself"})


class Found(NamedTuple):
    """A hit in a leaf of a value."""

    leaf: Leaf
    hit: Hit


def find(leaves: Sequence[Leaf]) -> list[Found]:
    """Return the personal data in a value's leaves, at most `MAX_HITS`."""
    found = [*_positions(leaves), *_dates(leaves)]
    taken = {id(one.leaf) for one in found}
    messages, cards = _messages(leaves), _cards(leaves)
    alone = {id(leaf): find_in(leaf) for leaf in leaves if leaf.is_alone}
    apart = [leaf for leaf in leaves if alone.get(id(leaf)) or (leaf.is_part and id(leaf) in taken)]
    starts = [leaf.start for leaf in apart]
    whole: list[Hit] = []  # of the text around the fields in it
    structs = _Structs(leaves)
    open_fields = []
    for leaf in leaves:
        if id(leaf) in taken:
            continue
        tags = structs.tags(leaf)
        if leaf.is_alone:
            hits = alone[id(leaf)]
        elif leaf.is_part:
            hits = [hit for hit in find_in(leaf) if not _is_among(hit, leaf, whole)] if tags else []
        elif leaf.is_key and len(leaf.text) <= LONGEST_STEP:
            hits = list(_in_name(leaf.text))
        else:
            named = _named_by_others(leaf, messages, cards)
            hits = [hit for hit in find_in(named) if not _is_inside(hit, apart, starts)]
            whole = hits
        found += [Found(leaf, hit) for hit in hits]
        structs.add(leaf, tags, hits)
        is_open = not hits and not (leaf.is_number and leaf.is_item) and not is_masked(leaf.text)
        if is_open and tags & _FIELDS_OF_PERSON and leaf.holder not in structs.fonts:
            open_fields.append((leaf, tags))
    found += list(_shown(leaves, found))
    taken = {id(one.leaf) for one in found}
    for leaf, tags in (one for one in open_fields if id(one[0]) not in taken):
        hit = person_field(
            leaf.text, structs.of_person(leaf, tags), structs.beside(leaf, tags), leaf.is_number
        )
        if hit is not None and not (leaf.is_part and _is_again(hit, leaf, whole)):
            found.append(Found(leaf, hit))
    return found[:MAX_HITS]


def _shown(leaves: Sequence[Leaf], found: Sequence[Found]) -> Iterator[Found]:
    """Yield names that other hits show: those of an email address anywhere in the value, and those after a
    word for people, or of a field of a person, in a text that has a number or an address of a person.
    """
    evident: dict[int, list[Hit]] = {}
    hits: dict[int, list[Hit]] = {}
    for leaf, hit in found:
        hits.setdefault(id(leaf), []).append(hit)
        if hit.kind in _KINDS_OF_PERSON and not leaf.is_key:
            evident.setdefault(id(leaf), []).append(hit)
    users = users_of(leaf.text[hit.start : hit.end] for leaf, hit in found if hit.kind is Kind.EMAIL)
    if not evident:
        return
    for leaf in leaves:
        if leaf.is_number or leaf.is_key or (leaf.is_part and not leaf.is_alone) or " " not in leaf.text:
            continue
        if "thing" in of_name(leaf.name).tags:
            continue
        for hit in (*names_shown(leaf.text, users), *_beside_evidence(leaf, evident.get(id(leaf), []))):
            known = hits.setdefault(id(leaf), [])
            if not any(_overlap(hit, other) for other in known):
                known.append(hit)
                yield Found(leaf, hit)


def _beside_evidence(leaf: Leaf, evident: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the names in a text that has hits of a person: after words for people, and before the first hit
    of a field of a person: `Anna Muster, +49 30 901820`.
    """
    if not evident:
        return
    yield from called(leaf.text)
    before = leaf.text[: min(hit.start for hit in evident)].rstrip(" ,;:/|-<([+")
    if of_name(leaf.name).tags & _NAMES_OF_PERSON and " " in before and is_name(before):
        yield Hit(0, len(before), Kind.NAME, Confidence.LIKELY)


class _Structs:
    """Counts of the fields around each field of a value."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self._telling: Counter[int] = Counter()
        """By holder: fields of a person."""
        self._evident: Counter[int] = Counter()
        """By holder: fields whose values show a person."""
        self._programs = {
            leaf.holder
            for leaf in leaves
            if (leaf.text if leaf.is_key else _last_step(leaf)).lower() in _OF_PROGRAMS
        }
        self._born: set[int] = set()
        """Holders with the day of a birth."""
        self._paid: set[int] = set()
        """Holders with an account or a card."""
        self._numbered = {
            leaf.holder
            for leaf in leaves
            if of_name(_last_step(leaf)).tags & _NUMBERS_OF_STREETS and (leaf.is_alone or not leaf.is_part)
        }
        self._short_names = _both_names(leaves, "fname", "lname")
        self._parts_of_names = _both_names(leaves, "first", "last") | _both_names(leaves, "given", "family")
        # Lines of logs have names of threads, but those of people next to a last name.
        self._has_names = any(leaf.is_part and "name" in of_name(leaf.name).tags for leaf in leaves)
        self.fonts = _fonts(leaves)

    def tags(self, leaf: Leaf) -> frozenset[str]:
        """Return the tags of a leaf's name."""
        tags = of_name(leaf.name).tags
        is_plain = leaf.is_part and not leaf.is_alone and not self._has_names
        if not is_plain or _last_step(leaf).lower() == "holder":
            return tags
        quoted = {"quoted_name"} if "any_name" in tags and " " in leaf.text else set()
        return (tags - _NOT_IN_TEXT) | quoted

    def add(self, leaf: Leaf, tags: frozenset[str], hits: Sequence[Hit]) -> None:
        """Count a leaf with its hits."""
        is_evident = any(hit.kind in _KINDS_OF_PERSON for hit in hits)
        self._evident[leaf.holder] += is_evident
        if "birth_moment" in tags:
            self._born.add(leaf.holder)
        if any(hit.kind in (Kind.IBAN, Kind.CARD) for hit in hits):
            self._paid.add(leaf.holder)
        self._telling[leaf.holder] += bool(tags & _OF_PERSON) or is_evident

    def of_person(self, leaf: Leaf, tags: frozenset[str]) -> frozenset[str]:
        """Return the tags of a leaf with those that the fields next to it give."""
        is_evident = self._evident[leaf.holder] > 0
        if "part_of_name" in tags and leaf.holder in self._parts_of_names:
            if is_evident or "person" in of_name(leaf.holder_name).tags:
                return tags | {"name"}
        elif " " in leaf.text.strip() and (
            ("person_itself" in tags and (is_evident or leaf.holder in self._born))
            or ("quoted_name" in tags and is_evident)
            or (tags & {"person_itself", "owner"} and "parcel" in of_name(leaf.holder_name).tags)
            or ("owner" in tags and leaf.holder in self._paid)
        ):
            return tags | {"any_name"}
        around = of_name(leaf.holder_name).tags if "@" not in leaf.holder_name else frozenset()
        is_of_user = "person" in tags and not leaf.name.lower().startswith("client")
        is_of_program = leaf.holder in self._programs and not is_of_user
        is_of_thing = ("company" in around and "person" not in around) or is_of_program
        return tags - {"any_name"} if is_of_thing else tags

    def beside(self, leaf: Leaf, tags: frozenset[str]) -> Beside:
        """Return what is next to a leaf, when all leaves are counted."""
        around = of_name(leaf.holder_name).tags
        has_number = leaf.holder in self._numbered
        of_person = bool(around & {"person", "parcel"}) or ("maybe_parcel" in around and has_number)
        telling = self._telling[leaf.holder]
        if "short_name" in tags:  # of a file or a function, if it is in a line with one email address
            telling += 2 * (leaf.holder in self._short_names) - (leaf.is_part and not leaf.is_alone)
        return Beside(telling, self._evident[leaf.holder] > 0, of_person, has_number)


def _is_again(hit: Hit, leaf: Leaf, whole: Sequence[Hit]) -> bool:
    """Return whether a hit in a part of a text was found in the text, as the same kind."""
    return _is_among(hit, leaf, [one for one in whole if one.kind is hit.kind])


def _last_step(leaf: Leaf) -> str:
    """Return the name of a field without that of the struct around it."""
    return leaf.path.rpartition(".")[2]


def _both_names(leaves: Sequence[Leaf], *names: str) -> set[int]:
    """Return the holders with both names, such as `fname` and `lname`: one of them alone may be of a file."""
    firsts, lasts = ({one.holder for one in leaves if one.name.lower() == name} for name in names)
    return firsts & lasts


def _messages(leaves: Sequence[Leaf]) -> set[int]:
    """Return the holders of messages: their ends may be phones of digits alone."""
    return {
        leaf.holder
        for leaf in leaves
        if (step := _last_step(leaf).lower()) in _TEXTS_OF_MESSAGES
        or (step in _WAYS and leaf.text.lower() in _CALLED)
    }


def _cards(leaves: Sequence[Leaf]) -> set[int]:
    """Return the holders of payments by card: its number may have the name of an account."""
    return {leaf.holder for leaf in leaves if _OF_CARDS.match(_last_step(leaf))}


def _named_by_others(leaf: Leaf, messages: set[int], cards: set[int]) -> Leaf:
    """Return a leaf with the name that the fields next to it give."""
    if leaf.holder in cards and _DIGITS_OF_CARD.fullmatch(leaf.text):
        return leaf._replace(name=f"{leaf.name} card")
    return leaf._replace(name=f"phone {leaf.name}") if _is_end(leaf, messages) else leaf


def _is_end(leaf: Leaf, messages: set[int]) -> bool:
    is_end = leaf.holder in messages and _last_step(leaf).lower() in _ENDS_OF_MESSAGES
    return is_end and _DIGITS_OF_PHONE.fullmatch(leaf.text) is not None


def _fonts(leaves: Sequence[Leaf]) -> set[int]:
    """Return the holders of fonts: a `family`, and what no person has next to it."""
    steps: dict[int, set[str]] = {}
    for leaf in leaves:
        steps.setdefault(leaf.holder, set()).add(leaf.path.rpartition(".")[2].lower())
    return {holder for holder, names in steps.items() if "family" in names and names & _OF_FONTS}


def find_in(leaf: Leaf) -> list[Hit]:
    """Return the hits in a leaf, in their order, without what only the fields next to it show."""
    leaf = leaf if leaf.text.isascii() else leaf._replace(text=leaf.text.translate(_PLAIN))
    text = leaf.text
    if len(text) < _SHORTEST or is_masked(text) or (leaf.is_number and not _may_be_personal(leaf)):
        return []
    hits: list[Hit] = []
    for hit in _hits(leaf):
        if is_masked(text[hit.start : hit.end]) or any(_overlap(hit, other) for other in hits):
            continue
        hits.append(hit)
        if len(hits) >= MAX_HITS:
            break
    return sorted(hits)


def names_someone(name: str) -> bool:
    """Return whether a short name, such as a field's or a client's, has personal data in it."""
    return bool(_in_name(name))


@lru_cache(MAX_LEAVES)
def _in_name(name: str) -> tuple[Hit, ...]:
    """Return the hits in a short name: records have the same fields again and again."""
    return tuple(find_in(Leaf("", "", name)))


def _may_be_personal(leaf: Leaf) -> bool:
    """Return whether a number may be: with a telling name, and not of one digit and zeros."""
    return bool(leaf.name) and len(leaf.text.strip("-0.")) > 1 and leaf.text.lstrip("-").isdigit()


def _hits(leaf: Leaf) -> Iterator[Hit]:
    text, name = leaf.text, of_name(leaf.name)
    # Versions of libraries have the names of these, and addresses of servers any plain name.
    holder = of_name(leaf.holder_name).tags
    of_struct = (
        holder & _OF_STRUCTS if not name.tags - {"thing", "no_address"} or name.words in _PLAIN_IPS else ()
    )

    at, near = -1, [(name, True)]

    def telling(start: int) -> list[tuple[Telling, bool]]:
        nonlocal at, near
        if start != at:  # several tags are asked for at each place
            at = start
            near = [(name, True), *([(of_context(_before(text, start)), False)] if start > 0 else [])]
        return near

    def has_tag(start: int, tag: str) -> bool:
        return tag in of_struct or any(tag in words.tags for words, _ in telling(start))

    def has_birth(start: int, end: int) -> bool:
        before, after = _before(text, start), text[end : end + _CONTEXT].partition(",")[0]
        return "birth_before" in of_context(before).tags or "birth_after" in of_context(after).tags

    yield from credentials(text, has_tag, bool(leaf.name))
    yield from emails(text, has_tag)
    yield from greeted(text)
    if any(map(str.isdigit, text)):
        if " " in text and not name.tags & _NO_SENTENCES:
            yield from street_addresses(text)
        yield from birth_dates(text, has_birth)
        yield from ibans(text, has_tag)
        yield from cards(text, has_tag)
        yield from national_ids(text, name, telling)
        yield from phones(text, has_tag)
        yield from ip_addresses(text, has_tag)
        yield from coordinates(text, has_tag)


def _before(text: str, start: int) -> str:
    """Return the words of the same line and sentence before an offset."""
    before = _ABBREVIATED.sub(r"\1 ", text[max(0, start - _CONTEXT) : start])
    parameter = _PARAMETER.search(before)
    if parameter is not None:
        return parameter[1]
    for end in ("\n", ". ", "; ", ", ", "|"):
        before = before.rpartition(end)[2]
    return _ASSIGNED.sub("", before, count=1)


def _is_inside(hit: Hit, parts: Sequence[Leaf], starts: Sequence[int]) -> bool:
    """Return whether a hit in a text has characters of one of the fields in it, which `starts` begin."""
    at = bisect_left(starts, hit.end) - 1
    return at >= 0 and hit.start < parts[at].end


def _is_among(hit: Hit, part: Leaf, hits: Sequence[Hit]) -> bool:
    """Return whether a hit in a field of a text is one of the text."""
    start, end = part.start + hit.start, part.start + hit.end
    return any(start < other.end and other.start < end for other in hits)


def _overlap(one: Hit, other: Hit) -> bool:
    return one.start < other.end and other.start < one.end


def _positions(leaves: Sequence[Leaf]) -> Iterator[Found]:
    """Yield latitudes and longitudes: fields next to each other, or the two numbers of a list."""
    by_holder: dict[tuple[int, str], dict[str, Leaf]] = {}
    lists: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        telling = of_name(leaf.name)
        for tag in telling.tags & _PAIRED:
            # `pickup_lat` goes with `pickup_lng`, and not with `dropoff_lng`.
            by_holder.setdefault((leaf.holder, without(tag, telling.words)), {}).setdefault(tag, leaf)
        if leaf.is_number and leaf.is_item and "geo" in telling.tags:
            lists.setdefault(leaf.holder, []).append(leaf)
    for pair in by_holder.values():
        if len(pair) < len(_PAIRED):
            continue
        latitude, longitude = pair["latitude_itself"], pair["longitude_itself"]
        if is_written_position(latitude.text, longitude.text):
            yield from _both(latitude, longitude, Confidence.SURE)
    for items in lists.values():
        if len(items) in (2, 3) and _is_either(items[0].text, items[1].text):
            yield from _both(items[0], items[1], Confidence.LIKELY)


def _dates(leaves: Sequence[Leaf]) -> Iterator[Found]:
    """Yield year, month and day of birth dates that are lists of three numbers, as Jackson writes them, or
    three fields.
    """
    lists: dict[int, list[Leaf]] = {}
    fields: dict[int, dict[str, Leaf]] = {}
    for leaf in leaves:
        telling = of_name(leaf.name)
        if leaf.is_number and leaf.is_item and "birth" in telling.tags:
            lists.setdefault(leaf.holder, []).append(leaf)
        part = telling.words.rpartition(" ")[2]
        is_part = part in _PARTS_OF_BIRTH and leaf.text.isdecimal()
        if is_part and "birth" in telling.tags | of_name(leaf.holder_name).tags:
            fields.setdefault(leaf.holder, {}).setdefault(_PARTS_OF_BIRTH[part], leaf)
    lists = {
        holder: items
        for holder, items in lists.items()
        if any(len(one.text) == _YEAR_DIGITS for one in items)
    }
    parts = [
        [of[one] for one in ("year", "month", "day")] for of in fields.values() if len(of) == _PARTS_OF_DATE
    ]
    for items in (*lists.values(), *parts):
        if len(items) == _PARTS_OF_DATE and is_birth_date("-".join(f"{one.text:0>2}" for one in items)):
            for leaf in items:
                yield Found(
                    leaf, Hit(0, len(leaf.text), Kind.BIRTH_DATE, Confidence.LIKELY, "part of a list")
                )


def _is_either(one: str, other: str) -> bool:
    """Return whether two numbers are a position. GeoJSON has the longitude first (RFC 7946)."""
    return is_position(one, other) or is_position(other, one)


def _both(one: Leaf, other: Leaf, confidence: Confidence) -> Iterator[Found]:
    for leaf, form in ((one, "first of two fields"), (other, "second of two fields")):
        yield Found(leaf, Hit(0, len(leaf.text), Kind.COORDINATES, confidence, form))
