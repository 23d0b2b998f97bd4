"""`kdissect info`: what captures hold."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kdissect.api import Dissection
from kdissect.capture.capture_file import CaptureFile
from kdissect.cli.filters import EventFilter, add_filter, filter_of, open_filtered
from kdissect.cli.inputs import add_inputs
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import add_output, printing
from kdissect.cli.turns import read_all
from kdissect.engine.overview import DeepCounts, Overview
from kdissect.engine.times import rfc3339
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.link_types import link_name

Facts = dict[str, Any]


def run(arguments: Sequence[str]) -> int:
    """Print the facts of the captures; gives the exit code."""
    parser = command_parser("info", "What captures hold: files, connections, APIs, gaps, anomalies.")
    add_inputs(parser, live=True)
    add_filter(parser, "count only exchanges for which EXPR holds, and their connections")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="decode every body, check every batch's CRC, tell what does not fit",
    )
    parser.add_argument(
        "--records",
        action="store_true",
        help="as --deep, and decompress every batch and read its records",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_output(parser.add_argument)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        facts = _facts(dissection, options)
        if options.format == "json":
            from json import dumps

            text = dumps(facts, indent=2, ensure_ascii=True)
        else:
            from kdissect.cli.formats.info_text import info_text

            text = info_text(facts)
        output.write(text.encode("utf-8", "replace") + b"\n")

    return printing(parser, options, dissection, body)


def _facts(dissection: Dissection, options: Namespace) -> Facts:
    """Everything `info` tells, read off the whole input."""
    overview = Overview(options.deep, options.records)
    accepts = filter_of(options, dissection)
    takes = None if accepts is None else EventFilter(accepts)
    read_all(dissection, lambda event: overview.add(event) if takes is None or takes(event) else None)
    _add_anomalies_below(overview, dissection)
    return {
        "files": [
            _file(file, name)
            for file, name in zip(dissection.captures.files, dissection.file_names, strict=True)
        ],
        "packets": _packets(dissection),
        "connections": {
            "total": overview.connections.total(),
            "by_kind": _ranked(overview.connections),
            "problems": _ranked(overview.problems),
        },
        "tls": {"decrypted": overview.decrypted, "opaque": _ranked(overview.opaque)},
        "exchanges": {"total": overview.states.total(), "by_state": _ranked(overview.states)},
        "apis": overview.api_rows(),
        "errors": _ranked(overview.errors),
        "gaps": {"count": overview.gaps, "bytes": overview.gap_bytes},
        "anomalies": _ranked(overview.anomalies),
    } | ({} if overview.deep is None else {"deep": _deep(overview.deep, dissection)})


def _add_anomalies_below(overview: Overview, dissection: Dissection) -> None:
    """Anomalies of files, packets and of the analyzer itself, which no event carries."""
    overview.add_anomaly_counts(dissection.analyzer.parser.anomaly_counts.items())
    overview.add_anomaly_counts(dissection.analyzer.anomaly_counts.items())
    for file in dissection.captures.files:
        overview.add_anomaly_counts(file.anomaly_counts.items())
    dropped = dissection.key_logs.dropped + dissection.topics.dropped
    if dropped:
        overview.add_anomaly_counts([(AnomalyKind.LIMIT_REACHED, dropped)])


def _file(file: CaptureFile, name: str) -> Facts:
    first, last = file.first_time_ns, file.last_time_ns
    return {
        "path": name,
        "capture_set": file.capture_set,
        "format": file.format,
        "compression": str(file.compression),
        "link_types": [link_name(link_type) for link_type in file.link_types],
        "size": file.size,
        "packets": file.packets,
        "bytes": file.captured_bytes,
        "dropped": file.drops,
        "first_time": None if first is None else rfc3339(first),
        "last_time": None if last is None else rfc3339(last),
        "duration_ns": None if first is None or last is None else last - first,
        "error": None if file.error is None else file.error.why,
        "anomalies": [{"kind": str(a.kind), "detail": a.detail} for a in file.anomalies],
    }


def _packets(dissection: Dissection) -> Facts:
    parser = dissection.analyzer.parser
    return {
        "total": parser.packets,
        "tcp": parser.tcp_segments,
        "malformed": parser.malformed,
        "others": _ranked(parser.others),
        "unsupported_link_types": {link_name(kind): count for kind, count in parser.unsupported.items()},
    }


def _deep(deep: DeepCounts, dissection: Dissection) -> Facts:
    examples = []
    for example in deep.examples:
        rest = {key: value for key, value in example.items() if key != "file_index"}
        examples.append({"file": dissection.file_names[example["file_index"]]} | rest)
    return {
        "bodies": deep.bodies,
        "cut": deep.cut,
        "undecodable": deep.undecodable,
        "trailing_bytes": deep.trailing,
        "batches": deep.batches,
        "bad_crcs": deep.bad_crcs,
        "records": deep.records,
        "examples": examples,
    }


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common())
