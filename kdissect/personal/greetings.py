"""Names after a greeting or an introduction in a message: `Dear Anna,`, `my name is Anna Novak.`"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.people import is_name
from kdissect.personal.telling_names import of_context

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
_TITLES = (
    r"(?:(?:ms|mrs?|miss|mx|dr|prof|sir|madam|herrn?|frau|fr|hr|fru|m|mme|mlle|monsieur|madame|mademoiselle"
    r"|sra?|srta"
    r"|se[ñn]ora?|se[ñn]orita|don|do[ñn]a|senhora?|dona|sig|sig\.?ra|signora?|dott|dott\.?ssa|dhr|mevr"
    r"|mevrouw|heer|pan|pani|pane"
    r"|bay|bayan|domnule?|doamn[ăa]|gospodine?|gospo[đd]o|herra|rouva|bapak|ibu|bpk)\.? ){0,2}"
)
_GREETED = re.compile(
    rf"(?:^|[\n\"'.!?] ?)(?i:{_GREETINGS}),? (?i:{_TITLES})"
    r"(?P<name>[^\W\d_a-z](?:[^\W\d_]|['\u2019-]){1,24}(?: [^\W\d_a-z](?:[^\W\d_]"
    r"|['\u2019-]){1,24}){0,3})(?=[,!:]|\.\s)"
)
_INTRODUCED = re.compile(
    r"(?i:\b(?:my name is|mein name ist|ich hei(?:ss|\u00df)e|me llamo|mi nombre es"
    r"|je m['\u2019]appelle|mon nom est|mi chiamo"
    r"|il mio nome \u00e8|meu nome \u00e9|chamo-me|mijn naam is|mit navn er|mitt namn \u00e4r"
    r"|jag heter|jeg heter|nimeni on"
    r"|nazywam si\u0119|jmenuji se|vol\u00e1m sa|a nevem|numele meu este|m\u0103 numesc"
    r"|benim ad\u0131m|ad\u0131m|zovem se"
    r"|ime mi je|minu nimi on|mans v\u0101rds ir|mano vardas|nama saya)) "
    r"(?P<name>[^\W\d_a-z](?:[^\W\d_]|['\u2019-]){1,24}(?: [^\W\d_](?:[^\W\d_]|['\u2019-]){1,24}){0,3}?)"
    r"(?=[,.;:!()]|\s*$| (?:and|und|y|et|e|en|och|og|i|a|ja|ve|is|from|with|my|mein|mi|mon|mijn|der|die)\b)",
    re.MULTILINE,
)
# Names after a title, and in a text about a person after a word for people: `customer Murilo Souza called`.
_TITLED = re.compile(
    r"(?<![\w.])(?:Mrs?|Ms|Dr|Prof|Herrn?|Frau|Sra?|Srta|Mme|Mlle|Sig|Dott|Dhr|Mevr|Fru"
    r"|(?i:se[ñn]or(?:a|ita)?|monsieur|madame|mademoiselle|signora?|senhora?|mevrouw|meneer))"
    r"(?:\. ?| )(?:(?:Dr|Ing|Mag|med)\. ?){0,2}(?P<name>[^\W\d_a-z](?:[^\W\d_]|['\u2019-]){1,24}"
    r"(?: (?:(?:van|de|der|von|da|di|del|dos) ){0,2}[^\W\d_a-z](?:[^\W\d_]|['\u2019-]){1,24}){1,2})(?!\w)"
)
_CALLED = re.compile(
    r"(?<![\w.-])(?P<word>[^\W\d_]{3,20}):? (?P<name>[^\W\d_a-z](?:[^\W\d_]|['\u2019-]){1,24}"
    r"(?: (?:(?:van|de|der|den|von|da|di|del|do|dos) ){0,2}[^\W\d_a-z](?:[^\W\d_]"
    r"|['\u2019-]){1,24}){1,3})(?![\w@])"
)
# As airlines write passengers: `SMITH/JOHN MR`.
_TICKETED = re.compile(
    r"(?<![\w/])(?P<name>[A-Z]{2,30}/[A-Z]{2,30}(?: [A-Z]{2,20}){0,2} ?(?:MR|MRS|MS|MSTR|MISS|CHD|INF))(?!\w)"
)
# Words of names of systems and documents that begin with one for people: `Customer Data Platform`.
_WORDS_OF_SYSTEMS = """
user users client clients member members contact contacts driver drivers guest person account access
agreement analytics application area authentication authorization based care center centre centric chat
checkout club code connect consent credential credentials dashboard data database date details directory
experience export feedback file flow form gateway grant guide hub id identity import information insight
insights interface journey lifecycle list login loyalty mail management manager master message mode model
module name notification number order orders page panel payment platform policy portal priority privacy
product profile program programme project protocol record records registration registry relationship release
report reporting request research review role roles safety satisfaction screen score secret section segment
segmentation self session settings side site software solution space state status story success summary
survey system table ticket tool tracking transaction type update validation value view wallet web zone
"""
_OF_SYSTEMS = frozenset(_WORDS_OF_SYSTEMS.split())
_WORDS_FOR_PEOPLE = frozenset({"person", "any_name", "name"})
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
    """Yield the names of people who are greeted in a text, who introduce themselves, or who fly."""
    for found in (*_GREETED.finditer(text), *_INTRODUCED.finditer(text)):
        name = found["name"]
        words = name.split()
        is_other = not words[-1][0].isupper() or any(word.lower() in _OTHERS for word in words)
        if not is_other and is_name(name):
            start, end = found.span("name")
            yield Hit(start, end, Kind.NAME, Confidence.POSSIBLE, "after a greeting")
    for found in _TITLED.finditer(text):
        if is_name(found["name"]):
            yield Hit(*found.span("name"), Kind.NAME, Confidence.POSSIBLE, "after a title")
    if "/" in text:
        for found in _TICKETED.finditer(text):
            yield Hit(found.start(), found.end(), Kind.NAME, Confidence.LIKELY, "of a passenger")


def called(text: str) -> Iterator[Hit]:
    """Yield the names after words for people or names, in a text that is of a person."""
    for found in _CALLED.finditer(text):
        is_of_thing = any(word.lower() in _OF_SYSTEMS for word in found["name"].split())
        if is_of_thing or found["word"].lower() in _OF_SYSTEMS:
            continue
        if of_context(found["word"]).tags & _WORDS_FOR_PEOPLE and is_name(found["name"]):
            yield Hit(*found.span("name"), Kind.NAME, Confidence.POSSIBLE, "in a text")
