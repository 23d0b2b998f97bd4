"""What is made for package managers and other programs: it names what there is, and its steps work."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kdissect.cli import COMMANDS, main
from tests.support.console import CAPTURES, CHECKOUT
from tests.support.patience import PATIENCE_S

PACKAGING = CHECKOUT / "packaging"
METRICS = (CHECKOUT / "docs" / "metrics.md").read_text()
ACKS = CAPTURES / "tansu_rdk216_acks.pcap"
TYPES = dict(re.findall(r"^\| `(kdissect_\w+)` \| (\w+) \|", METRICS, re.MULTILINE))
LABELS = {
    name: set(re.findall(r"`(\w+)`", labels))
    for name, labels in re.findall(r"^\| `(kdissect_\w+)` \| \w+ \| ([^|]*) \|", METRICS, re.MULTILINE)
}


def dashboard_queries() -> Iterator[tuple[str, str]]:
    panels = json.loads((PACKAGING / "grafana-dashboard.json").read_text())["panels"]
    for panel in panels:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
            yield (
                panel["title"],
                f"by ({', '.join(re.findall(r'{{(.*?)}}', target['legendFormat']))}) " + (target["expr"]),
            )


def alert_queries() -> Iterator[tuple[str, str]]:
    (group,) = yaml.safe_load((PACKAGING / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        assert rule["annotations"]["summary"]
        yield rule["alert"], rule["expr"]
        named = re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
        yield rule["alert"], f"by ({', '.join(named)}) {rule['expr']}"


@pytest.mark.parametrize(("name", "query"), [*dashboard_queries(), *alert_queries()])
def test_queries_ask_for_metrics_and_labels_that_there_are(name: str, query: str) -> None:
    named = re.findall(r"kdissect_\w+", query)
    assert named, name
    for metric in named:
        base = metric.removesuffix("_bucket")
        assert base in TYPES, metric
        assert (TYPES[base] == "histogram") == (base != metric), metric
        assert TYPES[base] != "counter" or re.search(rf"(rate|increase)\({metric}", query), metric
        words = re.findall(r"by \((.*?)\)", query) + re.findall(r"{(.*?)}", query)
        asked = {word for text in words for word in re.findall(r"(\w+)(?=\s*(?:=|!~|=~|,|$))", text)}
        asked = {word for word in asked if not re.search(rf'"[^"]*\b{word}\b[^"]*"', query)}
        assert asked <= LABELS[base] | {"le"}, metric


def test_alert_rules_are_told_apart() -> None:
    names = [name for name, _ in alert_queries()]
    assert len(set(names)) * 2 == len(names)


# The action of GitHub.


def action() -> Any:
    return yaml.safe_load((CHECKOUT / "action.yml").read_text())


def run_step(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the shell of a step, as GitHub does, with `kdissect` of this checkout."""
    (step,) = (step for step in action()["runs"]["steps"] if step.get("name") == name)
    shim = folder / "kdissect" / "bin" / "kdissect"
    shim.parent.mkdir(parents=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kdissect "$@"\n')
    shim.chmod(0o755)
    values = {key: value.get("default", "") for key, value in action()["inputs"].items()} | inputs
    given = {key: values[text[len("${{ inputs.") : -len(" }}")]] for key, text in step["env"].items()}
    environment = {
        **os.environ, **given, "RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")
    }  # fmt: skip
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip


def test_the_action_reports_findings(tmp_path: Path) -> None:
    done = run_step("Check", tmp_path, captures=str(ACKS), arguments="--select PAI004,FRM006")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("::error ") == 2
    assert json.loads((tmp_path / "kdissect.sarif").read_text())["version"] == "2.1.0"
    assert "PAI004" in (tmp_path / "summary.md").read_text()
    assert len(list((tmp_path / "kdissect-evidence").iterdir())) == 2


def test_the_action_takes_several_captures_and_no_sarif(tmp_path: Path) -> None:
    both = f"{ACKS} {CAPTURES / 'tansu_rdk216_txn.pcap'}"
    done = run_step("Check", tmp_path, captures=both, arguments="--select PAI004 --exit-zero", sarif="")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "kdissect.sarif").exists()


def test_the_action_names_its_inputs() -> None:
    text = (CHECKOUT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action()["inputs"])


# The image.


def test_the_dockerfile_has_what_it_copies_and_starts() -> None:
    lines = (PACKAGING / "Dockerfile").read_text().splitlines()
    extras = next(re.findall(r"\[(\w+(?:,\w+)*)\]\"", line)[0] for line in lines if "pip install" in line)
    project = (CHECKOUT / "pyproject.toml").read_text()
    assert all(re.search(rf"^{name} = \[", project, re.MULTILINE) for name in extras.split(","))
    (start,) = (json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if "ENTRYPOINT" in line)
    (given,) = (json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD "))
    assert start == ["kdissect"]
    assert main(given) == 0


@pytest.mark.exhaustive
def test_the_steps_of_the_dockerfile(tmp_path: Path) -> None:
    """There is no daemon: its two lines of pip, with what is installed here in place of a package index."""
    text = (PACKAGING / "Dockerfile").read_text()
    build = re.search(r"/opt/build/bin/pip (wheel .*)", text)
    install = re.search(r"/opt/kdissect/bin/pip (install [^&]*)", text)
    assert build and install
    wheels, target = tmp_path / "wheels", tmp_path / "target"
    lines = [
        build[1].replace("/wheels", str(wheels)).replace("/src", str(CHECKOUT)) + " --no-build-isolation",
        install[1].replace("/wheels", str(wheels)) + f" --no-deps --target {target}",
    ]
    for line in lines:
        subprocess.run(
            ["sh", "-c", f"{sys.executable} -m pip {line}"], check=True, timeout=600, capture_output=True,
            env={**os.environ, "KDISSECT_NATIVE": "0"},
        )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "kdissect", "info", str(ACKS)], check=True, capture_output=True, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(target)}, timeout=PATIENCE_S,
    )  # fmt: skip
    assert "exchanges" in done.stdout
    assert (target / "kdissect" / "cli" / "reference" / "wireshark.lua").exists()


# Manual pages.


def test_there_is_a_manual_page_for_each_command(tmp_path: Path) -> None:
    pages = runpy.run_path(str(PACKAGING / "man.py"))
    assert pages["main"]([str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"kdissect.1", *(f"kdissect-{name}.1" for name in COMMANDS)}
    text = (tmp_path / "kdissect-extract.1").read_text()
    assert "\\-\\-annotate" in text
    assert "\n.SH EXAMPLES\n.nf\n  # " in text
    assert pages["main"]([]) == 2


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
def test_man_shows_the_pages_without_a_warning(tmp_path: Path) -> None:
    runpy.run_path(str(PACKAGING / "man.py"))["main"]([str(tmp_path)])
    for name in ("kdissect.1", "kdissect-check.1", "kdissect-stats.1"):
        done = subprocess.run(
            ["man", "--warnings", "-l", str(tmp_path / name)], capture_output=True, text=True, check=True,
            env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.stderr == ""
        assert "NAME" in done.stdout
        assert len(done.stdout.splitlines()) > 30
