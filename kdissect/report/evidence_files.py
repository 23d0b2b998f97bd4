"""Evidence: for each finding the fewest packets that show it.

An excerpt is checked: its packets are judged like any capture, and if the rule does not report the finding, a
wider excerpt follows. The steps are: the exchanges of the finding and the negotiation before them, then also
the exchanges around them, then all exchanges of the connection up to there, then all connections up to there,
without records and finally with them. If no excerpt shows the finding again (because it is about the whole of
a large capture), the smallest one is written, and says so.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.engine.analyzer import Analyzer
from kdissect.excerpt.excerpt_reader import ExcerptPacket
from kdissect.excerpt.excerpts import EVERY, Wanted, excerpts
from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.finding import Finding
from kdissect.report.printable import printable
from kdissect.report.text import finding_text
from kdissect.rules.judge import Judge

# Excerpts made in one pass over the captures: bounds the memory to this many times
# `excerpt.excerpts.MAX_BYTES`, which few come near.
_AT_A_TIME = 32
# Findings that get evidence. Different findings of one run are some dozens. More is one fault in many shapes.
MAX_FINDINGS = 1000
AROUND_BEFORE, AROUND_AFTER = 16, 8
_ALL_BUT_RECORDS, _ALL = 3, 4  # the widest two
_WIDTHS = 5
# Produce, Fetch, FetchSnapshot, ShareFetch: org.apache.kafka.common.protocol.ApiKeys
_WITH_RECORDS = frozenset({0, 1, 59, 78})
_REWRITTEN = (
    "Packets that belong to other exchanges are left out. Headers and times come from the capture. "
    "Sequence numbers,"
    "lengths and checksums match this file."
)
_DECRYPTED = "TLS data is written as plaintext."
_MASKED = "Secrets are overwritten with x."
_NOT_SHOWN = "By itself this excerpt does not show the finding again: it depends on more of the capture."


class Evidence(NamedTuple):
    """The packets for one finding; `shows_again` says whether judging them gives it again."""

    finding: Finding
    packets: list[ExcerptPacket]
    shows_again: bool


def collect_evidence(
    findings: Sequence[Finding],
    opened: Callable[[], Dissection],
    judge: Callable[[], Judge],
    show_secrets: bool = False,
) -> list[Evidence]:
    """Return the evidence for each finding, in their order, except findings whose frames are too large.
    Traffic that key logs of the captures open is written as plaintext.

    `opened` returns the captures from their start at each call, `judge` returns a new judge.
    """
    found: list[Evidence] = []
    wanted = findings[:MAX_FINDINGS]
    for start in range(0, len(wanted), _AT_A_TIME):
        found += _collect(wanted[start : start + _AT_A_TIME], opened, judge, show_secrets)
    return found


def _collect(
    findings: Sequence[Finding],
    opened: Callable[[], Dissection],
    judge: Callable[[], Judge],
    show_secrets: bool,
) -> list[Evidence]:
    found: dict[int, Evidence] = {}
    for width in range(_WIDTHS):
        left = [
            finding for finding in findings if id(finding) not in found or not found[id(finding)].shows_again
        ]
        if not left:
            break
        made = excerpts([_wanted_for(finding, width) for finding in left], opened, show_secrets)
        ports = opened().ports
        for finding, packets in zip(left, made, strict=True):
            if not _holds(finding, packets):
                continue
            shows = shows_again(finding, packets, judge(), ports)
            if shows or id(finding) not in found:
                found[id(finding)] = Evidence(finding, packets, shows)
    return [found[id(finding)] for finding in findings if id(finding) in found]


def _holds(finding: Finding, packets: Sequence[ExcerptPacket]) -> bool:
    """Return whether there is anything to show: what the finding is about may not be found in the packets."""
    return any(item.exchange >= 0 or finding.place.exchange < 0 for item in packets)


def _wanted_for(finding: Finding, width: int) -> list[Wanted]:
    """Return the exchanges to request, wider with a higher `width` (0 to 4)."""
    place = finding.place
    if width >= _ALL_BUT_RECORDS and place.time_ns and place.exchange >= 0:
        return [
            Wanted(EVERY, until_ns=place.time_ns, without=frozenset() if width == _ALL else _WITH_RECORDS)
        ]
    wanted: dict[str, set[int]] = {place.connection: {place.exchange} if place.exchange >= 0 else set()}
    if finding.earlier is not None:
        wanted.setdefault(finding.earlier[0], set()).add(finding.earlier[1])
    before, after = (AROUND_BEFORE, AROUND_AFTER) if width else (0, 0)
    return [
        Wanted(connection, frozenset(exchanges), before, after, whole=width >= 2 or not exchanges)
        for connection, exchanges in wanted.items()
    ]


def shows_again(
    finding: Finding, packets: Iterable[ExcerptPacket], judge: Judge, ports: Ports = ANY_PORTS
) -> bool:
    """Return whether judging the packets reports a finding of the same rule about the same end and API."""
    analyzer = Analyzer(ports)
    for item in packets:
        for event in analyzer.feed(item.packet):
            judge.add(event)
    for event in analyzer.close():
        judge.add(event)
    judge.finish()
    wanted = _kind(finding)
    return any(_kind(other) == wanted for other in judge.findings.all())


def _kind(finding: Finding) -> tuple[object, ...]:
    place = finding.place
    return finding.code, finding.party.role, place.api_key, place.api_version


def file_comment(evidence: Evidence, files: Sequence[str], show_secrets: bool) -> str:
    """Return the comment of the file."""
    parts = [finding_text(evidence.finding, files), _REWRITTEN]
    if any(item.was_tls for item in evidence.packets):
        parts.append(_DECRYPTED)
    if not show_secrets:
        parts.append(_MASKED)
    if not evidence.shows_again:
        parts.append(_NOT_SHOWN)
    return "\n".join(parts)


def packet_comment(evidence: Evidence, item: ExcerptPacket) -> str:
    """Return the comment of the packet that begins the finding's bytes, with the reason; empty for other
    packets.
    """
    finding, place = evidence.finding, evidence.finding.place
    if (item.connection, item.exchange) != (place.connection, place.exchange) or place.exchange < 0:
        return ""
    if item.is_request != (place.side == "request"):
        return ""
    where = f" at {place.path}" if place.path else ""
    text = f"{finding.code} {finding.name}{where}: expected {finding.expected}; seen {finding.seen}"
    return printable(text)
