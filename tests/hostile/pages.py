"""Reads a report as a browser would: it is well formed, and nothing in it acts."""

from typing import Any

import html5lib

ACTIVE = {"script", "link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"}


def assert_inactive(page: str) -> None:
    """Fail where a page has an element or attribute that loads, runs or leads anywhere but to the sources."""
    document: Any = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    nodes = [node for node in document.iter() if isinstance(node.tag, str)]
    assert not ACTIVE & {node.tag.rpartition("}")[2] for node in nodes}
    for node in nodes:
        assert not node.get("src"), node.tag
        assert not node.get("style"), node.tag
        assert not [name for name in node.attrib if str(name).startswith("on")], node.tag
        assert node.get("href", "#").startswith(("#", "https://")), node.get("href")
    assert page.replace("\n", "").isprintable()
