"""The fields inside of a text: CSV with names, SQL, forms, XML, key=value, labelled lines, vCards, JSON."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from urllib.parse import unquote

from kdissect.personal.bounds import MAX_DEPTH, MAX_LEAVES
from kdissect.personal.health_messages import health_leaves
from kdissect.personal.leaf import Leaf
from kdissect.personal.leaves import MAX_PATH, full_name, json_leaves, leaf_in_text, shown_step
from kdissect.personal.sql_values import sql_leaves
from kdissect.personal.telling_names import is_phrase, of_name
from kdissect.personal.text_tables import table_leaves
from kdissect.personal.trade_messages import trade_leaves

_CODE = "%[0-9A-Fa-f]{2}"
_KEY = rf"(?:[^\W\d]|{_CODE})(?:[\w.-]|{_CODE}|\[\w{{0,40}}\]){{0,120}}"
# A part of multipart/form-data (RFC 7578, section 4.2); the name before an email address (RFC 5322, section
# 3.4); an element of XML; an item of a list of fields in brackets, as `toString` of classes prints it; a
# name, an equals sign and a value, in quotes or without; a name, a colon and a value in quotes (Protobuf,
# Python); a line of a label and a value; a row of a table in Markdown; and a field of a struct of Go (`%+v`).
_FIELD = re.compile(
    # Each begins outside of a word, or with a tag: most characters are passed over at once.
    r"(?:(?<!\w)(?=[^\W\d]|[%|\"':\[])|(?=<)|(?<![^\n])(?=[ \t>*-]))"
    rf"(?:^Content-Disposition: form-data; name=\"(?P<control>{_KEY})\"\r?\n"
    r"(?:[\w-]{1,40}:[^\r\n]{0,200}\r?\n)?\r?\n(?P<body>[^\r\n]{1,200})\r?$"
    r"|^(?P<mail>From|To|Cc|Reply-To|Sender):[ \t]\"?(?P<mailbox>[^\"<>@,:\n]{2,80}?)\"?[ \t]?<"
    r"(?=[^<>@\s]{1,64}@)"
    r"|\b(?:[Nn]ame|NAME|[Kk]ey|id|field|FriendlyName"
    r"|property)=\"(?P<attribute>[^\W\d][\w.-]{0,60})\"(?:(?:\s{1,9}(?!name="
    r"|value=)[\w:-]{1,40}=\"[^\"<>]{0,200}\")"
    r"{0,6}\s{1,9}value=\"(?P<stated>[^\"<>]{1,200})\"|"
    r"[^<>]{0,200}(?<!/)>\s{0,40}(?:<[\w.:-]{0,60}[Vv]alue(?:\s[^<>]{0,200})?>)?(?P<inner>[^<>]{1,200})</)"
    # An element that has its value in an attribute (FHIR), or the name of its value after it.
    r"|<(?P<holding>[^\W\d][\w.:-]{0,60}) value=\"(?P<held>[^\"<>]{1,200})\" ?/?>"
    r"|\bvalue=(?=\"[^\"<>]{1,200}\" name=\"(?P<named_after>[^\W\d][\w.-]{0,60})\")"
    r"\"(?P<before>[^\"<>]{1,200})\""
    r"|<(?:td|th|dt|b|strong|label"
    r"|span)(?:\s[^<>]{0,200})?>\s{0,20}(?P<caption>[^\W\d_][^<>:]{0,40}?)\s?:?\s{0,20}"
    r"</(?:td|th|dt|b|strong|label|span)>\s{0,200}:?(?:<(?:td|dd|span)(?:\s[^<>]{0,200})?>)?\s{0,20}"
    r"(?P<shown>[^<>\s][^<>]{0,200}?)\s{0,20}</?(?:td|dd|span|br|p|li|div)\b"
    # A key and its value as elements of their own: lists of properties.
    r"|<(?:key|name|field)>(?P<keyed>[^\W\d][\w.-]{0,60})</(?:key|name|field)>\s{0,40}"
    r"<(?:string|value|val|integer|date|text)>(?P<valued>[^<>]{1,200})</"
    r"|<(?P<element>[^\W\d][\w.:-]{0,60})"
    r"(?:\s(?:[^<>]{0,200}?(?<=[\s:])(?:name|Name|key"
    r"|id)=\"(?P<title>[^\"<>]{1,60})\")?[^<>]{0,200})?>(?P<content>[^<>]{1,200})</(?P=element)>"
    rf"|(?:(?<=[(\[{{])|(?<=, ))(?P<item>{_KEY})=(?P<free>[^\s\"'=][^=\n]{{0,200}}?)"
    r"(?=, ?[\w.]{1,60}=|[)\]}])"
    # Arrows of PHP, Ruby and Perl; PHP's serialized arrays; `{ Name = value, ... }` of C#; a line of a
    # setting whose value has blanks, and such a value in a list.
    rf"|[:\"'\[]?(?P<arrow>{_KEY})[\"'\]]{{0,2}}[ \t]{{0,9}}=>\s{{0,9}}"
    rf"(?:string\(\d{{1,4}}\) )?(?:\"(?P<arrowed>[^\"\\\n]{{1,200}})\""
    r"|'(?P<pointed>[^'\\\n]{1,200})'|(?P<shot>[^\s\"',()\[\]{}][^\n,]{0,200}?)(?=\r?$|,))"
    rf"|s:\d{{1,4}}:\"(?P<serial>{_KEY})\";s:\d{{1,4}}:\"(?P<serialized>[^\"]{{1,200}})\""
    r"|(?<=[{(,] )(?P<member_name>[A-Za-z]\w{0,60}) = (?P<given>[^,{}\n=\"']{1,200}?)(?=, \w{1,60} = | ?\})"
    rf"|^(?P<setting>{_KEY})=(?P<phrase>[^\s\"'=&;<>{{}}]{{1,60}} [^\n=&;<>{{}}\"]{{0,200}}?)\r?$"
    rf"|(?<=[\s,;(\[{{])(?P<listed_name>{_KEY})=(?P<listed>[^\s\"'=,;&<>{{}}()\[\]]{{1,60}}"
    r" [^=\n,;&<>\"]{1,80}?)(?=[,;] ?[\w.]{1,60}=)"
    # A line of what psql prints in expanded form.
    r"|^[ \t]{0,8}(?P<left>[^\W\d_][\w ./-]{1,40}?)[ \t]{0,40}\|[ \t]{1,4}"
    r"(?P<right>[^|\s][^|\n]{1,200}?)[ \t]{0,40}\r?$"
    rf"|(?:(?<=[\s&?;,{{(\[|])|^)(?P<key>{_KEY})=(?!\w{{0,60}}[({{\[]\w+=)"
    r"(?:\"(?P<quoted>[^\"\\]{1,200})\"|'(?P<single>[^'\\]{1,200})'|(?P<bare>[^\s&;,\"'<>|]{1,200}))"
    # Keywords of Clojure.
    r"|(?<=[\s{(\[]):(?P<keyword>[^\W\d][\w.-]{0,60})[ \t]{1,4}\"(?P<keyed_text>[^\"\\\n]{1,200})\""
    rf"|(?:(?<=[\s{{(\[,])|^)(?P<mark>[\"']?)(?P<named>{_KEY})(?P=mark): ?"
    r"(?:\"(?P<double>[^\"\\\n]{1,200})\"|'(?P<apostrophes>[^'\\\n]{1,200})')"
    r"|^[ \t>*-]{0,8}(?P<label>[^\W\d_][\w ./-]{0,40}?)(?:[ \t]?:[ \t]{1,4}"
    r"|[ \t]{1,9}=[ \t]{1,9})(?![^\n]{1,200}[,;|] ?[^\W\d_][\w ./-]{1,40}: )"
    r"[\"']?(?P<line>[^\n]{1,200}?)[\"']?\r?$"
    # Several labels in a line, and a name before an email address.
    r"|(?:^|(?<=[,;|(.] ))(?P<short>[^\W\d_][\w ./-]{1,30}?): (?P<entry>[^\s,;|:\"'<>{}()][^,;"
    r"|:\n\"'<>{}()]{1,80}?)"
    r"(?=[,;|)]|\.? ?\r?$|\. )"
    r"|(?:^|(?<=[|;\u2022] ))(?P<barred>[^\W\d_][\w ./-]{1,30}?): (?P<cell_of_line>[^\s|;\u2022\n][^"
    r"|;\u2022\n]{1,200}?)"
    r"(?= ?[|;\u2022]|\s*$)"
    r"|(?:^"
    r"|(?<=[\s,;:(\[\"']))(?P<person>[^\W\d_a-z][\w.'\u2019-]{0,30}"
    r"(?: [^\W\d_a-z][\w.'\u2019-]{0,30}){1,4}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,12})[\"']? <"
    r"(?=[^<>@\s]{1,64}@[^<>@\s]{1,200}>)"
    r"|^\|[ \t]?(?P<first>[^\W\d_][\w ./-]{1,40}?)[ \t]{0,40}\|[ \t]{0,4}(?P<cell>[^|\s][^|\n]{1,200}?)"
    r"[ \t]{0,40}\|[ \t\r]{0,4}$"
    r"|(?<=[{ ])(?P<member>[A-Z]\w{1,40}):(?P<printed>[^\s{}:\"'][^{}:\n]{0,200}?)(?= [A-Z]\w{0,40}:|\}))",
    re.MULTILINE,
)
_TAG = re.compile(r"<(?P<slash>/?)(?P<tag>[^\W\d][\w.:-]{0,60})(?:\s[^<>]{0,2000})?/?>")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})|.", re.DOTALL)
# Names of a line of CSV: at least two, none of which is a value.
_COLUMN = re.compile(r"\ufeff?\"?(?:[^\W\d][\w .()/'\u2019-]{0,60}|[№#])\"?")
_SEPARATORS = ",;\t|"
_CELLS = {
    one: re.compile(
        rf'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^{re.escape(one)}"\r\n]*))'
        rf"(?P<end>{re.escape(one)}|\r?\n|\Z)"
    )
    for one in _SEPARATORS
}
_DIRECTORY = re.compile(r"^objectClass: ", re.MULTILINE)  # LDIF (RFC 2849)
_OF_DIRECTORIES = {"sn": "surname", "cn": "full name", "l": "town"}  # RFC 4519, sections 2.3 and 2.32
_VCARD = "BEGIN:VCARD"
_CALENDAR = "BEGIN:VCALENDAR"
_PROPERTY = re.compile(
    r"^(?P<property>FN|N|BDAY|ADR)(?:;[^:\n]{0,80})?:(?P<value>[^\n]{2,200}?)\r?$", re.MULTILINE
)
# RFC 5545, section 3.2.2: the name of an attendee. A line may go on in the next one.
_COMMON_NAME = re.compile(
    r"^(?:ORGANIZER|ATTENDEE)(?:;[^:\n]{0,200}?)?;CN="
    r"(?:\"(?P<quoted>[^\"\n]{2,80})\"|(?P<bare>[^\";:,\n]{2,80}))",
    re.MULTILINE,
)
# RFC 6350, section 6: family and given names, and street, are parts between semicolons.
_PROPERTIES = {
    "FN": ("full name",),
    "BDAY": ("birthday",),
    "N": ("family name", "given name"),
    "ADR": ("", "", "street"),
}
# Numbers of holders: of a form, of a list in brackets, of lines, and of the first element or row.
_FORM, _LIST, _LINES, _FIRST = 1, 2, 3, 4
# Groups of names, and of values that are in one struct whatever is around them.
_NAMES = (
    "element",
    "item",
    "key",
    "named",
    "label",
    "control",
    "first",
    "member",
    "mail",
    "short",
    "attribute",
    "caption",
    "keyed",
    "arrow",
    "serial",
    "member_name",
    "setting",
    "listed_name",
    "left",
    "holding",
    "barred",
    "named_after",
    "keyword",
)
_HOLDERS = {
    "free": _LIST, "double": _LIST, "apostrophes": _LIST, "printed": _LIST,
    "body": _FORM, "line": _LINES, "cell": _LINES, "mailbox": _LINES, "entry": _LINES, "person": _LINES,
    "stated": _FORM, "inner": _FORM, "shown": _LINES, "valued": _FORM,
    "arrowed": _LIST, "pointed": _LIST, "shot": _LIST, "serialized": _LIST, "given": _LIST,
    "phrase": _LINES, "right": _LINES, "before": _FORM, "keyed_text": _LIST,
    "cell_of_line": _LINES,
}  # fmt: skip
# Values that are read only if the name is telling, but for cells: others are of sentences or of levels of a
# log. Passwords have their own form there.
_IF_TELLING = frozenset({
    "shown", "line", "entry", "cell", "double", "apostrophes", "printed", "arrowed", "pointed", "shot",
    "serialized", "given", "phrase", "listed", "right", "keyed_text", "cell_of_line",
})  # fmt: skip
_MOST_WORDS = 12  # of a line without a sign between its name and its value
_SEPARATED = re.compile(r"[:=|;{}<>\t]")
_OF_PLAIN_LINES = ("name", "address", "birth", "phone", "email", "iban", "card", "national")
_MAILBOXES = frozenset({"mailbox", "person"})
# Tags of an element `field` or `item`, whose name is in an attribute.
_OF_ELEMENTS = frozenset({"thing", "any_name"})


def text_leaves(text: str, name: str) -> list[Leaf]:
    """Return a text as a leaf, and the fields inside of it."""
    leaves = [Leaf("$", name, text, start=0, end=len(text))]
    for leaf in (
        sql_leaves(text)
        or health_leaves(text)
        or trade_leaves(text)
        or table_leaves(text)
        or _cells(text)
        or _card(text)
        or _embedded(text)
        or chain(_fields(text), _plain_lines(text))
    ):
        leaves.append(leaf)
        if len(leaves) >= MAX_LEAVES:
            break
    return leaves


def percent_span(raw: str, start: int, end: int) -> tuple[int, int]:
    """Return the span in a text with percent codes for characters of the text that it stands for."""
    ends = [0]
    pending, at = b"", 0
    for found in _PERCENT.finditer(raw):
        at = found.end()
        if found[1] is None:
            ends.append(at)
            continue
        pending += bytes.fromhex(found[1])
        try:
            pending.decode()
        except UnicodeDecodeError:
            continue
        pending = b""
        ends.append(at)
    return (ends[start], ends[end]) if end < len(ends) else (0, len(raw))


def _fields(text: str) -> Iterator[Leaf]:
    elements = _Elements(text) if "<" in text else None
    aliases = _OF_DIRECTORIES if _DIRECTORY.search(text) else {}
    at = 0
    while (found := _FIELD.search(text, at)) is not None:
        at = found.end()
        group = found.lastgroup or ""
        start, end = found.span(group)
        raw, name = found[group], next(filter(None, map(found.group, _NAMES)), "")
        if group == "content" and found["title"] and of_name(found["title"]).tags:
            name = found["title"] if not of_name(name).tags - _OF_ELEMENTS else name
        name, written = unquote(aliases.get(name, name)), raw
        holder, holder_name = _HOLDERS.get(group, 0), ""
        if group in _IF_TELLING:
            tags = of_name(name).tags
            if not (tags or group == "cell") or "password" in tags:
                at = found.start(group)  # there may be fields in it
                continue
        elif holder:
            pass
        elif elements is not None and elements.has(found.start()):
            holder, holder_name = elements.around(found.start())
        elif group == "bare" and "&" in (text[found.start() - 1 : found.start()], text[end : end + 1]):
            holder = _FORM
            written = written if "@" in raw else raw.replace("+", " ")
        if group == "bare" and "%" in raw:
            written = unquote(written)
        path = f"$.{shown_step(name)}"[:MAX_PATH]
        name = "full name" if group in _MAILBOXES else full_name(name.rpartition(":")[2], holder_name)
        is_alone = holder != 0 or written != raw
        yield Leaf(
            path, name, written, False, holder, holder_name, start, end, is_part=True, is_alone=is_alone
        )


def _plain_lines(text: str) -> list[Leaf]:
    """Return the values of lines that begin with the name of a field, if there are at least two of them."""
    leaves: list[Leaf] = []
    at = 0
    for line in text.splitlines(keepends=True):
        words = line.split()
        if 1 < len(words) <= _MOST_WORDS and not _SEPARATED.search(line):
            count = _words_of_name(words)
            if count:
                value = line.split(maxsplit=count)[count].rstrip()
                name = " ".join(words[:count])
                leaves.append(leaf_in_text(name, value, at + len(line.rstrip()) - len(value), _LINES))
        at += len(line)
    return leaves if len(leaves) > 1 else []


def _words_of_name(words: list[str]) -> int:
    """Return how many words at the begin of a line are the name of a field; 0 if none."""
    for count in range(min(4, len(words) - 1), 0, -1):
        if any(is_phrase(" ".join(words[:count]), tag) for tag in _OF_PLAIN_LINES):
            return count
    return 0


class _Elements:
    """The elements of XML around each offset of a text."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._around: list[tuple[int, str]] = []
        stack: list[tuple[int, str]] = []
        for number, found in enumerate(_TAG.finditer(text), _FIRST):
            if found["slash"]:
                if stack:
                    stack.pop()
            elif len(stack) < MAX_DEPTH:
                stack.append((number, found["tag"].rpartition(":")[2]))
            self._add(found.start(), stack)
            if found[0].endswith("/>") and stack:
                stack.pop()
                self._add(found.end() - 1, stack)

    def _add(self, start: int, stack: list[tuple[int, str]]) -> None:
        self._starts.append(start)
        self._around.append(stack[-1] if stack else (0, ""))

    def has(self, start: int) -> bool:
        """Return whether an offset is inside of an element or its tag."""
        return self.around(start)[0] != 0

    def around(self, start: int) -> tuple[int, str]:
        """Return number and name of the element around an offset; 0 if there is none."""
        at = bisect_left(self._starts, start) - 1
        return self._around[at] if at >= 0 else (0, "")


