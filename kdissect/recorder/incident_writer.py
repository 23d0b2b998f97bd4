"""The steps that write the folder of an incident: complete, or not there at all.

An incident may be as large as the ring. So each step is a process of its own, which has no more in memory
than its step needs: the packets, the causes, the violations.
"""

from __future__ import annotations

import errno
import gc
import shutil
from pathlib import Path
from typing import NamedTuple

from kdissect.engine.times import SECOND_NS, rfc3339
from kdissect.model.faults import fault_text
from kdissect.model.limits import Limits, in_force, use
from kdissect.recorder.folder import INCIDENT, NAMES, Folder, public_row, sync, sync_folder, write_whole
from kdissect.recorder.incident import Incident, Row
from kdissect.recorder.incident_packets import copy_packets, redact
from kdissect.recorder.reading import Reading
from kdissect.recorder.segments import segments_within
from kdissect.recorder.settings import RecorderSettings

CAPTURE = "capture.pcapng"
STEPS = _PACKETS, _WHY, _CHECK = "packets", "why", "check"


class Task(NamedTuple):
    """A step, and what it needs. `part` is the folder until everything is on the disk. `facts` are those of
    the steps before.
    """

    step: str
    part: str
    settings: RecorderSettings
    incident: Row
    facts: Row

    def row(self) -> Row:
        """Return plain values, for `from_row` in another process."""
        settings = self.settings._replace(conditions=())._asdict()
        process = {"limits": in_force()._asdict(), "collect_every": gc.get_threshold()[0]}
        return {**self._asdict(), "settings": settings, **process}

    @classmethod
    def from_row(cls, row: Row) -> Task:
        """Return what `row` described. The limits of its process hold from now on, and how often it searches
        for cycles of objects.
        """
        use(Limits(**row["limits"]))
        gc.set_threshold(row["collect_every"])
        settings = row["settings"]
        reading = Reading(*settings["reading"])
        made = RecorderSettings(**{**settings, "reading": reading})
        return cls(row["step"], row["part"], made, row["incident"], row["facts"])


def facts_of(task: Task) -> Row:
    """Do a step. Return facts about what it wrote, or its error."""
    try:
        return _done(task)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return {"error": str(error.strerror or error), "is_full": is_full}
    except Exception as error:  # a fault of kdissect ends the step, not the recorder
        return {"error": fault_text(error)}


def _done(task: Task) -> Row:
    part, settings = Path(task.part), task.settings
    capture = part / CAPTURE
    # The capture has its secrets itself. A redacted one is plaintext.
    reading = settings.reading._replace(key_logs=())
    if task.step == _PACKETS:
        return _write_packets(part, settings, Incident.from_row(task.incident))
    if task.step == _WHY:
        from kdissect.recorder.incident_causes import write_why  # memory: of this step alone

        return write_why(capture, reading)
    from kdissect.recorder.incident_check import write_check  # memory: of this step alone

    found = write_check(capture, reading)
    found["files"] = [*task.facts["files"], *found["files"]]
    incident = Incident.from_row(task.incident)
    incident.written = task.facts | found
    _finish(part, Folder(settings.folder), incident)
    return found


def _write_packets(part: Path, settings: RecorderSettings, incident: Incident) -> Row:
    shutil.rmtree(part, ignore_errors=True)  # of an attempt before, or of a killed process with our number
    part.mkdir(mode=0o700)
    capture = part / CAPTURE
    comment = f"Incident {incident.id}: {incident.headline(settings.redact != NAMES)}."
    raw = part / f"raw-{CAPTURE}" if settings.redact else capture
    segments = segments_within(Folder(settings.folder).segments(), incident.spans)
    connections = None
    if settings.only_concerned:
        from kdissect.recorder.concerned import concerned  # memory: seldom needed

        symptoms = [problem.symptom for problem in incident.problems]
        connections = concerned(segments, settings.reading, symptoms)
    copied = copy_packets(segments, incident.spans, settings.reading, raw, comment, connections)
    if settings.redact:
        redact(raw, settings.redact, settings.reading, capture)
        raw.unlink()
    begin_ns = incident.spans[0][0]
    is_late = not copied.packets or copied.first_ns - begin_ns > SECOND_NS
    return {
        "packets": copied.packets,
        "bytes": copied.bytes,
        "first_packet": rfc3339(copied.first_ns) if copied.packets else None,
        "last_packet": rfc3339(copied.last_ns) if copied.packets else None,
        "has_all_before": not is_late,
        "connections": "all" if connections is None else "concerned",
        "has_headers_only": settings.headers_only,
        "redacted": settings.redact or None,
    }


def _finish(part: Path, folder: Folder, incident: Incident) -> None:
    place = folder.incident_path(incident.id)
    write_whole(part / INCIDENT, public_row(incident))
    for path in part.iterdir():
        sync(path)
    sync_folder(part)
    part.rename(place)
    sync_folder(place.parent)
