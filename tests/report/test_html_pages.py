"""What the HTML report shows of real captures: texts, and what draws the charts.

`python -m tests.regenerate pages` writes the pages.
"""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kdissect.report.html import report_html
from tests.report.verdicts import verdict_of
from tests.support.console import CAPTURES

PAGES = Path(__file__).parent / "pages"
# The rules have their own pages.
LEFT_OUT = frozenset({"rules"})
NAMES = ("kafka44_java_errors.pcapng", "mock_rdk216_txn.pcap")


def shown(node: Any, depth: int = 0) -> Iterator[str]:
    """Yield a line for each element, and one for each row of a table."""
    if not isinstance(node.tag, str) or node.get("id") in LEFT_OUT:
        return
    if node.tag == "tr":
        cells = [(len(list(same)), cell) for cell, same in groupby(map(own, node))]
        yield " " * depth + "; ".join(f"{count} x {cell}" if count > 1 else cell for count, cell in cells)
        return
    yield " " * depth + own(node, is_whole=not len(node))
    for child in node:
        yield from shown(child, depth + 1)


def own(node: Any, *, is_whole: bool = True) -> str:
    """Return an element without its children, or with their text and attributes."""
    attributes = [f"{name}={value}" for name, value in node.items() if name not in ("id", "tabindex", "role")]
    inner = [own(child) for child in node] if is_whole else []
    text = " ".join("".join(node.itertext() if is_whole else [node.text or ""]).split())
    return " ".join([node.tag.rpartition("}")[2], *attributes, *([text] if text else []), *inner])


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_it_showed(name: str) -> None:
    document = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(
        report_html(verdict_of(name))
    )
    found = "\n".join(line for section in document.iter("section") for line in shown(section)) + "\n"
    found = found.replace(f"{CAPTURES}{os.sep}", "")
    golden = PAGES / f"{name}.txt"
    if os.environ.get("KDISSECT_UPDATE"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
