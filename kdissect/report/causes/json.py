"""The page as JSON: for programs and assistants. Keys are added, never renamed; `report_version` counts."""

from __future__ import annotations

from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.model.cause import Diagnosis, FoundCause, Packets
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.report.causes.words import command_text, headline
from kdissect.report.json_pages import json_page, schema_beside, versioned
from kdissect.schema.citations import resolve

SCHEMA = "why.schema.json"
Row = dict[str, Any]


def causes_schema() -> str:
    """Return the JSON Schema (2020-12) of the page."""
    return schema_beside(__file__, SCHEMA)


def causes_json(diagnosis: Diagnosis) -> str:
    """Return the whole page."""
    return json_page(diagnosis_row(diagnosis))


def diagnosis_row(diagnosis: Diagnosis) -> Row:
    """Return the page as plain values."""
    facts = {
        "files": list(diagnosis.files),
        "first_time": _time(diagnosis.first_ns),
        "last_time": _time(diagnosis.last_ns),
        "summary": headline(diagnosis),
        "causes": [_cause(number, cause, diagnosis) for number, cause in enumerate(diagnosis.causes, 1)],
        "causes_left_out": diagnosis.left_out,
        "looked_at": list(diagnosis.looked_at),
        "not_seen": list(diagnosis.not_seen),
    }
    return versioned(facts)


def _cause(number: int, cause: FoundCause, diagnosis: Diagnosis) -> Row:
    return {
        "rank": number,
        "id": cause.id,
        "title": cause.title,
        "severity": cause.severity.name.lower(),
        "sentence": cause.sentence,
        "who": cause.who,
        "parties": [
            {"kind": kind, "name": name}
            for kind, name in sorted((one.kind, one.name) for one in cause.parties)
        ],
        "since": _time(cause.since_ns),
        "until": _time(cause.until_ns),
        "times": cause.times,
        "cost": cause.cost._asdict(),
        "certainty": str(cause.certainty),
        "why_not_surer": cause.why_not_surer or None,
        "evidence": [_packets(packets, diagnosis) for packets in cause.evidence],
        "command": command_text(cause.command, diagnosis.files),
        "help": cause.help,
        "cites": [{"source": cited, "url": _url(cited)} for cited in cause.cites],
        "effects": [effect._asdict() for effect in cause.effects],
    }


def _packets(packets: Packets, diagnosis: Diagnosis) -> Row:
    index = ref_file(packets.first_ref)
    has_packets = bool(packets.first_ref) and index < len(diagnosis.files)
    return {
        "what": packets.what,
        "connection": packets.connection or None,
        "exchange": packets.exchange if packets.exchange >= 0 else None,
        "time": _time(packets.time_ns),
        "file": diagnosis.files[index] if has_packets else None,
        "first_packet": ref_number(packets.first_ref) if has_packets else None,
        "last_packet": ref_number(packets.last_ref) if has_packets else None,
    }


def _time(time_ns: int) -> str | None:
    return rfc3339(time_ns) if time_ns else None


def _url(cited: str) -> str | None:
    found = resolve(cited)
    return found.url if found else None
