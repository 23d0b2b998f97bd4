"""Citations in the histories lead somewhere."""

import re

import pytest

from kdissect.schema.sources import resolve
from tests.conftest import CHECKOUT

SOURCES = sorted((CHECKOUT / "kdissect" / "history").glob("*.py"))
CITATION = re.compile(
    r'KIP-\d+|RFC \d+|spec/\d{3} "[^"]+"|org\.apache\.kafka\.[\w.]*\.[A-Z]\w+|kafka\.server\.[A-Z]\w+'
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_citations_resolve(path: object) -> None:
    text = " ".join(path.read_text().replace("#", " ").split())  # type: ignore[attr-defined]
    cited = {citation.replace('"', "") for citation in CITATION.findall(text)}
    assert not [citation for citation in sorted(cited) if resolve(citation) is None]


def test_the_histories_do_cite() -> None:
    found = [citation for path in SOURCES for citation in CITATION.findall(path.read_text())]
    assert len(found) > 60
