"""Names after a greeting, at the begin of a message: `Dear Anna,`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.people import is_name

_GREETINGS = (
    "dear|hi|hello|hey|good (?:morning|afternoon|evening)|hallo|liebe|lieber|guten tag"
    "|sehr geehrter? (?:herr|frau)|hola|estimad[oa]|querid[oa]|buenos d[ií]as|bonjour|cher|ch[eè]re"
    "|salut|ciao"
    "|gentile|car[oa]|ol[aá]|prezad[oa]|beste|geachte (?:heer|mevrouw)|hej|hejsan|k[aä]ra|b[aä]sta|hei"
    "|kj[aæ]re|k[aæ]re|cze[sś][cć]|dzie[nń] dobry|drog[ai]|szanown[ya]"
    "|dobr[yý] den|ahoj|v[aá][zž]en[aáyý]|merhaba|say(?:i|\u0131)n|szia|kedves|bun[aă]|drag[aăi]"
    "|zdravo|bok|pozdravljeni"
    "|tere|sveiki|labas|halo|yth|kepada"
)
_GREETED = re.compile(
    rf"(?:^|[\n\"'.!?] ?)(?i:{_GREETINGS}),? "
    r"(?P<name>[^\W\d_a-z][^\W\d_]{1,24}(?: [^\W\d_a-z][^\W\d_'\u2019-]{1,24}){0,3})(?=[,!:]|\.\s)"
)
# Who is greeted without a name.
_OTHERS = frozenset((
    "customer", "customers", "sir", "madam", "all", "team", "there", "everyone", "everybody", "world",
    "user", "users", "friend", "friends", "colleague", "colleagues", "partner", "guest", "member",
    "members", "client", "folks",
    "guys", "again", "you", "reader", "readers", "diary", "lord", "god", "kunde", "kundin",
    "kunden", "kollegen",
    "damen", "herren", "zusammen", "welt", "mundo", "monde", "mondo", "cliente", "clientes", "clienti",
    "mensen", "klant", "kund", "allihopa", "alle", "alla", "wszyscy", "kliencie", "todos", "todas", "tutti",
))  # fmt: skip


def greeted(text: str) -> Iterator[Hit]:
    """Yield the names of people who are greeted in a text."""
    for found in _GREETED.finditer(text):
        name = found["name"]
        words = name.split()
        is_other = not all(word[0].isupper() and word.lower() not in _OTHERS for word in words)
        if not is_other and is_name(name):
            start, end = found.span("name")
            yield Hit(start, end, Kind.NAME, Confidence.POSSIBLE, "after a greeting")
