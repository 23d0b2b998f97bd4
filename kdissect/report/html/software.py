"""Who talked: what clients say they are, and where brokers are."""

from collections.abc import Iterator

from kdissect.report.html.markup import Markup, element, number, scrolled, section, table, wire
from kdissect.report.html.numbers import count, plural
from kdissect.report.verdict import Verdict
from kdissect.rules.coverage import Peer, peer_order

# The ends with the most connections; a fleet of thousands is better read as JSON.
MAX_ROWS = 200


def software_section(verdict: Verdict) -> Markup:
    """A row for each end, clients first."""
    peers = verdict.coverage.peers
    if not peers:
        return section("software", "Software", element("p", "No Kafka connection.", class_="empty"))
    busiest = sorted(peers.items(), key=lambda item: (-item[1], peer_order(item[0])))[:MAX_ROWS]
    rows = [_row(peer, times) for peer, times in sorted(busiest, key=_by_role)]
    heads = ("role", "host", "software", "version", "client id", "#connections")
    grid = scrolled("Software", table(heads, rows, "Software and hosts", "plain-table"))
    left = len(peers) - len(busiest)
    more = element("p", f"{plural(left, 'more end')} not shown.", class_="note") if left else ""
    note = "Clients name themselves in ApiVersions; brokers do not say what they are."
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
    yield number(count(times))
