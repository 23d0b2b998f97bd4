"""The table `causes`, and back: the causes of a capture set that `why` reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.model.cause import (
    CAUSES_SHOWN,
    Certainty,
    Cost,
    Diagnosis,
    Effect,
    FoundCause,
    Packets,
    Party,
    Severity,
    in_order,
)
from kdissect.model.packets.packet import packet_ref, ref_file, ref_number
from kdissect.report.causes.words import command_text
from kdissect.stages.rows.table_rows import when


def cause_rows(capture_set: str, diagnosis: Diagnosis, own_files: Sequence[str]) -> Iterator[Row]:
    """Yield rows of `causes`. `own_files` are the names of the set's files, which commands contain."""
    for rank, cause in enumerate(diagnosis.causes, 1):
        row: Row = {
            "capture_set": capture_set,
            "rank": rank,
            "id": cause.id,
            "title": cause.title,
            "severity": cause.severity.name.lower(),
            "sentence": cause.sentence,
            "who": cause.who,
            "parties": [one._asdict() for one in sorted(cause.parties)],
            "since_ns": cause.since_ns,
            "until_ns": cause.until_ns,
            "times": cause.times,
            "cost": cause.cost._asdict(),
            "certainty": str(cause.certainty),
            "why_not_surer": cause.why_not_surer or None,
            "evidence": [_packets_row(packets, diagnosis.files) for packets in cause.evidence],
            "command": command_text(cause.command, own_files),
            "help": cause.help,
            "cites": list(cause.cites),
            "effects": [effect._asdict() for effect in cause.effects],
        }
        when(row, cause.since_ns)
        del row["time_ns"]
        yield row


def _packets_row(packets: Packets, files: Sequence[str]) -> Row:
    index = ref_file(packets.first_ref)
    has_packets = bool(packets.first_ref) and index < len(files)
    return {
        "what": packets.what,
        "connection": packets.connection or None,
        "exchange": packets.exchange if packets.exchange >= 0 else None,
        "time_ns": packets.time_ns or None,
        "file": files[index] if has_packets else None,
        "first_packet": ref_number(packets.first_ref) if has_packets else None,
        "last_packet": ref_number(packets.last_ref) if has_packets else None,
    }


def diagnosis_of(rows: Iterable[Mapping[str, Any]], files: Sequence[str]) -> Diagnosis:
    """Return the causes as `why` reports them, from rows of all capture sets; `files` are the inputs' names
    by file index.

    The table does not contain the list of analyzed parts.
    """
    indexes = {name: index for index, name in enumerate(files)}
    found = in_order(_cause_of(row, indexes) for row in rows)
    first_ns = min((cause.since_ns for cause in found), default=0)
    last_ns = max((cause.until_ns for cause in found), default=0)
    left_out = max(len(found) - CAUSES_SHOWN, 0)
    return Diagnosis(tuple(found[:CAUSES_SHOWN]), left_out, (), (), tuple(files), first_ns, last_ns)


def _cause_of(row: Mapping[str, Any], files: Mapping[str, int]) -> FoundCause:
    return FoundCause(
        row["id"],
        row["title"],
        Severity[row["severity"].upper()],
        row["sentence"],
        row["who"],
        frozenset(Party(**one) for one in row["parties"]),
        row["since_ns"],
        row["until_ns"],
        row["times"],
        Cost(**row["cost"]),
        Certainty(row["certainty"]),
        row["why_not_surer"] or "",
        tuple(_packets_of(one, files) for one in row["evidence"]),
        row["command"].removeprefix("kdissect "),
        row["help"],
        tuple(row["cites"]),
        tuple(Effect(**one) for one in row["effects"]),
    )


def _packets_of(row: Mapping[str, Any], files: Mapping[str, int]) -> Packets:
    first, last = row["first_packet"], row["last_packet"]
    index = files.get(row["file"] or "", 0)
    return Packets(
        row["connection"] or "",
        -1 if row["exchange"] is None else row["exchange"],
        row["what"],
        row["time_ns"] or 0,
        packet_ref(index, first) if first else 0,
        packet_ref(index, last) if last else 0,
    )
