"""`docs/record.md` is walked through: what it says is printed is printed."""

import os
from pathlib import Path

from tests.support.console import CHECKOUT
from tests.support.walk import walk

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
PAGE = CHECKOUT / "docs" / "record.md"


def test_the_page_can_be_walked(tmp_path: Path) -> None:
    walk(PAGE, tmp_path, UPDATE)
