"""Every format of a verdict that stands at the limits of what reports show.

`python -m tests.regenerate pages` writes them.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import html5lib
import pytest

from kdissect.cli.findings.report_files import FORMATS, render
from kdissect.model.version import __version__
from kdissect.report.html import report_html
from kdissect.report.verdict import Verdict
from kdissect.rules.registry import ruleset_version
from kdissect.schema.releases import newest_release
from tests.report.hand_made_verdict import compared, hand_made, nothing
from tests.report.test_html_pages import shown

GOLDEN = Path(__file__).parent / "formats"
VERDICTS: dict[str, Callable[[], Verdict]] = {
    "hand_made": hand_made, "compared": compared, "strict": lambda: hand_made(strict=True),
    "nothing": nothing,
}  # fmt: skip


def page_text(page: str) -> str:
    """Return the elements of an HTML page, but for its style."""
    document = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    return "\n".join(line for part in document.find("body") for line in shown(part)) + "\n"


def sarif_text(text: str) -> str:
    """Without the pages of the rules."""
    log = json.loads(text)
    for rule in log["runs"][0]["tool"]["driver"]["rules"]:
        del rule["help"], rule["fullDescription"], rule["shortDescription"]
    return json.dumps(log, indent=1) + "\n"


def report(name: str, format_: str) -> str:
    """Return a report as text that stays the same with new releases."""
    verdict = VERDICTS[name]()
    if format_ == "statistics":
        text = render("text", verdict, statistics=True).decode()
    elif format_ == "html":
        text = page_text(report_html(verdict))
    else:
        text = render(format_, verdict).decode()
    if format_ == "sarif":
        text = sarif_text(text)
    for version, word in (
        (ruleset_version(verdict.rules), "RULESET"), (newest_release(), "SCHEMA"), (__version__, "VERSION"),
    ):  # fmt: skip
        text = text.replace(f'"{version}"', f'"{word}"').replace(f" {version}", f" {word}")
    return text


MACHINES = ("text", "json", "junit", "sarif", "github")
CASES = [
    *((name, format_) for name in ("hand_made", "nothing") for format_ in (*FORMATS, "statistics")),
    *(("compared", format_) for format_ in MACHINES),
    ("strict", "text"),
]


@pytest.mark.parametrize(("name", "format_"), CASES)
def test_report(name: str, format_: str) -> None:
    found = report(name, format_)
    golden = GOLDEN / f"{name}.{format_}.txt"
    if os.environ.get("KDISSECT_UPDATE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")
