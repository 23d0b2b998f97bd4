"""`kdissect info`: what captures hold."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kdissect.api import Dissection
from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.formats.capture_parser import PROXY_LOG, REQUEST_LOG
from kdissect.cli.captures.copies_text import copies_lines
from kdissect.cli.event_loop import read_all, read_and_show
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import EventFilter, add_filter, filter_of, open_filtered
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.engine.overview import DeepCounts, Overview
from kdissect.engine.times import rfc3339
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.link_types import link_name
from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.report.quantities import duration
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.refusals import REFUSING_APIS, Refusals

# Snapshot length from which on packets are whole: the largest IP packet (RFC 791 section 3.1).
_WHOLE_PACKETS = 65535


def run(arguments: Sequence[str]) -> int:
    """Print the facts of the captures and return the exit code."""
    parser = command_parser(
        "info", "List the content of captures: files, connections, APIs, gaps, anomalies."
    )
    add_inputs(parser, live=True)
    add_filter(parser, "count only exchanges for which EXPR holds, and their connections")
    parser.add_argument(
        "--deep",
        action="store_true",
        help="decode every body, check every batch's CRC, report what does not fit",
    )
    parser.add_argument(
        "--records",
        action="store_true",
        help="as --deep, and decompress every batch and read its records",
    )
    add_tables(parser, "apis", "files", "errors", "anomalies", text="text")
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        overview = Overview(options.deep, options.records)
        read_and_show(
            dissection, options, output, lambda: _read(dissection, options, overview),
            lambda output: show(output, _facts(dissection, overview)),
        )  # fmt: skip

    def show(output: Output, facts: Facts) -> None:
        tables = [
            RowTable("apis", lambda: facts["apis"]),
            RowTable("files", lambda: facts["files"]),
            RowTable("errors", lambda: _counted("error", facts["errors"])),
            RowTable("anomalies", lambda: _counted("anomaly", facts["anomalies"])),
        ]
        text = info_text(facts)
        write_tables(
            options, output, facts, tables, lambda: output.write(text.encode("utf-8", "replace") + b"\n")
        )

    return printing(parser, options, dissection, body)


def _counted(name: str, counts: dict[str, int]) -> list[Facts]:
    return [{name: found, "count": count} for found, count in counts.items()]


def _read(dissection: Dissection, options: Namespace, overview: Overview) -> None:
    """Count the whole input."""
    accepts = filter_of(options, dissection)
    takes = None if accepts is None else EventFilter(accepts)
    refusals = Refusals()

    def add(event: Event) -> None:
        if takes is None or takes(event):
            if not isinstance(event, Exchange) or event.api_key in REFUSING_APIS:
                event = refusals.add(event)
            overview.add(event)

    read_all(dissection, add)


def _facts(dissection: Dissection, overview: Overview) -> Facts:
    """Return everything `info` reports."""
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
            "copies": overview.copies.facts(),
        },
        "tls": {"decrypted": overview.decrypted, "opaque": _ranked(overview.opaque)},
        "exchanges": {"total": overview.states.total(), "by_state": _ranked(overview.states)},
        "apis": overview.api_rows(),
        "errors": _ranked(overview.errors),
        "gaps": {"count": overview.gaps, "bytes": overview.gap_bytes},
        "bytes_cut_off": overview.bytes_cut_off,
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
        "interfaces": [
            {
                "name": one.name,
                "description": one.description,
                "filter": one.filter,
                "link_type": link_name(one.link_type),
                "snapshot_length": one.snaplen,
            }
            for one in file.interfaces
        ],
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
    has_log = any(file.is_request_log for file in dissection.captures.files)  # which has no records
    for example in deep.examples:
        rest = {key: value for key, value in example.items() if key != "file_index"}
        examples.append({"file": dissection.file_names[example["file_index"]]} | rest)
    return {
        "bodies": deep.bodies,
        "cut": deep.cut,
        "undecodable": deep.undecodable,
        "trailing_bytes": deep.trailing,
        "batches": None if has_log else deep.batches,
        "bad_crcs": None if has_log else deep.bad_crcs,
        "records": None if has_log else deep.records,
        "examples": examples,
    }


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common())


# The facts of `kdissect info` as text for people.
def info_text(facts: Facts) -> str:
    """Return all facts, a section each, without empty sections."""
    sections = [_file_text(file) for file in facts["files"]]
    sections += [
        _packets_text(facts["packets"]),
        _counts("connections", facts["connections"]["total"], facts["connections"]["by_kind"]),
        _copies(facts["connections"]["copies"]),
        _problems(facts["connections"]["problems"]),
        _tls(facts["tls"]),
        _counts("exchanges", facts["exchanges"]["total"], facts["exchanges"]["by_state"]),
        _apis(facts["apis"]),
        _counts("error codes", None, facts["errors"]),
        _counts("anomalies", None, facts["anomalies"]),
        _gaps(facts["gaps"], facts["bytes_cut_off"]),
    ]
    if "deep" in facts:
        sections.append(_deep_text(facts["deep"]))
    return "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines)


def _file_text(file: Facts) -> Iterator[str]:
    yield printable(file["path"])
    if file["error"] is not None:
        yield f"  error: {printable(file['error'])}"
    if file["format"] is not None:
        compression = "" if file["compression"] == "none" else f", {file['compression']}"
        if file["format"] in (PROXY_LOG, REQUEST_LOG):
            yield f"  {file['format']}{compression}"
            yield from _times_text(file)
            return
        yield f"  {file['format']}{compression}, {', '.join(file['link_types']) or 'no link type'}"
        yield from _interfaces_text(file["interfaces"])
        yield f"  {plural(file['packets'], 'packet')}, {plural(file['bytes'], 'byte')} of them captured"
    yield from _times_text(file)


def _times_text(file: Facts) -> Iterator[str]:
    if file["first_time"] is not None:
        yield f"  {file['first_time']} to {file['last_time']} ({duration(file['duration_ns'])})"
    if file["dropped"]:
        yield f"  {plural(file['dropped'], 'packet')} dropped while capturing"
    for anomaly in file["anomalies"]:
        yield f"  {anomaly['kind']}: {printable(anomaly['detail'])}"


def _interfaces_text(interfaces: list[Facts]) -> Iterator[str]:
    """Yield a line for each interface of which the file says more than a link type."""
    for number, one in enumerate(interfaces):
        length = one["snapshot_length"]
        is_cut = length is not None and length < _WHOLE_PACKETS
        if not (one["name"] or one["description"] or one["filter"] or is_cut):
            continue
        name = " ".join(filter(None, (one["name"] or f"number {number}", one["description"])))
        wanted = f", capture filter {one['filter']}" if one["filter"] else ""
        cut = f", snapshot length {plural(length, 'byte')}" if is_cut else ""
        yield f"  interface {printable(name)}{printable(wanted)}{cut}"


def _packets_text(packets: Facts) -> Iterator[str]:
    rest = packets["total"] - packets["tcp"]
    if not rest:
        return
    yield f"packets  {packets['total']}"
    kinds = {"tcp": packets["tcp"], "malformed": packets["malformed"]} | packets["others"]
    kinds |= {f"link type {name}": count for name, count in packets["unsupported_link_types"].items()}
    yield from _table([f"  {name}", str(count)] for name, count in kinds.items() if count)


def _counts(title: str, total: int | None, counts: dict[str, int]) -> Iterator[str]:
    if not counts and total is None:
        return
    yield title if total is None else f"{title}  {total}"
    yield from _table([f"  {name}", str(count)] for name, count in counts.items())


def _copies(copies: Facts) -> Iterator[str]:
    for title, text in copies_lines(copies):
        yield f"{title}  {text}"


def _problems(problems: dict[str, int]) -> Iterator[str]:
    if problems:
        reasons = ", ".join(f"{count} {reason}" for reason, count in problems.items())
        yield f"failed connections {sum(problems.values())}: {reasons} (kdissect connections --problems)"


def _tls(tls: Facts) -> Iterator[str]:
    if not tls["decrypted"] and not tls["opaque"]:
        return
    yield f"TLS  {tls['decrypted']} decrypted"
    yield from _table([f"  opaque: {why}", str(count)] for why, count in tls["opaque"].items())


def _apis(apis: list[Facts]) -> Iterator[str]:
    if not apis:
        return
    yield "exchanges by API and version"
    for row in _table([_api(row), str(row["exchanges"])] for row in apis):
        yield f"  {row}"


def _api(row: Facts) -> str:
    if row["api_key"] is None:
        return "no API key"
    return f"{row['api_key']:>3} {row['api'] or 'unknown'} v{row['api_version']}"


def _gaps(gaps: Facts, cut_off: int) -> Iterator[str]:
    if cut_off:
        yield f"cut off  {plural(cut_off, 'byte')}, by the snapshot length"
    if gaps["count"]:
        yield f"gaps  {gaps['count']}, {plural(gaps['bytes'], 'byte')} not captured"


def _deep_text(deep: Facts) -> Iterator[str]:
    yield f"bodies  {deep['bodies']}"
    names = {
        "cut": "cut in the capture",
        "undecodable": "undecodable",
        "trailing_bytes": "with bytes left over",
    }
    yield from _table([f"  {text}", str(deep[name])] for name, text in names.items())
    if deep["batches"] is not None:
        yield f"batches  {deep['batches']}"
        yield f"  with a wrong checksum  {deep['bad_crcs']}"
    if deep["records"] is not None:
        yield f"records  {deep['records']}"
    for example in deep["examples"]:
        place = f"{printable(example['file'])} packet {example['packet']}"
        api = f"{example['api'] or example['api_key']} v{example['api_version']}"
        yield f"  {place}, {api} {example['side']}: {printable(example['why'])}"


def _table(rows: Iterable[list[str]]) -> Iterator[str]:
    """Names left, counts right."""
    held = list(rows)
    left = max((len(name) for name, _ in held), default=0)
    right = max((len(count) for _, count in held), default=0)
    for name, count in held:
        yield f"{name:{left}}  {count:>{right}}"
