"""Writes the folder of an incident: complete, or not there at all."""

from __future__ import annotations

import shutil
from pathlib import Path

from kdissect.capture.whole_file import beside
from kdissect.engine.times import SECOND_NS, rfc3339
from kdissect.recorder.concerned import concerned
from kdissect.recorder.folder import INCIDENT, NAMES, Folder, public_row, sync, sync_folder, write_whole
from kdissect.recorder.incident import Incident, Row
from kdissect.recorder.incident_packets import copy_packets, redact
from kdissect.recorder.incident_reports import write_reports
from kdissect.recorder.segments import segments_within
from kdissect.recorder.settings import RecorderSettings

CAPTURE = "capture.pcapng"


def write_incident(folder: Folder, settings: RecorderSettings, incident: Incident) -> Row:
    """Write the packets, the reports and the description of an incident. Return facts about its files.

    The folder has a temporary name until everything is on the disk. Raises OSError.
    """
    place = folder.incident_path(incident.id)
    part = Path(beside(str(place)))
    shutil.rmtree(part, ignore_errors=True)  # of a killed process with our number
    part.mkdir(mode=0o700)
    try:
        incident.written = _fill(part, folder, settings, incident)
        write_whole(part / INCIDENT, public_row(incident))
        for path in part.iterdir():
            sync(path)
        sync_folder(part)
        part.rename(place)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    sync_folder(place.parent)
    return incident.written


def _fill(part: Path, folder: Folder, settings: RecorderSettings, incident: Incident) -> Row:
    capture = part / CAPTURE
    comment = f"Incident {incident.id}: {incident.headline(settings.redact != NAMES)}."
    raw = part / f"raw-{CAPTURE}" if settings.redact else capture
    segments = segments_within(folder.segments(), incident.spans)
    symptoms = [problem.symptom for problem in incident.problems]
    connections = concerned(segments, settings.reading, symptoms) if settings.only_concerned else None
    copied = copy_packets(segments, incident.spans, settings.reading, raw, comment, connections)
    if settings.redact:
        redact(raw, settings.redact, settings.reading, capture)
        raw.unlink()
    # The capture has its secrets itself. A redacted one is plaintext.
    results = write_reports(capture, settings.reading._replace(key_logs=()))
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
        **results,
    }
