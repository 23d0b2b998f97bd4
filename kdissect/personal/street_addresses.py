"""Addresses of streets in a sentence: `lives at 22 Baker Row`, `Rosenweg 3, 50667 Köln`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kdissect.personal.hits import Confidence, Hit, Kind
from kdissect.personal.people import is_address, is_word_of_street

_CAPITAL = r"[^\W\d_a-z]"
_WORD = (
    rf"(?:{_CAPITAL}[\w'\u2019-]{{1,24}}|{_CAPITAL}\w{{0,4}}\.|{_CAPITAL}\w{{1,20}}(?:str|pl|g|v)\."
    r"|\d{1,2}(?:\.|o|º|er)?(?= ))"
)
_SMALL = (
    r"(?:de|del|de la|de las|de los|la|di|della|dei|do|da|dos|das|du|des"
    r"|van|van de|van der|of|the|den|und|y|e)"
)
_WORDS = rf"{_WORD}(?: (?:{_SMALL} ){{0,2}}{_WORD}){{0,4}}"
_NUMBER = r"\d{1,5}(?:[/-]\d{1,5})?(?: ?[a-hA-H](?![\w.]))?"
# What stands before the name of a street in languages that have the number last.
_BEFORE = (
    r"(?:ul|ulica|al|aleja|os|pl|plac|rua|r|av|avda|avenida|calle|c/|cl|cra|carrera|calzada|calz|blvd"
    r"|boulevard|paseo|plaza|pza"
    r"|camino|beco|travessa|trav|largo|praça|praca|estrada|alameda|via|viale|corso|piazza|piazzale|vicolo"
    r"|largo"
    r"|rue|avenue|allée|chemin|impasse|quai|place|cours|ulice|tř|třída|nám|náměstí|námestie|str|strada|bd"
    r"|bulevardul|calea|șos"
    r"|jl|jalan|ул|улица|вул|вулиця|пр|проспект|бул)"
)
_STREET_FIRST = rf"(?:(?i:{_BEFORE})\.? (?:{_SMALL} )?)?{_WORDS},? (?:(?:n|nº|nr|no|č|No)\.? ?)?{_NUMBER}"
_NUMBER_FIRST = rf"{_NUMBER},? (?:(?:bis|ter),? )?(?:(?i:{_BEFORE}) (?:{_SMALL} )?)?{_WORDS}"
# The flat, the postal code and the town after it.
_FLAT = (
    r"(?:(?:,? (?i:apt|apto|flat|unit|suite|lgh|ap|app|m|et|bl|sc|int|interior|top|tür|stiege|piso|depto"
    r"|dpto|esc|kv|кв|d|st|tv|th|mf"
    r"|col|bus|daire|kat|no|nr)\.? ?[\w./]{0,8}(?: [A-Z][\wà-ÿ]{2,20})?|,? \d{1,2}(?:\.|º|ª|\.º"
    r"|o)? ?(?:[A-Z]|dto|dcha|izq|esq|dcha|tv|th|mf|sal)\b\.?)){0,3}"
)
_POSTAL = r"(?:[A-Z]{1,2}-)?(?:\d{2}-\d{3}|\d{4}-\d{3}|\d{5}-\d{3}|\d{3} \d{2}|\d{4} ?[A-Z]{2}|\d{4,6})"
_UK = r"[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}"
_TOWN = rf"{_WORD}(?: {_WORD}){{0,2}}"
_PLACE = rf"(?:,? {_POSTAL} {_TOWN}|, {_TOWN},? (?:{_UK}|[A-Z]{{2}},? \d{{5}}(?:-\d{{4}})?|{_POSTAL})(?!\w))"
_STREETS = re.compile(
    rf"(?<![\w.@/-])(?P<street>(?:{_STREET_FIRST}|{_NUMBER_FIRST})){_FLAT}(?P<place>{_PLACE})?(?![\w@])"
)
# What says before a street in a sentence that somebody lives there, and that something is near.
_LIVES = re.compile(
    r"(?i:\b(?:(?:lives?|living|resid(?:es?|ing)) (?:at|in)|my address is|home address is|address is"
    r"|wohn(?:haft|t|e)(?: in(?: der)?)?|(?:meine |neue )?adresse (?:ist|lautet)"
    r"|(?:demeurant|domicili\w{1,3}|habite|r[ée]sid\w{1,4})(?: au?x?| [àa]| chez)?|mon adresse est"
    r"|(?:viv[eo]|resid[eo]|domiciliad[oa])(?: en)?|mi direcci[óo]n es|mi domicilio es"
    r"|(?:residente|abit[oa]|domiciliat[oa])(?: in| a)|il mio indirizzo [èe]"
    r"|(?:mor[oa]|residente)(?: na| no| em| [àa])|(?:meu endere[çc]o|a minha morada) [ée]"
    r"|zamieszka[łl]\w{0,3}(?: przy| na)?|mieszka\w{0,2}(?: przy| na)?|m[óo]j adres to"
    r"|woon(?:achtig|t)(?: aan de| aan| in| op)?|mijn adres is"
    r"|bor (?:p[åa]|i)|bosatt(?: p[åa])?|min adress [äa]r|min adresse er|asuu|osoitteeni on"
    r"|bydl[íi]\w{0,3}(?: na| v)?"
    r"|(?:adress?e?|address|direcci[óo]n|domicilio|indirizzo|morada|endere[çc]o|adresu|adresa|osoite"
    r"|adres)(?: (?:is|[ée]|es|est|[èe]|ist|jest|je|[äa]r|er|on|to))?):? $)"
)
_NEAR = re.compile(
    r"(?i:\b(?:near|at|from|deliver\w{0,2} to|ship\w{0,3} to|sen[dt](?: it| them)? to|mov(?:ed|ing) to"
    r"|liefer\w{0,6} (?:an|nach)"
    r"|bei|an|livr\w{1,5} (?:au|[àa])|env[íi]\w{1,6} a|entreg\w{1,4} (?:na|no|em)|consegna\w{0,3} (?:in|a)"
    r"|w pobli[żz]u|przy"
    r"|bezorg\w{0,3} (?:op|aan)|n[äa]ra|n[æa]r|perto d[aeo]|cerca de|pr[èe]s de|vicino a|bl[íi]zko) $)"
)
# Words that one of is in any of these texts: most texts have none, and are not searched further.
_HINT = re.compile(
    r"(?i:str(?:a(?:ss|ß)e|eet|aat|\.)|we?g\b|vej|v[äa]g|g(?:a|å)t[ae]|gade|gasse|allee|platz|plads|laan"
    r"|gracht"
    r"|road|\b(?:ave|avenue|lane|drive|close|court|square|rue|calle|via|rua|av|avda|ul|al|jl|jalan|row|grove"
    r"|terrace|hill"
    r"|place|plaza|paseo|piazza|corso|viale|quai|chemin|cra|carrera|calzada|blvd|boulevard|beco|travessa"
    r"|largo|estrada"
    r"|alameda|ulice|ulica|t[řr]\.|n[áa]m|str|strada|utca|út|u\.|sok|sokak|cad|cadd|iela|gatve|tie|katu|sk"
    r"|marg|nagar|chowk|vihar)\b|katu|tie\b"
    r"|vænget|veien|vegen|stigen|cesta|ul\.|ул|вул|пр|\b(?:near|liv|reside|deliver|ship|send|wohn|adres"
    r"|addres|direcci|indiriz|endere|domicil|resid|osoite|mor[oa]\b|viv[eo]\b|abit|woon|miesz|zamiesz|bydl"
    r"|bor\b))"
)
_CONTEXT = 40
_LEAST_BLANKS = 2  # of a sentence


def street_addresses(text: str) -> Iterator[Hit]:
    """Yield the addresses in a text: with a word of streets and a town, in a line of their own with a town,
    or where somebody lives.
    """
    if text.count(" ") < _LEAST_BLANKS or _HINT.search(text) is None:
        return
    for found in _STREETS.finditer(text):
        street = found["street"]
        has_street = any(map(is_word_of_street, re.findall(r"[^\W\d_]+", street)))
        has_place = found["place"] is not None
        before = max(0, found.start() - _CONTEXT), found.start()
        is_line = text[: found.start()][-1:] in ("", "\n") and text[found.end() :][:1] in ("", "\n", "\r")
        if not (
            (has_street and (has_place or _NEAR.search(text, *before)))
            or (has_place and is_line)
            or _LIVES.search(text, *before)
        ):
            continue
        if is_address(street):
            yield Hit(found.start(), found.end(), Kind.ADDRESS, Confidence.POSSIBLE, "in a text")
