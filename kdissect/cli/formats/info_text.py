"""The facts of `kdissect info` as text for people."""

from collections.abc import Iterable, Iterator
from typing import Any

from kdissect.cli.printable import printable
from kdissect.model.wording import plural
from kdissect.report.durations import duration

Facts = dict[str, Any]


def info_text(facts: Facts) -> str:
    """All facts, a section each; sections without content are left out."""
    sections = [_file(file) for file in facts["files"]]
    sections += [
        _packets(facts["packets"]),
        _counts("connections", facts["connections"]["total"], facts["connections"]["by_kind"]),
        _problems(facts["connections"]["problems"]),
        _tls(facts["tls"]),
        _counts("exchanges", facts["exchanges"]["total"], facts["exchanges"]["by_state"]),
        _apis(facts["apis"]),
        _counts("error codes", None, facts["errors"]),
        _counts("anomalies", None, facts["anomalies"]),
        _gaps(facts["gaps"]),
    ]
    if "deep" in facts:
        sections.append(_deep(facts["deep"]))
    return "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines)


def _file(file: Facts) -> Iterator[str]:
    yield printable(file["path"])
    if file["error"] is not None:
        yield f"  error: {printable(file['error'])}"
    if file["format"] is not None:
        compression = "" if file["compression"] == "none" else f", {file['compression']}"
        yield f"  {file['format']}{compression}, {', '.join(file['link_types']) or 'no link type'}"
        yield f"  {plural(file['packets'], 'packet')}, {plural(file['bytes'], 'byte')} of them captured"
    if file["first_time"] is not None:
        yield f"  {file['first_time']} to {file['last_time']} ({duration(file['duration_ns'])})"
    if file["dropped"]:
        yield f"  {plural(file['dropped'], 'packet')} dropped while capturing"
    for anomaly in file["anomalies"]:
        yield f"  {anomaly['kind']}: {printable(anomaly['detail'])}"


def _packets(packets: Facts) -> Iterator[str]:
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


def _problems(problems: dict[str, int]) -> Iterator[str]:
    if problems:
        told = ", ".join(f"{count} {reason}" for reason, count in problems.items())
        yield f"came to nothing  {sum(problems.values())}: {told} (kdissect connections --problems)"


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


def _gaps(gaps: Facts) -> Iterator[str]:
    if gaps["count"]:
        yield f"gaps  {gaps['count']}, {plural(gaps['bytes'], 'byte')} not captured"


def _deep(deep: Facts) -> Iterator[str]:
    yield f"bodies  {deep['bodies']}"
    names = {
        "cut": "cut in the capture",
        "undecodable": "undecodable",
        "trailing_bytes": "with bytes left over",
    }
    yield from _table([f"  {text}", str(deep[name])] for name, text in names.items())
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
