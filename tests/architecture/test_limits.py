"""docs/limits.md names constants that there are, with the values they have."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.limits import DEFAULT_LIMITS

ROOT = Path(__file__).parent.parent.parent
ROWS = re.findall(
    r"^\| (.+?) \| `([\w.]+)` \| (\d+) \| (.+?) \|$", (ROOT / "docs" / "limits.md").read_text(), re.M
)


def test_there_are_many() -> None:
    assert len(ROWS) > 50
    assert {
        constant.removeprefix("Limits.") for _, constant, _, _ in ROWS if constant.startswith("Limits.")
    } == set(DEFAULT_LIMITS._fields)


@pytest.mark.parametrize(("constant", "value", "told"), [row[1:] for row in ROWS])
def test_each_is_what_the_page_says(constant: str, value: str, told: str) -> None:
    if constant.startswith("Limits."):
        found = getattr(DEFAULT_LIMITS, constant.removeprefix("Limits."))
    else:
        module, _, name = constant.rpartition(".")
        found = getattr(import_module(module), name)
    assert found == int(value)
    kinds = re.findall(r"`(\w+)`", told) if not told.startswith("none") else []
    assert set(kinds) <= {str(kind) for kind in AnomalyKind}
    assert bool(kinds) != told.startswith("none")
