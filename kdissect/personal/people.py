"""Names, birth dates and addresses of people: fields with a telling name and a value that fits."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from kdissect.personal.birth_dates import is_birth_date, is_birth_number
from kdissect.personal.hits import MASKED_WORD, Confidence, Hit, Kind
from kdissect.personal.telling_names import is_phrase, of_name

_NAME = re.compile(r"[^\W\d_][^\W\d_.'\u2019`-]*(?:[ .,'\u2019`-]{1,2}[^\W\d_][^\W\d_.'\u2019`-]*){0,6}\.?")
_CHILD_OF = re.compile(r"(?<!\w)[ads]/[lpo] ", re.IGNORECASE)  # `a/l` in Malaysia
_TICKET = re.compile(r"^([A-Z][A-Z ]+)/([A-Z][A-Z ]+)$")  # surname first, as airlines write it
_LONGEST_NAME = 80
_LONGEST_SYLLABLE = 4  # `Ming` and `Mei` are names, too
_CONSTANTS = frozenset(("NA", "TBD", "NIL", "NUL", "YES", "NO", "MR", "MRS", "MS", "DR", "NEW", "OLD", "USD"))
# Values of programs that lack a name, or stand for one.
_PLACEHOLDERS = frozenset((
    "none", "null", "nil", "undefined", "unknown", "true", "false", "string", "text", "varchar", "str",
    "empty", "default", "anonymous", "optional", "required", "unset", "hidden", "redacted", "not set",
    "not available", "total",
))  # fmt: skip
# Words of names of companies, of roles and of parts of systems: a field `name` in `customer` may have them.
_NO_PERSONS = frozenset((
    "gmbh", "inc", "ltd", "llc", "corp", "corporation", "company", "kg", "plc", "oy", "srl", "bv",
    "pty", "limited", "team", "group", "support", "service", "services", "system", "systems", "admin",
    "administrator", "root", "account", "user", "desk", "bot", "agent", "sender", "receiver", "test",
    "suite", "leader", "follower", "broker", "server", "client", "node", "cluster", "worker", "job",
    "task", "consumer", "producer", "queue", "topic", "letter", "connector", "controller", "replica",
    "gateway", "database", "api", "app",
))  # fmt: skip
# A text with one of these is of no person, whatever fields are next to it.
_ORGANISATIONS = frozenset((
    "team", "shop", "store", "gmbh", "inc", "ltd", "llc", "corp", "corporation", "company", "plc", "srl",
    "limited", "support", "services", "department", "dept", "office", "hr", "sales", "marketing", "helpdesk",
    "newsletter", "noreply", "proxy", "sarl", "ltda", "doo", "kft", "sro", "spa", "oyj", "ooo", "foundation",
))  # fmt: skip
# `README.md`, `org.apache.Foo`; not `J.R. Ewing`
_FILE = re.compile(r"[^\W\d_]{3,}\.[^\W\d_]")
_LONGEST_ADDRESS = 200
_NO_ADDRESS = re.compile(r"[\w.-]+:\d+|\w+://.*|.*@.*|[0-9a-fA-F:.]+|0x[0-9a-fA-F]+|[\w-]+(?:\.[\w-]+)+")
# Code, and addresses of memory
_PROGRAM = re.compile(r"[={}<>\[\]|_*^~]|(?<!\w)\$|\$(?!\w)|::|;$|\b0x[0-9a-fA-F]")
_WORDS = re.compile(r"[^\W\d_]+")
_STREET = re.compile(
    r".*(?:street|road|avenue|lane|square|drive|court|close|crescent|boulevard|blvd|stra(?:ss|ß)e|str\.?"
    r"|gasse|allee|damm|ufer|linden|platz|weg|straat|laan|kade|plein|gracht|singel|dijk|gat[ae]n?|gade"
    r"|v[äa]gen|vej(?:en)?|vei(?:en)?|veg(?:en)?"
    r"|stigen|katu|tie|iela|gatve|utca)"
    r"|ulice|n[áa]m[ěe]st[íi]|t[řr][íi]da|trg|cesta|camino|calzada|paseo|plaza|av|avda|avd|corso|viale"
    r"|vicolo|piazza"
    r"|largo|pra[çc]a|travessa|all[ée]e?|chemin|impasse|quai|bulevar|soka[ğg](?:i|\u0131)|caddesi|mahallesi"
    r"|k[öo]r[úu]t"
    r"|aleja|plac|osiedle|al|os"
    r"|row|marg|nagar|chowk|vihar|grove|terrace|beco|estrada|alameda|t[řr]|n[áa]m|v[æa]nget|str[æa]de"
    r"|torv(?:et)?|plads|prospekt"
    r"|улица|ул|вулиця|вул|проспект"
    r"|st|rd|ave|str|rue|via|calle|rua|avenida|ulica|ul|utca|út|tér|gata|sokak|cadde|iela|strada|jalan|jl",
    re.IGNORECASE,
)
# Words of addresses in computers, often with a capital at the beginning of a text.
_OF_MACHINES = frozenset((
    "line", "slot", "bank", "node", "rack", "host", "port", "frame", "page", "pages", "block", "offset",
    "byte", "bytes", "bit", "bits", "range", "row", "register", "version", "enabled", "disabled",
    "broker", "bus", "dma", "cpu", "gpu", "ram", "rom", "usb", "pci", "kib", "mib", "gib", "index",
    "segment", "cell", "level", "channel", "function", "device", "server", "space",
))  # fmt: skip
_NUMBER = re.compile(r"\b\d")  # not of `IPv4`
_SHORTEST_CAPITALS = 3  # `4 GB`
_LETTER = re.compile(r"[^\W\d_]")
_CASELESS = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")  # kana, Han and Hangul


class Beside(NamedTuple):
    """Evidence next to a field.

    `telling` fields are of a person, itself included. `is_evident`: the value of one shows a person.
    `of_person`: the struct around it has the name of a person. `has_number`: there is the number of a house
    or a postal code.
    """

    telling: int
    is_evident: bool
    of_person: bool
    has_number: bool


def person_field(text: str, tags: frozenset[str], beside: Beside, is_number: bool = False) -> Hit | None:
    """Return the whole value of a field if it is a name, birth date or address by its tags; else None."""
    telling, is_evident, of_person, has_number = beside
    kind = None
    is_likely = of_person or telling > 1
    is_alone = "birth_alone" in tags and not is_likely
    is_bare = "any_name" in tags and (telling > 0 or (of_person and " " in text.strip()))
    is_bare |= "short_name" in tags and telling > 0
    is_bare |= {"any_name", "person"} <= tags and " " in text.strip()
    if is_number:
        kind = Kind.BIRTH_DATE if "birth_moment" in tags and not is_alone and is_birth_number(text) else None
    elif ("name" in tags or is_bare) and _is_name(
        text, "name" in tags and telling > 1, "name" in tags and is_evident
    ):
        kind = Kind.NAME
    elif "birth" in tags and is_birth_date(text) and not (is_alone and ":" in text):
        kind = Kind.BIRTH_DATE
    elif (
        "maybe_address" in tags and (has_number or _has_street(text)) and _is_address(text, False, has_number)
    ) or (
        "address" in tags
        and not tags & {"no_address", "ip", "email"}
        and _is_address(text, is_likely, has_number)
    ):
        kind = Kind.ADDRESS
    if kind is None:
        return None
    return Hit(0, len(text), kind, Confidence.LIKELY if is_likely else Confidence.POSSIBLE)


def is_name(text: str) -> bool:
    """Return whether a text may be a name by its words alone."""
    return _is_name(text, False, False)


def _is_name(text: str, is_of_person: bool, is_small: bool) -> bool:
    """Return whether a text may be a name: words of letters, the first or last of them capitalised if its
    script has capitals. `is_of_person`: other fields next to it are of a person, so that few capitals may be.
    `is_small`: it may be without capitals.
    """
    plain = "".join(one for one in text.strip() if not unicodedata.category(one).startswith("M"))
    plain = _CHILD_OF.sub("", plain).replace("^", " ")  # parts of names in DICOM
    plain = _TICKET.sub(r"\1 \2", plain)
    if len(plain) > _LONGEST_NAME or not _NAME.fullmatch(plain):
        return False
    if plain.lower() in _PLACEHOLDERS or _FILE.search(plain) or MASKED_WORD.search(plain):
        return False
    words = [word for word in re.split(r"[ ,.'\u2019`-]+", plain) if word]
    if len(words) > 1 and any(word.lower() in _ORGANISATIONS for word in words):
        return False
    if is_phrase(plain, "name") or (is_phrase(plain, "any_name") and len(plain) > _LONGEST_SYLLABLE):
        return False  # the name of the field in a language: a translation
    if not is_of_person and any(word.lower() in _NO_PERSONS for word in words):
        return False
    is_written = any(not word[0].islower() for word in words) or (is_small and not of_name(plain).tags)
    is_constant = plain.isascii() and plain.isupper() and len(words) == 1 and len(plain) <= 3
    is_constant &= not is_of_person or plain in _CONSTANTS or len(plain) == 1
    return is_written and not is_constant


def is_address(text: str) -> bool:
    """Return whether a text may be an address by its words and numbers alone."""
    return _is_address(text, False, False)


def is_word_of_street(word: str) -> bool:
    """Return whether a word is of names of streets."""
    return _STREET.fullmatch(word) is not None


def _is_address(text: str, is_of_person: bool, has_number: bool) -> bool:
    """Return whether a text may be an address. `is_of_person` as in `_is_name`: houses may have no number.
    `has_number`: the field next to it has.
    """
    plain = text.strip()
    if not 4 <= len(plain) <= _LONGEST_ADDRESS or _NO_ADDRESS.fullmatch(plain):
        return False
    if _CASELESS.search(plain):
        return True
    words = plain.split()
    if len(words) < 2 - has_number or not _LETTER.search(plain) or _PROGRAM.search(plain):
        return False
    if not any(map(_is_of_place, _WORDS.findall(plain))):
        return False
    return _NUMBER.search(plain) is not None or (
        has_number or (is_of_person and not any(word[0].islower() for word in words))
    )


def _has_street(text: str) -> bool:
    return _NUMBER.search(text) is not None and any(map(_STREET.fullmatch, _WORDS.findall(text)))


def _is_of_place(word: str) -> bool:
    """Return whether a word may be of an address: with a capital, if its script has any, or of streets."""
    if word.lower() in _OF_MACHINES or MASKED_WORD.fullmatch(word):
        return False
    if word[0].islower() or (word.isupper() and len(word) < _SHORTEST_CAPITALS):
        return _STREET.fullmatch(word) is not None
    return True
