"""The scripts of findings/ have the form that its README states. No test runs them: they install packages."""

import os
import re
from pathlib import Path

import pytest

from tests.support.console import CHECKOUT

FOLDER = CHECKOUT / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
ROWS = re.findall(r"^\| \[(\S+)\]\((\S+)\) \|", (FOLDER / "README.md").read_text(), re.MULTILINE)


def test_each_script_has_a_row() -> None:
    assert SCRIPTS
    assert [(script.name, script.name) for script in SCRIPTS] == ROWS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_form(script: Path) -> None:
    text = script.read_text()
    head = re.match(r"#!/usr/bin/env bash\n((?:#.*\n)+)set -uo pipefail\n", text)
    assert head, "comment, then the options of the shell"
    assert re.search(r"\b\d+\.\d+\.\d+\b", head[1].splitlines()[0]), "the first line names a version"
    for part in ("# Expected: ", "# Observed: ", "# Needs ", "README.md"):
        assert part in head[1]
    assert os.access(script, os.X_OK)
    assert "kdissect" not in text, "it works alone"
    assert {"1", "77"} <= set(re.findall(r"\bexit (\d+)", text))
    assert "work=$(mktemp -d)" in text
    assert 'rm -rf "$work"' in text
    assert "0.0.0.0" not in text


FAULTS = (CHECKOUT / "docs" / "found-in-the-wild.md").read_text().split("\n## Unlike")[0].split("\n### ")[1:]
SOURCE = re.compile(r"spec/\d{3} |KIP-\d+|KAFKA-\d+|\b(?:org\.apache\.)?kafka\.[\w.]+#?\w*")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.partition(":")[0])
def test_each_fault_of_other_software_has_its_version_and_source(fault: str) -> None:
    title, _, text = fault.partition("\n")
    assert re.search(r"\d+\.\d+", title), "the version of the software"
    assert SOURCE.search(text), "the source of the rule that it breaks"