def _cells(text: str) -> list[Leaf]:
    """Return the cells of CSV whose first line names the columns, at least one of them tellingly."""
    head, newline, _ = text.partition("\n")
    if not newline:
        return []
    second = text[len(head) + 1 :].partition("\n")[0].partition("|")
    if second[1] and head.count("|") == 1 and of_name(second[0]).tags:
        return []  # names and values, a line each
    for separator in _SEPARATORS:
        names = [name.strip() for name in head.rstrip("\r").split(separator)]
        if len(names) > 1 and all(map(_COLUMN.fullmatch, names)):
            names = [name.strip('\ufeff"') for name in names]
            return (
                _rows(text, len(head) + 1, names, separator)
                if any(of_name(one).tags for one in names)
                else []
            )
    return []


def _rows(text: str, start: int, names: list[str], separator: str) -> list[Leaf]:
    leaves: list[Leaf] = []
    row: list[Leaf] = []
    number = _FIRST
    # One cell after the other: a search would begin again after each quote that nothing closes.
    while start < len(text) and (cell := _CELLS[separator].match(text, start)) is not None:
        start = cell.end()
        group = "bare" if cell["quoted"] is None else "quoted"
        name = names[len(row)] if len(row) < len(names) else ""
        row.append(leaf_in_text(name, cell[group], cell.start(group), number))
        if cell["end"] != separator:
            if len(row) == len(names):
                leaves += row
            row, number = [], number + 1
        if len(leaves) + len(row) >= MAX_LEAVES:
            break
    return leaves


