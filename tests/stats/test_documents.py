"""docs/statistics.md names every field that the commands print."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.cli import main
from tests.stats.truth import capture
from tests.support.console import CAPTURES as CORPUS
from tests.support.console import CHECKOUT

PAGE = (CHECKOUT / "docs" / "statistics.md").read_text()
CAPTURES = [
    "kafka44_java_errors", "kafka44_java_transactions", "kafka44_java_groups", "kafka39_quorum",
    "kafka44_java_waiting", "kafka44_java_rejoins", "kafka44_java_redelivery", "kafka44_java_throttled",
    "kafka44_java_refused", "kafka44_java_positions", "kafka44_java_racks",
]  # fmt: skip
# Their keys are what is counted, not fields: error codes, codecs, members ...
BY_VALUE = {
    "errors", "states", "codecs", "magics", "reasons", "outcomes", "event_counts", "rebuilt", "odd",
    "opaque_connections", "apis", "delivery_counts",
}  # fmt: skip
COMMANDS = {
    "diff": [capture("tansu_rdk216_txn")],  # takes longest, and is not among those of the short run
    "stats": ["--by", "client_rack,broker_rack", "--split"], "topics": ["--sizes", "--savings"], "groups": [],
    "producers": [], "fetch-sessions": [], "logins": [], "changes": [], "offsets": [],
    "access": [], "delay": [], "mirror": [],
    "upgrade": ["--target", "4.0", "--fail-on", "never"],
}  # fmt: skip


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in BY_VALUE or isinstance(inner, list):
                yield from keys(inner)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


BOTH_ENDS = [str(path) for path in sorted((CORPUS / "taps").glob("kafka44_java_far.*.pcapng"))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_field_is_documented(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    found: set[str] = set()
    of_two = [] if command == "diff" else [BOTH_ENDS]  # which takes one beside that of its options
    for paths in [*([capture(name)] for name in CAPTURES), *of_two]:
        assert main([command, *paths, "--format", "json", *COMMANDS[command]]) == 0
        found |= set(keys(json.loads(capfd.readouterr().out)))
    (section,) = re.findall(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    common = PAGE.partition("\n## ")[0] + PAGE[PAGE.index("Distributions have") :].partition("\n\n")[0]
    documented = set(re.findall(r"`([a-z_0-9]+)`", section + common))
    assert sorted(found - documented) == []
