"""`docs/tour.md` is walked through: what it says is printed is printed."""

import os
import re
from pathlib import Path

import pytest

from tests.support.console import CHECKOUT
from tests.support.walk import walk

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
TOUR = CHECKOUT / "docs" / "tour.md"


@pytest.mark.exhaustive
def test_the_tour_can_be_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk(TOUR, tmp_path, UPDATE)
    assert re.findall(r"^exit code (\d+)$", TOUR.read_text(), re.MULTILINE) == ["1", "0", "0", "1"]


def test_its_job_is_that_of_the_page_about_ci() -> None:
    (job,) = re.findall(r"```yaml\n(.*?)```", TOUR.read_text(), re.DOTALL)
    record = job[: job.index("      - name: Check")]
    assert record in (CHECKOUT / "docs" / "ci.md").read_text()
