"""The HTML page: well formed, closed to the network, and inert whatever the wire says."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import html5lib
import pytest

from kdissect.report.html import findings, report_html
from kdissect.report.html.markup import Markup, element, text
from kdissect.report.printable import printable
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.run_coverage.capture_quality import quality_of
from tests.causes.diagnosing import capture, diagnosed
from tests.report.verdicts import EVIL, NAMES, verdict_of, verdict_on

SECTIONS = ["findings", "timeline", "coverage", "latency", "quality", "software", "rules"]


def parsed(page: str) -> Any:
    """Return the document as a browser would build it; strict: no parse error is repaired."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)


def tags(document: Any) -> Iterator[str]:
    return (node.tag.rpartition("}")[2] for node in document.iter() if isinstance(node.tag, str))


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_well_formed_and_whole(name: str) -> None:
    verdict = verdict_of(name)
    document = parsed(report_html(verdict))
    assert [node.get("id") for node in document.iter("section")] == SECTIONS
    names = [node.get("id") for node in document.iter() if node.get("id")]
    assert len(names) == len(set(names))
    links = [node.get("href") for node in document.iter("a")]
    assert all(link[1:] in names for link in links if link.startswith("#"))
    folds = [node for node in document.iter("details") if "finding" in node.get("class", "")]
    assert len(folds) == len(verdict.findings)
    assert {"error", "warning", "info"} >= {
        box.get("id").removeprefix("show-") for box in document.iter("input")
    } - {"malformed", "refused", "differs", "client", "broker"}


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = report_html(verdict_of("kafka44_java_errors.pcapng"))
    document = parsed(page)
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(tags(document))
    assert not [name for node in document.iter() for name in node.attrib if str(name).startswith("on")]
    assert not [node for node in document.iter() if node.get("style") or node.get("src")]
    (policy,) = [node.get("content") for node in document.iter("meta") if node.get("http-equiv")]
    style = "".join(document.find("head/style").itertext())
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
    assert "url(" not in style and "@import" not in style


def test_the_style_knows_light_and_dark_and_what_the_page_uses() -> None:
    page = report_html(verdict_of("kafka44_java_errors.pcapng"))
    assert "prefers-color-scheme: dark" in page
    light, dark = (re.findall(r"(--[a-z0-9-]+): [^;]+;", part) for part in page.split("@media (prefers")[:2])
    assert set(dark) <= set(light)
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", page))
    assert used <= set(light)
    assert {name for name in light if name != "--mono"} == set(dark[: len(light)])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", EVIL)
def test_wire_values_become_no_element(text: str) -> None:
    page = report_html(verdict_on(text))
    assert page.replace("\n", "").isprintable()
    document = parsed(page)
    assert "".join(document.itertext()).count(printable(text)) > 5
    harmless = parsed(report_html(verdict_on("harmless")))
    assert set(tags(document)) == set(tags(harmless))
    assert {str(name) for node in document.iter() for name in node.attrib} == {
        str(name) for node in harmless.iter() for name in node.attrib
    }
    links = {node.get("href") for node in document.iter("a")}
    assert all(link.startswith(("#", "https://")) for link in links)


def test_what_is_no_markup_is_text() -> None:
    assert element("b", "<i>", title='"<') == '<b title="&quot;&lt;">&lt;i&gt;</b>'
    assert element("b", Markup("<i></i>")) == "<b><i></i></b>"
    assert text("a\ud800\x1b") == "a\\ud800\\x1b"


def test_an_empty_capture_has_a_page() -> None:
    judge = Judge()
    judge.finish()
    document = parsed(report_html(Verdict(judge, quality_of(judge.coverage), ("empty.pcap",))))
    assert "No Kafka traffic was found" in "".join(document.itertext())


def test_a_page_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MAX_SHOWN", 1)
    verdict = verdict_of("kafka44_java_errors.pcapng")
    verdict.findings *= 2
    assert [len(fold.others) for fold in verdict.folds] == [1, 1]
    page = report_html(verdict)
    assert page.count('<details class="finding') == 1
    assert "2 more findings omitted here" in page


def test_causes_come_first() -> None:
    path = "kafka44_java_refused"
    verdict = verdict_of(f"{path}.pcapng")
    page = parsed(report_html(verdict, diagnosed(capture(path))))
    sections = [section.get("id") for section in page.iter("section")]
    assert sections[:2] == ["causes", "findings"]
    articles = list(page.find(".//section[@id='causes']").iter("article"))
    assert len(articles) == 2
    text = "".join(articles[0].itertext())
    assert all(
        word in text for word in ("login-refused", "who", "cost", "8 errors", "packets 65-67", "helps")
    )
    assert next(link.get("href") for link in page.find(".//nav").iter("a")) == "#causes"
    cards = [" ".join(card.itertext()) for card in page.find(".//ul[@class='cards']").iter("li")]
    assert " ".join(cards[0].split()) == "2 causes"


def test_nothing_wrong_is_said_with_what_was_looked_at() -> None:
    path = "kafka44_rdkafka_groups"
    page = parsed(report_html(verdict_of(f"{path}.pcapng"), diagnosed(capture(path))))
    text = "".join(page.find(".//section[@id='causes']").itertext())
    assert "Nothing wrong was found." in text
    assert "538 exchanges on 31 Kafka connections were looked at." in text
