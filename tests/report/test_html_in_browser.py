"""The HTML page in headless Chromium: no error on its console, and the style sheet at work."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.report.html import report_html
from tests.report.verdicts import EVIL, verdict_of, verdict_on
from tests.support.patience import PATIENCE_S

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Chromium's own worries (no bus, no graphics) are on stderr too; what a page says carries this.
CONSOLE = ":CONSOLE"


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    return found


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "profile"
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)


def opened(browser: str, page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0",
            *options, page.as_uri(),
        ],
        capture_output=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip


def console(ran: subprocess.CompletedProcess[bytes]) -> list[str]:
    return [line for line in ran.stderr.decode(errors="replace").splitlines() if CONSOLE in line]


def test_the_console_stays_silent(browser: str, profile: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(report_html(verdict_of("kafka44_rdkafka_admin.pcapng")))
    picture = tmp_path / "page.png"
    ran = opened(browser, page, profile, "--window-size=1280,2000", f"--screenshot={picture}")
    assert console(ran) == []
    assert picture.stat().st_size > 50_000  # an unstyled or empty page is far smaller


def test_nothing_of_the_wire_runs(browser: str, profile: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(report_html(verdict_on("".join(EVIL))))
    ran = opened(browser, page, profile, "--dump-dom")
    assert console(ran) == []
    assert b"<script" not in ran.stdout
    assert b'id="rules"' in ran.stdout


@pytest.mark.exhaustive
def test_a_console_message_would_be_seen(browser: str, profile: Path, tmp_path: Path) -> None:
    """The check above is worth something: a page that breaks its own policy is heard."""
    page = tmp_path / "page.html"
    broken = report_html(verdict_on("x")).replace("<body>", "<body><p style='color:red'>x</p>")
    page.write_text(broken)
    assert "Content Security Policy" in "".join(console(opened(browser, page, profile, "--dump-dom")))
