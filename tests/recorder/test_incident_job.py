"""The steps that write an incident: in new processes, in copies, and after the recorder was killed."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from captures.faults.recording import RECORDED
from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident, Row
from kdissect.recorder.incident_job import IncidentJob
from kdissect.recorder.incident_writer import STEPS
from kdissect.recorder.settings import RecorderSettings
from kdissect.recorder.symptom import MARK, Symptom
from tests.support.console import CHECKOUT

REFUSED = RECORDED / "login-refused-1.pcapng.gz"
_SECONDS = 60.0
_ALWAYS = 1 << 62
_STEP = "kdissect.recorder.incident_step"


def job_in(path: Path, is_fresh: bool) -> IncidentJob:
    """Return the job for an incident that has all packets of a recording."""
    folder = Folder(str(path))
    folder.open()
    ring = Path(folder.ring)
    ring.with_name(f"{ring.stem}_00001_20261124130000{ring.suffix}").write_bytes(
        gzip.decompress(REFUSED.read_bytes())
    )
    symptom = Symptom(MARK, "mark", "", "mark", "a person asked", (), 1, 1, 1)
    incident = Incident("marked", 1, [[0, _ALWAYS]])
    incident.count(symptom)
    return IncidentJob(folder, RecorderSettings(str(path), ()), incident, is_fresh)


def ended(job: IncidentJob) -> Row:
    """Do all steps, and return the facts."""
    for _ in STEPS:
        job.begin()
        assert job.is_running
        assert job.poll(_SECONDS)
        assert not job.is_running
    assert job.facts is not None
    return job.facts


def test_a_new_process_writes_what_a_copy_writes(tmp_path: Path) -> None:
    facts, files = [], []
    for is_fresh in (False, True):
        path = tmp_path / str(is_fresh)
        facts.append(ended(job_in(path, is_fresh)))
        (incident,) = (path / "incidents").iterdir()
        files.append({one.name: one.read_bytes() for one in incident.iterdir()})
    assert facts[0] == facts[1]
    assert (facts[0]["causes"], facts[0]["packets"]) == (["login-refused"], 452)
    assert set(files[0]) == {*facts[0]["files"], "incident.json"}
    assert files[0] == files[1]


def test_a_step_that_fails_ends_the_job_and_leaves_no_folder(tmp_path: Path) -> None:
    job = job_in(tmp_path, is_fresh=True)
    job._part = str(tmp_path / "none" / "marked.1.part")  # a folder that cannot be made
    job.begin()
    assert job.poll(_SECONDS)
    assert job.facts is not None
    assert "No such file" in job.facts["error"]
    assert list((tmp_path / "incidents").iterdir()) == []


def test_a_step_ends_if_nobody_waits_for_it() -> None:
    """The recorder was killed. Its next one makes the incident, and waits for the lock."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", _STEP, str(writing)],
        stdin=subprocess.PIPE, pass_fds=[writing], cwd=CHECKOUT,
    ) as step:  # fmt: skip
        os.close(writing)
        os.close(reading)
        assert step.wait(_SECONDS) == 1


@pytest.mark.parametrize("is_debugged", [False, True])
def test_a_fault_in_a_new_process_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_debugged: bool
) -> None:
    monkeypatch.setattr(sys, "argv", ["kdissect", *["--debug"] * is_debugged])
    job = job_in(tmp_path, is_fresh=True)
    del job._row["spans"]
    job.begin()
    assert job.poll(_SECONDS)
    assert job.facts == {"error": "a fault of kdissect: KeyError (--debug shows where)"}
    assert ("Traceback" in capfd.readouterr().err) == is_debugged


@pytest.mark.parametrize("other", ["causes", "rules", "query", "excerpt", "stats", "cli"])
def test_the_step_of_the_packets_has_no_memory_of_other_parts(other: str) -> None:
    script = (
        f"import sys, {_STEP}; print([name for name in sys.modules if name.startswith('kdissect.{other}')])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, check=True, capture_output=True, text=True
    )
    assert ran.stdout == "[]\n"