def _card(text: str) -> list[Leaf]:
    """Return the properties of a vCard (RFC 6350), and the names in a calendar (RFC 5545)."""
    if text.startswith(_CALENDAR):
        return [_named(found, found.lastgroup or "") for found in _COMMON_NAME.finditer(text)]
    if not text.startswith(_VCARD):
        return []
    leaves = []
    for found in _PROPERTY.finditer(text):
        at = found.start("value")
        parts = found["value"].split(";") if ";" in found["value"] else [found["value"]]
        for name, part in zip(_PROPERTIES[found["property"]], parts, strict=False):
            path = f"$.{found['property']}"
            leaves.append(
                Leaf(path, name, part, False, _LINES, "", at, at + len(part), is_part=True, is_alone=True)
            )
            at += len(part) + 1
    return leaves


def _named(found: re.Match[str], group: str) -> Leaf:
    start, end = found.span(group)
    return Leaf("$.CN", "full name", found[group], False, _LINES, "", start, end, is_part=True, is_alone=True)


def _embedded(text: str) -> list[Leaf]:
    """Return the leaves of JSON at the end of a text, such as of a line of a log."""
    if text.rstrip()[-1:] != "}":
        return []
    at = text.find("{")
    return [
        leaf._replace(start=leaf.start + at, end=leaf.end + at, is_part=True, is_alone=True)
        for leaf in json_leaves(text[at:]) or ()
    ]
