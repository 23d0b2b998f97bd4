"""HTML that cannot be injected into: what is not `Markup` is text, and becomes inert when it is put in.

Text is made printable first, so that it has no control or bidirectional characters, then escaped.
"""

from collections.abc import Iterable
from html import escape

from kdissect.report.printable import printable

Value = str | int | None
_VOID = frozenset({"meta", "input", "br", "col"})


class Markup(str):
    """A string that is HTML already. Only this module makes one of text."""

    __slots__ = ()


def text(value: str) -> Markup:
    """Return a text, inert. `Markup` stays what it is."""
    return value if isinstance(value, Markup) else Markup(escape(printable(value)))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Return parts one after the other."""
    return Markup(text(between).join(text(part) for part in parts))


def element(name: str, /, *content: str, **attributes: Value) -> Markup:
    """`<name attributes>content</name>`. Attributes that are None are left out. `class_` and `for_` are
    `class` and `for`, and other underscores are hyphens.
    """
    shown = "".join(
        f' {_attribute(key)}="{text(str(value))}"' for key, value in attributes.items() if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{shown}>")
    return Markup(f"<{name}{shown}>{join(content)}</{name}>")


def wire(value: str) -> Markup:
    """Return a text that somebody else chose: its direction stays within it."""
    return element("bdi", value)


def code(value: str) -> Markup:
    """Return a text from the wire in the font of code."""
    return element("code", wire(value))


def section(name: str, title: str, *content: str, note: str = "") -> Markup:
    """Return a section of the page, which links to it as `#name`."""
    heading = element("h2", title, id=f"{name}-title")
    about = [element("p", note, class_="note")] if note else []
    return element("section", heading, *about, *content, id=name, aria_labelledby=f"{name}-title")


def scrolled(label: str, *content: str) -> Markup:
    """Return an element that may be wider than a small screen: it scrolls separately, also with the
    keyboard.
    """
    return element("div", *content, class_="scroll", tabindex=0, role="region", aria_label=label)


def definitions(rows: Iterable[tuple[str, str]], class_: str = "facts") -> Markup:
    """Return a list of names and values."""
    pairs = (join((element("dt", name), element("dd", value))) for name, value in rows)
    return element("dl", *pairs, class_=class_)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], caption: str, class_: str = "") -> Markup:
    """Return a table. Rows are cells from `cell`, or text."""
    head = element("tr", *(_head(name) for name in heads))
    body = (element("tr", *(_cell(item) for item in row)) for row in rows)
    parts = (element("thead", head), element("tbody", *body))
    hidden = element("caption", caption, class_="hidden")
    return element("table", hidden, *parts, class_=class_ or None)


def number(value: str | int) -> Markup:
    """Return a table cell with a number."""
    return element("td", str(value), class_="number")


def _head(name: str) -> Markup:
    is_number = name.startswith("#")
    return element("th", name.lstrip("#"), scope="col", class_="number" if is_number else None)


def _cell(item: str) -> Markup:
    is_cell = isinstance(item, Markup) and item.startswith(("<td", "<th"))
    return text(item) if is_cell else element("td", item)


def _attribute(name: str) -> str:
    return {"class_": "class", "for_": "for"}.get(name, name.replace("_", "-"))
