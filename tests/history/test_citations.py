"""Sections of the documents that the histories cite; KIPs and classes are looked up for the whole package."""

import re

from kdissect.schema.citations import resolve
from tests.conftest import CHECKOUT

CITATION = re.compile(r'(spec/\d{3}) "([^"]+)"')


def test_sections_exist() -> None:
    cited = set()
    for path in (CHECKOUT / "kdissect" / "history").glob("*.py"):
        cited |= {" ".join(found) for found in CITATION.findall(path.read_text())}
    assert len(cited) >= 2
    assert not [citation for citation in sorted(cited) if resolve(citation) is None]
