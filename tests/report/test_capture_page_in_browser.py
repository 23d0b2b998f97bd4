"""The page of `report` in headless Chromium: its script sorts and filters, and it fits small screens."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from tests.causes.diagnosing import capture
from tests.report.test_capture_page import page_on
from tests.report.test_html_in_browser import browser, console, opened, profile
from tests.report.verdicts import EVIL

__all__ = ["browser", "profile"]  # fixtures

# Clicks twice on `exchanges` and once on `p50`, and searches for two words. The title has the result.
_DRIVER = """
const table = document.querySelector("#apis table");
const column = (name) => {
  const heads = [...table.tHead.rows[0].cells];
  const at = heads.findIndex((head) => head.textContent === name);
  return { head: heads[at], texts: () => [...table.tBodies[0].rows].map((row) => row.cells[at].textContent) };
};
const found = {};
const exchanges = column("exchanges"), p50 = column("p50");
exchanges.head.querySelector("button").click();
found.most = exchanges.texts();
exchanges.head.querySelector("button").click();
found.least = exchanges.texts();
found.order = exchanges.head.getAttribute("aria-sort");
p50.head.querySelector("button").click();
found.p50 = p50.texts();
const box = document.querySelector("#apis input");
found.label = box.getAttribute("aria-label");
box.value = "GROUP join";
box.dispatchEvent(new Event("input"));
found.shown = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[0].textContent);
found.count = document.querySelector("#apis [role=status]").textContent;
found.width = [document.documentElement.scrollWidth, window.innerWidth];
document.title = JSON.stringify(found);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "page.html"
    assert (
        main(["report", capture("kafka44_java_errors"), capture("kafka44_java_groups"), "-o", str(path)]) == 0
    )
    return path


def driven(browser: str, page: Path, profile: Path, *options: str) -> Any:
    """Return what the driver finds. The page's policy, which forbids a second script, is left out."""
    text = re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text(encoding="utf-8"))
    driven = page.with_name("driven.html")
    driven.write_text(text.replace("</body>", f"<script>{_DRIVER}</script></body>"), encoding="utf-8")
    ran = opened(browser, driven, profile, "--dump-dom", *options)
    assert console(ran) == []
    title = re.search("<title>(.*?)</title>", ran.stdout.decode())
    assert title is not None
    return json.loads(unescape(title[1]))


def in_us(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def test_tables_sort_and_filter(browser: str, page: Path, profile: Path) -> None:
    found = driven(browser, page, profile, "--window-size=1400,1000")
    counts = [int(text) for text in found["most"]]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) > 5
    assert [int(text) for text in found["least"]] == sorted(counts)
    assert found["order"] == "ascending"
    times = [in_us(text) for text in found["p50"] if text]
    assert times == sorted(times, reverse=True) and len(times) > 5
    assert {text.split()[1] for text in found["p50"] if text} >= {"us", "ms"}
    assert found["shown"] == ["JoinGroup"] and found["count"] == f"1 of {len(counts)}"
    assert found["label"] == "Filter: APIs"


@pytest.mark.exhaustive
def test_a_small_screen_needs_no_sideways_scrolling(browser: str, page: Path, profile: Path) -> None:
    found = driven(browser, page, profile, "--window-size=400,900")
    wide, window = found["width"]
    assert wide <= window <= 500  # Chromium's own least width


def test_its_own_script_is_the_only_one_that_runs(browser: str, profile: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(page_on("".join(EVIL)), encoding="utf-8")
    ran = opened(browser, page, profile, "--dump-dom")
    assert console(ran) == []
    assert ran.stdout.count(b"<script") == 1
    assert b'type="search"' in ran.stdout  # made by the script: the policy lets it run
