"""Citations lead to a place that exists: a section, a heading of a KIP, a member of a class at a release.

That rules cite nothing else is for the tests of rules.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kdissect.schema.citations import Source, all_sources, is_place

DOCUMENTS = [source for source in all_sources() if source.id.startswith("spec/")]
JARS = Path.home() / ".m2" / "repository" / "org" / "apache" / "kafka"  # where Maven keeps what it fetched
RELEASES = sorted({source.release for source in all_sources() if source.release})
# Of these no jar is published (`generator`), or another project brings it.
NOT_IN_JARS = ("org.apache.kafka.message.", "org.apache.kafka.connect.", "org.apache.kafka.streams.")


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("spec/000 Fetch API", True),
        ("spec/000", False),
        ("spec/000 Fetch", False),
        ("spec/001 5.3.1", True),
        ("KIP-98 Proposed Changes", True),
        ("KIP-98", False),
        ("KIP-98 Data Format", False),
        ("KIP-227 FetchRequest Metadata meaning", True),
        ("RFC 5802 section 5", True),
        ("RFC 5802", False),
        ("kafka.server.KafkaApis#handleProduceRequest", True),
        ("kafka.server.KafkaApis#handleNothing", False),
        ("kafka.server.KafkaApis", False),
        ("KAFKA-18659", True),
        ("spec/009 Fetch API", False),
    ],
)
def test_what_a_place_is(citation: str, expected: bool) -> None:
    assert is_place(citation) is expected


@pytest.mark.parametrize("source", DOCUMENTS, ids=lambda source: source.id)
def test_sections_stand_in_the_documents(source: Source, reference: Path) -> None:
    (path,) = (reference / "spec").glob(source.id.removeprefix("spec/") + "-*")
    lines = path.read_text(encoding="utf-8").splitlines()
    headings, items = {_heading(line) for line in lines}, _items(lines)
    assert [section for section in source.sections if not _stands(section, headings, items)] == []


def _heading(line: str) -> str:
    """Return a line as a heading: without marks, the key of an API and the type of a field."""
    text = re.sub(r"^#+ ", "", line.strip())
    return re.sub(r" \{#.*\}$| ?\(\w+\)¶$|¶$| \(Key: \d+\):$|:$", "", text).casefold()


def _items(lines: list[str]) -> dict[str, str]:
    """Return the first numbered list of a document, by number: `3.2` is the second item within the third."""
    items: dict[str, str] = {}
    outer = ""
    for line in lines:
        found = re.match(r"( +)(\d+)\. (.*)", line)
        if found is not None:
            indent, number, text = found.groups()
            if len(indent) < 4:
                outer, key = number, number
            else:
                key = f"{outer}.{number}"
            items.setdefault(key, text.casefold())
    return items


def _stands(section: str, headings: set[str], items: dict[str, str]) -> bool:
    """Return whether a section is a heading, or the number of an item with words of that."""
    if section.casefold() in headings:
        return True
    number, _, words = section.casefold().partition(" ")
    return all(word in items.get(number, "") for word in words.split())


@pytest.mark.parametrize("release", RELEASES)
def test_members_stand_in_the_classes(release: str) -> None:
    jars = sorted(JARS.glob(f"*/{release}/*-{release}.jar"))
    if not jars or shutil.which("javap") is None:
        pytest.skip(f"needs javap, and the jars of Kafka {release} in {JARS}")
    sources = [
        source
        for source in all_sources()
        if source.release == release and source.sections and not source.id.startswith(NOT_IN_JARS)
    ]
    # A member of a Scala object stands in the class with `$` behind its name.
    names = [name for source in sources for name in (source.id, f"{source.id}$")]
    command = ["javap", "-p", "-cp", ":".join(map(str, jars)), *names]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    members = dict(re.findall(r"(?:class|interface) ([\w.$]+).*?\{\n(.*?)\n\}", shown, re.S))
    missing = []
    for source in sources:
        text = members.get(source.id, "") + members.get(f"{source.id}$", "")
        missing += [f"{source.id}#{m}" for m in source.sections if not re.search(rf"[ .]{m}(\(|;)", text)]
    assert sources
    assert missing == []
