"""Pages for developers name files that there are, and every package has a page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.console import CHECKOUT

DOCS = CHECKOUT / "docs"
PACKAGES = DOCS / "architecture"
PAGES = [
    CHECKOUT / "CONTRIBUTING.md",
    DOCS / "README.md",
    DOCS / "architecture.md",
    DOCS / "glossary.md",
    *sorted(PACKAGES.glob("*.md")),
    *sorted((DOCS / "decisions").glob("*.md")),
]
SPAN = re.compile(r"`([\w./-]+)`")
ENDINGS = (".py", ".rs", ".md", ".table", ".schema", ".txt", "/")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


def named(page: Path) -> Iterator[str]:
    """Paths that a page names: with a folder in front, or an ending of ours."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for span in SPAN.findall(text):
        if span.endswith(ENDINGS) or (span.partition("/")[0] in TOPS and "/" in span):
            yield span


TOPS = {path.name for path in (*CHECKOUT.iterdir(), *(CHECKOUT / "kdissect").iterdir()) if path.is_dir()}


def stands(span: str, page: Path) -> bool:
    """Return whether the path is there: from the checkout, the package, or the page's own package."""
    folders = [CHECKOUT, CHECKOUT / "kdissect", CHECKOUT / "native" / "src", DOCS]
    if page.parent == PACKAGES:
        folders.append(CHECKOUT / "kdissect" / page.stem)
    return any((folder / span).exists() or (folder / f"{span}.py").exists() for folder in folders)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_paths_are_there(page: Path) -> None:
    assert [span for span in named(page) if not stands(span, page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in anchors, anchor


@pytest.mark.parametrize("title", ["Add a column", "Add a dimension"])
def test_steps_name_what_their_files_have(title: str) -> None:
    page = CHECKOUT / "CONTRIBUTING.md"
    section = page.read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    steps = re.findall(r"^\d+\. (.*(?:\n   .*)*)", section, re.MULTILINE)
    assert len(steps) >= 3
    for step in steps:
        spans = SPAN.findall(step)
        files = [CHECKOUT / span for span in spans if "/" in span]
        assert files, step
        text = "".join(file.read_text() for file in files)
        assert [span for span in spans if re.fullmatch(r"\w+", span) and span not in text] == []


def test_paths_are_found() -> None:
    """The test above sees what it is for."""
    page = DOCS / "architecture.md"
    assert {"engine/analyzer.py", "cli/formats"} <= set(named(page))
    assert not stands("engine/nothing.py", page)
    assert stands("analyzer.py", PACKAGES / "engine.md")


def test_every_package_has_a_page() -> None:
    packages = {path.parent.name for path in (CHECKOUT / "kdissect").glob("*/__init__.py")}
    assert {path.stem for path in PACKAGES.glob("*.md")} == packages | {"native"}
    overview = (DOCS / "architecture.md").read_text()
    assert [name for name in sorted(packages) if f"architecture/{name}.md" not in overview] == []


def test_every_decision_is_listed() -> None:
    folder = DOCS / "decisions"
    listed = re.findall(r"\]\((\S+)\.md\)", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(path.stem for path in folder.glob("*.md") if path.stem != "README")


def test_every_page_is_in_the_index() -> None:
    listed = {target for target, _ in LINK.findall((DOCS / "README.md").read_text())}
    assert [page.name for page in sorted(DOCS.glob("*.md")) if page.name not in {*listed, "README.md"}] == []
