"""What `kdissect upgrade` predicts from a capture, and what the client did with the release itself.

`python -m captures.upgrades.predictions` prints the table of docs/statistics.md.
"""

import json
from pathlib import Path
from typing import NamedTuple

from captures.record.client_runs import capture_of
from captures.upgrades.clients import CLIENTS, SOURCES, TARGETS
from kdissect.api import Dissection
from kdissect.stats.upgrade_audit import UpgradeAudit, upgrade_facts

RECORDED = Path(__file__).resolve().parent / "recorded"
OUTCOMES = Path(__file__).resolve().parent / "outcomes.json"


class Outcome(NamedTuple):
    """What a client did with a release: whether it wrote and read all its records, and its error."""

    works: bool
    problem: str


class Prediction(NamedTuple):
    """The worst outcome that a capture of `source` predicts for a client with `target`, with the API."""

    client: str
    source: str
    target: str
    predicted: str
    api: str


def outcomes() -> dict[str, dict[str, Outcome]]:
    """Return what each client did, by release and client."""
    known = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
    return {release: {name: Outcome(**one) for name, one in of.items()} for release, of in known.items()}


def predictions() -> list[Prediction]:
    """Return the predictions from all captures for all other targets."""
    found = []
    for client in CLIENTS:
        for source in SOURCES:
            path = RECORDED / f"{capture_of(source, client)}.gz"
            if path.exists():
                found += [predicted(client, source, target) for target in TARGETS if target != source]
    return found


def predicted(client: str, source: str, target: str) -> Prediction:
    """Return what the capture of a client with one release predicts for another release."""
    audit = UpgradeAudit(".".join(target.split(".")[:2]))
    for event in Dissection(str(RECORDED / f"{capture_of(source, client)}.gz")).events():
        audit.add(event)
    audit.finish()
    worst = upgrade_facts(audit)["uses"][0]
    return Prediction(client, source, target, worst["outcome"], f"{worst['api']} v{worst['api_version']}")


def is_right(one: Prediction, real: dict[str, dict[str, Outcome]]) -> bool:
    """Return whether a client that breaks was predicted to break, and a client that works to work."""
    return real[one.target][one.client].works == (one.predicted in ("fine", "deprecated"))


def table(found: list[Prediction], real: dict[str, dict[str, Outcome]]) -> str:
    """Return a row for each client, and a column for each target, with what was predicted and what it did."""
    lines = [f"| client | captured with | {' | '.join(f'Kafka {target}' for target in TARGETS)} |"]
    lines.append(f"|---|---|{'---|' * len(TARGETS)}")
    for client, has in CLIENTS.items():
        of_client = [one for one in found if one.client == client]
        cells = [
            ", ".join(dict.fromkeys(_cell(one, real) for one in of_client if one.target == target))
            for target in TARGETS
        ]
        sources = ", ".join(dict.fromkeys(one.source for one in of_client))
        lines.append(f"| {has.title} | {sources} | {' | '.join(cells)} |")
    right = sum(is_right(one, real) for one in found)
    return "\n".join([*lines, "", f"{right} of {len(found)} predictions are right."])


def _cell(one: Prediction, real: dict[str, dict[str, Outcome]]) -> str:
    did = "works" if real[one.target][one.client].works else "breaks"
    said = one.predicted.replace("_", " ")
    if one.predicted in ("breaks", "may_break"):
        said += f" ({one.api})"
    return f"{said}: {did}"


if __name__ == "__main__":
    print(table(predictions(), outcomes()))
