"""What is installed: locked with hashes for CI, little without extras (SECURITY.md)."""

import re
import tomllib
from pathlib import Path

import pytest

from kdissect.model.extras import EXTRAS

ROOT = Path(__file__).parent.parent.parent
TEXTS = [
    path
    for pattern in (
        "*.md",
        "*.toml",
        ".ci/*",
        "docs/**/*",
        "kdissect/**/*",
        "native/**/*",
        "captures/**/*.md",
    )
    for path in ROOT.glob(pattern)
    if path.suffix in ("", ".md", ".toml", ".py", ".rs", ".json", ".sh", ".yml", ".txt", ".table")
    and path.is_file()
    and "target" not in path.parts
]
LOCKS = sorted((ROOT / ".ci").glob("requirements-*.txt"))
# What analysis itself needs: decompressors, checksums, packets, output. Each addition is a decision.
BASE = {
    "cramjam", "crc32c", "dpkt", "lz4", "orjson", "platformdirs", "rich", "textual", "zstandard",
}  # fmt: skip
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def name_of(requirement: str) -> str:
    return re.split(r"[\s\[<>=!~;]", requirement)[0].lower().replace("_", "-")


def test_the_base_install_is_small() -> None:
    assert {name_of(one) for one in project()["dependencies"]} == BASE  # type: ignore[attr-defined]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_version_has_hashes(lock: Path) -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text())
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+(\[[^]]*\])?==[^ ]+", entry), entry[:80]
        assert HASH.search(entry), entry[:80]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_what_the_project_names_is_locked(lock: Path) -> None:
    locked = {name_of(line) for line in lock.read_text().splitlines() if "==" in line and line[0].isalnum()}
    extras = project()["optional-dependencies"]
    wanted = [*project()["dependencies"]]  # type: ignore[misc]
    chosen = ("test", "delta", "spark", "web", "metrics", "mcp", "otel")
    wanted += [one for extra in chosen for one in extras[extra]]  # type: ignore[index]
    missing = {name_of(one) for one in wanted} - locked
    assert not {name for name in missing if name != "kdissect"}


def test_what_is_said_to_install_is_what_the_extras_are() -> None:
    extras = project()["optional-dependencies"]
    assert {name: list(needed) for name, needed in EXTRAS.items()} == {name: extras[name] for name in EXTRAS}  # type: ignore[index]


def test_all_extras_are_in_all() -> None:
    extras = dict(project()["optional-dependencies"])  # type: ignore[call-overload]
    assert set(extras.pop("all")[0].removeprefix("kdissect[").rstrip("]").split(",")) == {*extras} - {"test"}


def test_no_line_installs_from_an_index_that_does_not_have_it() -> None:
    """Nobody has published kdissect: it is installed from a checkout or a wheel (README)."""
    from_index = re.compile(
        r"\b(?:pip3?|pipx|uv|uvx)\b[^\n]*\binstall\b[^\n|&;]*[\s'\"]kdissect(?![\w/-]*\.whl|[\w/]*/)"
    )
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in TEXTS
        for line in path.read_text("utf-8", "replace").splitlines()
        if from_index.search(line) or ("kdissect[" in line and path.name != "pyproject.toml")
    ]
    assert found == []


def test_no_address_is_that_of_a_site_of_ours() -> None:
    """There is none. An address with our name in it would be somebody else's."""
    ours = re.compile(r"https?://[^\s)>\"'`]*(?<!\.)kdissect|readthedocs", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}: {address[0]}"
        for path in TEXTS
        for address in ours.finditer(path.read_text("utf-8", "replace"))
        if not re.match(r"https?://(?:127\.0\.0\.1|localhost)", address[0])
    ]
    assert found == []


def test_ci_installs_nothing_without_a_hash_and_says_how_advisories_are_asked() -> None:
    assert LOCKS
    assert "--require-hashes" in (ROOT / ".ci" / "run").read_text()
    assert "pip-audit" in (ROOT / ".ci" / "audit").read_text()
    security = (ROOT / "SECURITY.md").read_text()
    for told in ("pip-audit", "CAP_NET_RAW", "What is trusted", "## Reporting"):
        assert told in security
