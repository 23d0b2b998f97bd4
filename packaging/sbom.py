"""Writes a software bill of materials: what an installation of kdissect brings, as CycloneDX 1.6 in JSON.

python packaging/sbom.py FILE

Names and licenses are those of docs/licenses.md, which a test compares with the metadata of the packages.
Versions are those of the locks: .ci/requirements-py311.txt for Python packages, native/Cargo.lock for crates.
Requires cyclonedx-python-lib. `.ci/sbom` installs it, and validates the result.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kdissect.model.version import __version__

ROOT = Path(__file__).parent.parent
_LICENSES = ROOT / "docs" / "licenses.md"
_PYTHON_LOCK = ROOT / ".ci" / "requirements-py311.txt"
_RUST_LOCK = ROOT / "native" / "Cargo.lock"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", re.MULTILINE)


class Part(NamedTuple):
    """One package that an installation brings."""

    kind: str  # of the package URL: pypi, cargo or maven
    name: str
    version: str
    license: str
    is_optional: bool
    sha256: str | None = None


def parts() -> list[Part]:
    """Return all packages, sorted by kind and name. Raises KeyError if a lock lacks one."""
    page = _LICENSES.read_text()
    return sorted([*_python(page), *_rust(page), *_bundled(page)])


def _rows(page: str, heading: str) -> Iterator[tuple[str, str, str]]:
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    for line in table[2:]:
        name, license_text, note = (cell.strip(" `") for cell in line.split("|")[1:4])
        yield name, license_text, note


def _python(page: str) -> Iterator[Part]:
    locked = {
        name.lower().replace("_", "-"): version for name, version in _LOCKED.findall(_PYTHON_LOCK.read_text())
    }
    for name, license_text, brought_by in _rows(page, "Python packages"):
        yield Part("pypi", name, locked[name], license_text, brought_by != "base")


def _rust(page: str) -> Iterator[Part]:
    """Yield the crates that are linked. Crates for building are no part of an installation."""
    locked = {row["name"]: row for row in tomllib.loads(_RUST_LOCK.read_text())["package"]}
    for name, license_text, use in _rows(page, "Rust crates"):
        if use == "linked":
            row = locked[name]
            yield Part("cargo", name, row["version"], license_text, True, row["checksum"])


def _bundled(page: str) -> Iterator[Part]:
    for text, license_text, _ in _rows(page, "In the package"):
        name, version = text.partition(",")[0].split()
        yield Part("maven", f"org.ow2.asm/{name.lower()}", version, license_text, False)


def document() -> str:
    """Return the bill of materials as text."""
    # a tool of releases, not a dependency
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.contrib.this.builders import this_component
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import ComponentType
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion

    bom = Bom()
    licenses = LicenseFactory()
    bom.metadata.tools.components.add(this_component())
    project = Part("pypi", "kdissect", __version__, "Apache-2.0", False)
    root = bom.metadata.component = _component(project, licenses, ComponentType.APPLICATION)
    found = [_component(part, licenses, ComponentType.LIBRARY) for part in parts()]
    bom.components.update(found)
    bom.register_dependency(root, found)
    text: str = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)
    return text + "\n"


def _component(part: Part, licenses: Any, component_type: Any) -> Any:
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentScope
    from packageurl import PackageURL

    group, _, name = part.name.rpartition("/")
    purl = PackageURL(part.kind, group or None, name, part.version)
    return Component(
        bom_ref=str(purl),
        type=component_type,
        group=group or None,
        name=name,
        version=part.version,
        scope=ComponentScope.OPTIONAL if part.is_optional else ComponentScope.REQUIRED,
        licenses=[licenses.make_from_string(part.license)],
        purl=purl,
        hashes=[] if part.sha256 is None else [HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)],
    )


def main(arguments: Sequence[str]) -> int:
    """Write the bill of materials into the file that is named; return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python packaging/sbom.py FILE\n")
        return 2
    Path(arguments[0]).write_text(document())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
