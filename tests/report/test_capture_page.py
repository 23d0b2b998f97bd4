"""The page of `report`: well formed, closed to the network, inert, bounded, and with the numbers of the
commands.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import BY, Gathering
from kdissect.cli import main
from kdissect.engine.analyzer import Analyzer
from kdissect.history.topics.topic_names import TopicNames
from kdissect.report.capture_page import links, sortable
from kdissect.report.capture_page.facts import CaptureFacts, capture_facts
from kdissect.report.capture_page.links import links_section
from kdissect.report.capture_page.page import capture_html
from kdissect.report.printable import printable
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.stats.times.series import LatencySeries
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import traffic_facts
from tests.causes.diagnosing import capture, gathered_from
from tests.report.test_html import parsed, tags
from tests.report.verdicts import EVIL
from tests.rules.scripted_connection import VERSIONS, ScriptedConnection

NAMES = ("kafka44_java_errors", "kafka44_java_groups", "kafka28zk_sarama_releases")
SECTIONS = [
    "causes", "map", "over-time", "findings", "apis", "clients", "brokers", "topics", "users", "groups",
    "members", "looked-at", "quality",
]  # fmt: skip


def page_of(path: str, tmp_path: Path, *options: str) -> str:
    written = tmp_path / "page.html"
    assert main(["report", path, *options, "-o", str(written)]) == 0
    return written.read_text(encoding="utf-8")


def page_on(text: str) -> str:
    """Return a page with a text wherever a peer puts one."""
    talk = ScriptedConnection()  # the first frame must look like Kafka
    software = {"client_software_name": text, "client_software_version": text}
    talk.ask("ApiVersions", 3, software, client_id=text)
    talk.answer("ApiVersions", 3, VERSIONS)
    talk.ask("Produce", 9, {"acks": 7, "timeout_ms": 1, "topic_data": []}, client_id=text)
    talk.answer("Produce", 9, {"responses": []})
    talk.ask("Heartbeat", 4, {"group_id": text, "generation_id": 1, "member_id": text}, client_id=text)
    talk.answer("Heartbeat", 4, {"error_code": 25})
    topic = {"error_code": 29, "name": text, "is_internal": False, "partitions": []}
    talk.ask("Metadata", 9, {"topics": [{"name": text}]}, client_id=text)
    talk.answer("Metadata", 9, {"brokers": [], "cluster_id": text, "controller_id": 1, "topics": [topic]})
    analyzer, names, latencies = Analyzer(), TopicNames(), LatencySeries()
    gathering, judge = Gathering(names, latencies=latencies), Judge()
    for events in [*(analyzer.feed(packet) for packet in talk.close()), analyzer.close()]:
        for event in events:
            gathering.add(event)
            judge.add(event)
    gathering.finish()
    judge.finish()
    verdict = Verdict(judge, quality_of(judge.coverage), (text,))
    facts = facts_of(gathering, latencies)
    return capture_html(verdict, diagnose(gathering, [text]), facts)


def facts_of(gathering: Gathering, latencies: LatencySeries, most: int = 100) -> CaptureFacts:
    return capture_facts(gathering.traffic, BY, gathering.topics, gathering.groups, latencies, most)


def rows_of(document: Any, section: str) -> list[list[str]]:
    body = document.find(f".//section[@id='{section}']//tbody")
    return [["".join(cell.itertext()) for cell in row] for row in body]


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_well_formed_and_whole(name: str, tmp_path: Path) -> None:
    document = parsed(page_of(capture(name), tmp_path))
    assert [node.get("id") for node in document.iter("section")] == SECTIONS
    names = [node.get("id") for node in document.iter() if node.get("id")]
    assert len(names) == len(set(names))
    hrefs = [node.get("href") for node in document.iter("a")]
    assert all(href[1:] in names for href in hrefs if href.startswith("#"))
    assert all(href.startswith(("#", "https://")) for href in hrefs)
    assert all(node.get("aria-label") for node in document.iter() if node.tag.endswith("svg"))


def test_one_script_runs_and_nothing_is_loaded(tmp_path: Path) -> None:
    document = parsed(page_of(capture(NAMES[0]), tmp_path))
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(tags(document))
    assert not [name for node in document.iter() for name in node.attrib if str(name).startswith("on")]
    assert not [node for node in document.iter() if node.get("style") or node.get("src")]
    (policy,) = [node.get("content") for node in document.iter("meta") if node.get("http-equiv")]
    (script,), (style,) = (
        ["".join(node.itertext()) for node in document.iter(t)] for t in ("script", "style")
    )
    script_hash, style_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style and "@import" not in style
    assert not re.search(r"innerHTML|insertAdjacentHTML|eval|fetch\(|XMLHttpRequest|import", script)
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", style)) <= set(re.findall(r"(--[a-z0-9-]+): ", style))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", EVIL)
def test_wire_values_become_no_element(text: str) -> None:
    page = page_on(text)
    script = page[page.index("<script>") : page.index("</script>")]
    assert page.replace(script, "").replace("\n", "").isprintable()
    document, harmless = parsed(page), parsed(page_on("harmless"))
    assert "".join(document.itertext()).count(printable(text)) > 5
    assert set(tags(document)) == set(tags(harmless))
    assert {str(name) for node in document.iter() for name in node.attrib} == {
        str(name) for node in harmless.iter() for name in node.attrib
    }


@pytest.mark.parametrize(
    ("section", "command", "key"),
    [
        ("apis", ["stats"], "rows"),
        ("clients", ["stats", "--by", "client_id,client"], "rows"),
        ("brokers", ["stats", "--by", "broker"], "rows"),
        ("topics", ["topics"], "topics"),
        ("groups", ["groups"], "groups"),
    ],
)
def test_tables_have_the_rows_of_the_commands(
    section: str, command: list[str], key: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = capture("kafka44_java_groups")
    document = parsed(page_of(path, tmp_path))
    assert main([command[0], path, *command[1:], "--format", "json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    found = rows_of(document, section)
    by = facts.get("by", [key.removesuffix("s")])
    assert [row[: len(by)] for row in found] == [[row[name] or "-" for name in by] for row in facts[key]]
    if key == "rows":
        assert [int(row[len(by)]) for row in found] == [row["exchanges"] for row in facts[key]]


def test_a_filter_selects_for_all_sections(tmp_path: Path) -> None:
    path = capture("kafka44_java_errors")
    document = parsed(page_of(path, tmp_path, "-Y", "client_id == 'mallory-p'"))
    assert {row[0] for row in rows_of(document, "clients")} == {"mallory-p"}
    causes = document.find(".//section[@id='causes']")
    sentences = ["".join(node.itertext()) for node in causes.iter("p")]
    assert sentences and all("mallory-p" in sentence for sentence in sentences)
    assert all("mallory-p" in row[3] for row in rows_of(document, "findings"))


def test_points_over_time_add_up(tmp_path: Path) -> None:
    gathering, latencies = gathered_with_latencies("kafka44_java_errors")
    facts = facts_of(gathering, latencies)
    total = gathering.traffic.total
    points = facts.over_time["points"]
    assert sum(point["exchanges"] for point in points) == total.exchanges
    assert sum(point["errors"] for point in points) > 0
    answered = [point["latency_ns"]["count"] for point in points if point["latency_ns"] is not None]
    assert sum(answered) == total.latency.count
    document = parsed(page_of(capture("kafka44_java_errors"), tmp_path))
    lanes = document.findall(".//section[@id='over-time']//{http://www.w3.org/2000/svg}svg") or [
        node for node in document.find(".//section[@id='over-time']").iter() if node.tag.endswith("svg")
    ]
    titles = [title for lane in lanes[:1] for title in lane.iter() if title.tag.endswith("title")]
    counts = [int(re.findall(r"(\d+) exchange", "".join(title.itertext()))[0]) for title in titles]
    assert counts == [point["exchanges"] for point in points]


def gathered_with_latencies(name: str) -> tuple[Gathering, LatencySeries]:
    latencies = LatencySeries()
    return gathered_from(capture(name), latencies=latencies), latencies


def test_lines_join_clients_and_brokers_topics_and_readers() -> None:
    gathering, latencies = gathered_with_latencies("kafka44_java_groups")
    section = html5lib.parseFragment(
        links_section(facts_of(gathering, latencies)), namespaceHTMLElements=False
    )
    figures = {"".join(node.find("figcaption").itertext()): node for node in section.iter("figure")}
    assert list(figures) == ["Clients and brokers", "Writers and topics", "Topics and readers"]
    titles = [
        "".join(node.itertext())
        for node in figures["Clients and brokers"].iter()
        if node.tag.endswith("title")
    ]
    paths = traffic_facts(gathering.traffic.by_parts([1, 2, 3]), ("client_id", "client", "broker"), None, 1)
    assert sorted(titles) == sorted(
        f"{row['client_id']} ({row['client']}) → {row['broker']}: {row['exchanges']} exchange"
        + ("s" if row["exchanges"] > 1 else "")
        + (f", {row['failed']} failed" if row["failed"] else "")
        for row in paths["rows"]
    )
    readers = "".join(figures["Topics and readers"].itertext())
    assert "shared → eager: eager-1 (127.0.0.1)" in readers


def test_counts_by_parts_of_keys_equal_counts_by_fewer_dimensions() -> None:
    traffic = gathered_from(capture("kafka44_java_groups")).traffic
    parted = traffic.by_parts([BY.index("broker")])
    assert len(parted.rows) < len(traffic.rows)
    assert sum(tally.exchanges for tally in parted.rows.values()) == traffic.total.exchanges
    assert sum(tally.latency.count for tally in parted.rows.values()) == traffic.total.latency.count
    assert parted.total is traffic.total


def test_rows_beyond_the_limit_stay_in_other(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = gathered_from(capture("kafka44_java_groups")).traffic
    before = {key: tally.exchanges for key, tally in traffic.rows.items()}
    few = Traffic(lambda _: [])
    few.most = 2
    few.merge(traffic)
    assert few.other.exchanges == sum(before.values()) - sum(tally.exchanges for tally in few.rows.values())
    assert few.by_parts([0]).other.exchanges == few.other.exchanges > 0


def test_tables_and_pictures_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sortable, "MAX_ROWS", 2)
    monkeypatch.setattr(links, "MAX_ENDS", 3)
    page = page_of(capture("kafka44_java_groups"), tmp_path)
    document = parsed(page)
    assert len(rows_of(document, "users")) == 2
    assert "more rows: " in "".join(document.find(".//section[@id='users']").itertext())
    figure = next(document.iter("figure"))
    assert [len(names) for names in figure.iter("ol")] == [3, 1]
    assert "more clients not shown." in "".join(figure.itertext())


def test_long_texts_are_cut() -> None:
    document = parsed(page_on("long" * 8_000))
    cells = ["".join(cell.itertext()) for cell in document.iter("td")]
    names = ["".join(name.itertext()) for name in document.find(".//section[@id='map']").iter("li")]
    assert max(map(len, cells + names)) == 201
    assert {"long" * 50 + "…"} <= set(cells) & set(names)


def test_an_empty_capture_has_a_page(tmp_path: Path) -> None:
    gathering, judge = Gathering(TopicNames()), Judge()
    gathering.finish()
    judge.finish()
    verdict = Verdict(judge, quality_of(judge.coverage), ("empty.pcap",))
    document = parsed(capture_html(verdict, diagnose(gathering, []), facts_of(gathering, LatencySeries())))
    assert [node.get("id") for node in document.iter("section")] == SECTIONS


def test_the_file_is_complete_or_the_old_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    assert main(["report", str(tmp_path / "missing.pcap"), "-o", str(page)]) == 3
    assert page.read_text() == "old"
    assert main(["report", capture("kafka44_java_refused")]) == 0
    assert capfd.readouterr().out.startswith("<!DOCTYPE html>")


def test_a_redacted_capture_has_a_page_without_names(tmp_path: Path) -> None:
    """The two lines of docs/reports.md."""
    share = str(tmp_path / "share.pcapng")
    assert main(["extract", capture("kafka44_java_errors"), "--redact=names", "-o", share]) == 0
    assert "mallory" in page_of(capture("kafka44_java_errors"), tmp_path)
    page = page_of(share, tmp_path)
    assert "mallory" not in page and "127.0.0.1" in page
