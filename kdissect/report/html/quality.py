"""Quality of the capture: missing bytes and checks that they prevented, and the software at both ends."""

from collections.abc import Iterator

from kdissect.model.wording import plural
from kdissect.report.html.markup import Markup, definitions, element, number, scrolled, section, table, wire
from kdissect.report.quantities import grouped
from kdissect.report.verdict import Verdict
from kdissect.rules.registry import rule_by
from kdissect.rules.run_coverage.capture_quality import GOOD
from kdissect.rules.run_coverage.coverage import Peer, peer_order

# Reasons are few, rules are many, and their product is bounded.
MAX_CHECKS = 300
# The ends with the most connections. A fleet of thousands is better read as JSON.
MAX_ENDS = 200


def quality_section(verdict: Verdict) -> Markup:
    """Return the verdict on the capture, its numbers, and the inconclusive checks."""
    quality = verdict.quality
    kind = "good" if quality.verdict == GOOD else "warning"
    parts = [element("p", element("span", quality.verdict, class_=f"tag {kind}"), " ", _meaning(verdict))]
    if quality.reasons:
        parts.append(element("ul", *(element("li", reason) for reason in quality.reasons)))
    parts.append(definitions(_numbers(verdict), "numbers"))
    return section("quality", "Capture quality", *parts, _inconclusive(verdict))


def _meaning(verdict: Verdict) -> str:
    if verdict.quality.verdict == GOOD:
        return "Every byte of the judged connections is there."
    if not verdict.exchanges:
        return "The capture holds no Kafka exchange."
    return "Rules that what is missing could explain stay silent."


def _numbers(verdict: Verdict) -> list[tuple[str, str]]:
    quality = verdict.quality
    kinds = [
        (kind.replace("_", " ") + " connections", n)
        for kind, n in sorted(verdict.coverage.connections.items())
    ]
    rows = [
        *kinds,
        ("holes in TCP streams", quality.gaps),
        ("bytes in holes", quality.gap_bytes),
        ("began before the capture", quality.middle_starts),
        ("frames captured in part", quality.cut_frames),
        ("bytes cut off by the snapshot length", quality.bytes_cut_off),
        ("captured in one direction", quality.one_sided),
        ("packets dropped", quality.dropped_packets),
    ]
    return [(name, grouped(value)) for name, value in rows]


def _inconclusive(verdict: Verdict) -> Markup:
    if not verdict.inconclusive:
        return Markup()
    rows = []
    for (code, why), times in sorted(verdict.inconclusive.items())[:MAX_CHECKS]:
        rule = rule_by(code)
        rows.append((f"{code} {rule.name if rule else ''}", why, number(grouped(times))))
    title = element("h3", "Inconclusive checks")
    grid = table(("rule", "why", "#checks"), rows, "Checks that came to no conclusion", "plain-table")
    return element("div", title, scrolled("Inconclusive checks", grid))


def software_section(verdict: Verdict) -> Markup:
    """Return the section on the software at both ends: names of clients, and addresses of brokers.

    A row for each end, clients first.
    """
    peers = verdict.coverage.peers
    if not peers:
        return section("software", "Software", element("p", "No Kafka connection.", class_="empty"))
    busiest = sorted(peers.items(), key=lambda item: (-item[1], peer_order(item[0])))[:MAX_ENDS]
    rows = [_row(peer, times) for peer, times in sorted(busiest, key=_by_role)]
    heads = ("role", "host", "software", "version", "client id", "#connections")
    grid = scrolled("Software", table(heads, rows, "Software and hosts", "plain-table"))
    left = len(peers) - len(busiest)
    more = element("p", f"{plural(left, 'more end', spec=',')} not shown.", class_="note") if left else ""
    note = "Clients name themselves in ApiVersions. Brokers do not say what they are."
    return section("software", "Software", grid, more, note=note)


def _by_role(item: tuple[Peer, int]) -> tuple[bool, str, str, int, tuple[str, ...]]:
    (role, host, software, _, _), times = item
    return role == "broker", software or "", host, -times, peer_order(item[0])


def _row(peer: Peer, times: int) -> Iterator[str]:
    role, host, software, version, client_id = peer
    yield element("td", element("span", role, class_=f"tag {role}"))
    yield element("td", element("code", host))
    for value in (software, version, client_id):
        yield wire(value) if value else element("span", "-", class_="note")
    yield number(grouped(times))
