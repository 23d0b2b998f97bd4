"""Error codes, enumerations, releases and sources: what they answer, and where an error in a table points."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdissect
from kdissect.model.errors import SchemaError
from kdissect.schema import citations as sources
from kdissect.schema import enums, releases
from kdissect.schema import error_codes as errors
from kdissect.schema.fact_tables import parse_rows
from kdissect.schema.protocol_messages import api, request_header_version, response_header_version


def test_errors() -> None:
    assert errors.error_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert errors.error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert errors.error_name(999) == "ERROR_999"
    assert errors.error(999) is None
    found = errors.error_by_name("not_leader_for_partition")
    assert found is not None
    assert (found.code, found.name, found.retriable) == (6, "NOT_LEADER_OR_FOLLOWER", True)
    assert errors.error_by_name("NO_SUCH_ERROR") is None
    codes = [row.code for row in errors.all_errors()]
    assert codes == sorted(codes)
    assert len({row.name for row in errors.all_errors()}) == len(codes)


def test_enums() -> None:
    assert enums.enum_name("isolationLevel", 1) == "READ_COMMITTED"
    assert enums.enum_name("acks", -1) == "ALL_ISR"
    assert enums.enum_name("transactionResult", True) == "COMMIT"
    assert enums.enum_name("groupState", "Stable") == "Stable"
    assert enums.enum_name("isolationLevel", 7) is None
    assert enums.enum_name("noSuchEnum", 0) is None
    acks = enums.enumeration("acks")
    assert acks is not None
    assert acks.is_open


def test_releases() -> None:
    fetch = releases.history(1)
    assert fetch is not None
    assert (fetch.since[18], str(fetch.gone), fetch.gone_in) == ("4.1", "0-3", "4.0")
    assert releases.history(999) is None


def test_headers() -> None:
    for key, version, request, response in [
        (7, 0, 0, 0),
        (7, 1, 1, 0),
        (18, 3, 2, 0),
        (1, 11, 1, 0),
        (1, 12, 2, 1),
    ]:
        found = api(key)
        assert found is not None
        assert request_header_version(found.request, version) == request
        assert response_header_version(found.response, version) == response


@pytest.mark.parametrize(
    ("parse", "text", "error"),
    [
        (errors.parse_errors, "1 ONE", "t:1: a row is"),
        (errors.parse_errors, "x ONE since 1.0", "t:1: 'x' is no number"),
        (errors.parse_errors, "1 ONE since 1.0 maybe", "t:1: unknown word 'maybe'"),
        (errors.parse_errors, "1 ONE since 1.0\n1 TWO since 1.0", "t:2: code 1 stands here twice"),
        (enums.parse_enums, "1 ONE", "t:1: a row is"),
        (enums.parse_enums, "enum a\n  1 ONE MORE", "t:2: a row is"),
        (enums.parse_enums, "enum a\n  1 ONE\n  1 TWO", "t:3: 1 stands twice in enum a"),
        (enums.parse_enums, "enum a\nenum a", "t:2: enum a stands here twice"),
        (releases.parse_releases, "1 Fetch", "t:1: a row is"),
        (releases.parse_releases, "1 Fetch 0:1.0 gone", "t:1: "),
        (releases.parse_releases, "1 Fetch 0:1.0 gone x in 4.0", "t:1: 'x' is no version range"),
        (releases.parse_releases, "1 Fetch 0:1.0\n1 Fetch 0:1.0", "t:2: key 1 stands here twice"),
        (sources.parse_sources, "book A B", "t:1: a row is"),
        (sources.parse_sources, "section A", "t:1: a row is"),
        (sources.parse_sources, "kip KIP-1: One\nkip KIP-1: Two", "t:2: KIP-1 stands here twice"),
    ],
)
def test_errors_name_table_and_line(parse: Callable[[Any], object], text: str, error: str) -> None:
    with pytest.raises(SchemaError) as raised:
        parse(parse_rows(text, "t"))
    assert str(raised.value).startswith(error)


def test_a_version_may_stand_behind_what_is_gone() -> None:
    (row,) = releases.parse_releases(parse_rows("1 Fetch 0:1.0 1:2.0 gone 0 in 4.0 2:4.6", "t")).values()
    assert row.since == {0: "1.0", 1: "2.0", 2: "4.6"}
    assert (str(row.gone), row.gone_in) == ("0", "4.0")


@pytest.mark.parametrize(
    ("citation", "id_"),
    [
        ("spec/004 Size Constraints", "spec/004"),
        ("spec/004", "spec/004"),
        ("spec/001 5.3.1", "spec/001"),
        ("spec/001 5.3.2.1 Record Header", "spec/001"),
        ("spec/002 3.2", "spec/002"),
        ("spec/000 Fetch API", "spec/000"),
        ("KIP-482", "KIP-482"),
        ("KIP-98 Proposed Changes", "KIP-98"),
        ("RFC 5802 section 3", "RFC 5802"),
        ("DefaultRecordBatch", "org.apache.kafka.common.record.internal.DefaultRecordBatch"),
        ("org.apache.kafka.common.protocol.ApiKeys#hasId", "org.apache.kafka.common.protocol.ApiKeys"),
        ("org.apache.kafka.common.Uuid.toString", "org.apache.kafka.common.Uuid"),
        ("kafka.server.KafkaApis", "kafka.server.KafkaApis"),
    ],
)
def test_citations_resolve(citation: str, id_: str) -> None:
    found = sources.resolve(citation)
    assert found is not None
    assert found.id == id_
    assert found.url.startswith("https://")


@pytest.mark.parametrize(
    "citation",
    [
        "",
        "ApiKeys#noMember",
        "KIP-98 Data Format",
        "spec/004 Colours",
        "spec/001 5.9",
        "spec/005",
        "KIP-9999",
        "RFC",
        "NoSuchClass",
        "RFC x",
    ],
)
def test_stale_citations_do_not(citation: str) -> None:
    assert sources.resolve(citation) is None


def test_sources_have_a_title_and_a_page() -> None:
    documents = [source for source in sources.all_sources() if source.id.startswith("spec/")]
    assert len(documents) == 5
    for source in sources.all_sources():
        assert source.title
        assert source.url.startswith("https://")
        assert sources.source(source.id) == source
    assert all(document.sections for document in documents)


def test_what_the_code_cites_can_be_looked_up() -> None:
    """Every KIP, document and Kafka class that the package names has a row in sources.table."""
    folder = Path(kdissect.__file__).parent
    pattern = re.compile(r"KIP-\d+|spec/00\d(?: \d[\d.]*\d)?|org\.apache\.kafka\.[\w.]+\w")
    missing = set()
    for path in [*folder.rglob("*.py"), *folder.rglob("*.schema"), *folder.rglob("*.table")]:
        if path.name not in ("sources.table", "sources.py"):
            found = pattern.findall(path.read_text(encoding="utf-8"))
            missing |= {f"{path.name}: {citation}" for citation in found if sources.resolve(citation) is None}
    assert missing == set()
