"""Views of the screen say the same of blocks as of exchanges one by one."""

import shutil
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.native import is_compiled
from tests.engine.test_in_order import CAPTURES
from tests.native import studies_said
from tests.support.python_side import PythonSide

STUDIES = [
    "traffic", "traffic by client_id", "traffic by broker", "traffic by software", "traffic by connection",
    "traffic by topic", "traffic by group", "topics", "groups", "producers", "connections", "findings",
]  # fmt: skip
FILTERS = ["", "api in (Produce, Fetch, Heartbeat)", 'not client_id contains "a"', "latency > 2ms"]
RECORDED = sorted(CAPTURES.glob("*.pcap*"))
GROUPS = str(CAPTURES / "kafka44_java_groups.pcapng")

needs_compiled = pytest.mark.skipif(not is_compiled, reason="no compiled hot path (docs/native.md)")


@pytest.mark.sampled(16)
@needs_compiled
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_files(python_side: PythonSide, path: Path) -> None:
    number = RECORDED.index(path)
    study, expression = STUDIES[number % len(STUDIES)], FILTERS[number % len(FILTERS)]
    arguments = [str(path)], study, expression
    assert studies_said.said(*arguments) == python_side.call(studies_said.said, *arguments)


@needs_compiled
@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("expression", FILTERS)
def test_studies_and_filters(python_side: PythonSide, study: str, expression: str) -> None:
    arguments = [GROUPS], study, expression
    assert studies_said.said(*arguments) == python_side.call(studies_said.said, *arguments)


@needs_compiled
@pytest.mark.parametrize("expression", ["", "api == Fetch"])
@pytest.mark.parametrize("study", STUDIES[:6])
def test_statistics_take_blocks(study: str, expression: str) -> None:
    """Some exchanges of each file are Python's; those that the engine paired become no objects."""
    everything = sum(1 for _ in Dissection(GROUPS))
    assert studies_said.given_one_by_one([GROUPS], study, expression) * 4 < everything


@needs_compiled
@pytest.mark.parametrize("study", STUDIES[6:])
def test_views_take_blocks(study: str) -> None:
    everything = sum(1 for _ in Dissection(GROUPS))
    assert studies_said.given_one_by_one([GROUPS], study) < everything


@pytest.mark.parametrize("study", ["traffic", "topics", "groups", "producers"])
def test_traffic_that_several_capture_sets_have_counts_once(tmp_path: Path, study: str) -> None:
    """As in the commands that show the same."""
    copies = [tmp_path / name / "groups.pcapng" for name in ("one", "two")]
    for copy in copies:
        copy.parent.mkdir()
        shutil.copy(GROUPS, copy)
    once, twice = (studies_said.said(paths, study, "") for paths in ([GROUPS], list(map(str, copies))))
    assert _counts(once) == _counts(twice)


def _counts(value: object, name: str = "") -> list[int]:
    """Return all numbers of exchanges, requests and batches, in their order."""
    if isinstance(value, dict):
        return [number for name, inner in value.items() for number in _counts(inner, name)]
    if isinstance(value, list):
        return [number for inner in value for number in _counts(inner)]
    return [value] if name in ("exchanges", "requests", "batches") and isinstance(value, int) else []
