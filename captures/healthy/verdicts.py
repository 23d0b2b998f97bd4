"""What `kdissect check` reports of healthy days: `python -m captures.healthy.verdicts`."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from captures.faults.false_findings import judged
from captures.healthy.days import CLIENTS, RELEASES, clients_of
from captures.record.client_runs import capture_of
from kdissect.capture.files import open_captures

RECORDED = Path(__file__).resolve().parent / "recorded"


class Verdict(NamedTuple):
    """One client library with one release: how many exchanges, and the codes of errors and warnings."""

    release: str
    client: str
    exchanges: int
    codes: tuple[str, ...]


def verdict(release: str, client: str) -> Verdict:
    """Judge the capture of one pair."""
    path = RECORDED / f"{capture_of(release, client)}.gz"
    exchanges, found = judged(open_captures([str(path)]).packets())
    return Verdict(release, client, exchanges, tuple(sorted(found)))


def verdicts() -> Iterator[Verdict]:
    """Return all pairs, release after release."""
    return (verdict(release, client) for release in RELEASES for client in clients_of(release))


def table(found: list[Verdict]) -> str:
    """Return a row for each release, and a column for each client library: exchanges, and the codes."""
    cells = {(one.release, one.client): " ".join([str(one.exchanges), *one.codes]) for one in found}
    lines = [f"| Apache Kafka | {' | '.join(CLIENTS)} |", f"|---|{'---|' * len(CLIENTS)}"]
    for release in RELEASES:
        row = (cells.get((release, client), "does not start") for client in CLIENTS)
        lines.append(f"| {release} | {' | '.join(row)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(list(verdicts())))
