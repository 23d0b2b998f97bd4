"""What a scenario knows of itself, from its own script and what its drivers print: never from a decode."""

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]

_RECORDS = {"sent": "sent", "read": "read"}
_LISTED = {
    "joined": "groups",
    "assigned": "groups",
    "revoked": "groups",
    "left": "groups",
    "committed_transaction": "transactions",
    "aborted_transaction": "transactions",
    "fenced_transaction": "transactions",
    "error": "errors",
}
"""Driver events by the list of the truth file they go to; others are kept under `events`."""


class Truth:
    """Collects the truth of one scenario and writes it beside the capture."""

    def __init__(self, scenario: str, story: str, broker: str) -> None:
        self.content: dict[str, Any] = {
            "scenario": scenario,
            "story": story,
            "broker": {"software": "Apache Kafka", "version": broker},
            "clients": [],
            "records": {"sent": [], "read": []},
            "groups": [],
            "transactions": [],
            "errors": [],
            "principals": [],
            "secrets": [],
            "events": [],
            "notes": [],
        }

    def client(self, name: str, version: str, client_id: str) -> None:
        """Add a client that takes part, known on the wire by its client id."""
        entry = {"name": name, "version": version, "client_id": client_id}
        if entry not in self.content["clients"]:
            self.content["clients"].append(entry)

    def event(self, event: Event, client_id: str) -> None:
        """One line a driver printed: sorted by its kind."""
        kind = event.get("event")
        rest = {"client_id": client_id, **{key: value for key, value in event.items() if key != "event"}}
        if kind in _RECORDS:
            self.content["records"][_RECORDS[kind]].append(rest)
            return
        if kind in ("committed_transaction", "aborted_transaction", "fenced_transaction"):
            rest["outcome"] = kind.removesuffix("_transaction")
        elif kind != "error":
            rest["what"] = kind
        self.content[_LISTED.get(str(kind), "events")].append(rest)

    def principal(self, name: str, mechanism: str, secret: str) -> None:
        """Somebody who authenticates, with a secret that must never come out of an analysis."""
        self.content["principals"].append({"name": name, "mechanism": mechanism})
        self.secret(secret)

    def secret(self, text: str) -> None:
        """Add a planted secret."""
        if text not in self.content["secrets"]:
            self.content["secrets"].append(text)

    def note(self, text: str) -> None:
        """Something a reader of the capture should know."""
        self.content["notes"].append(text)

    def write(self, path: Path) -> None:
        """Write the truth, one record a line."""
        path.write_text(_text(self.content) + "\n")


def _text(content: dict[str, Any]) -> str:
    """Indented JSON in which an item of a list takes one line."""
    lines = [f" {json.dumps(key)}: {_value(value)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _value(value: Any, margin: str = "  ") -> str:
    if isinstance(value, list) and value:
        items = f",\n{margin}".join(json.dumps(item) for item in value)
        return f"[\n{margin}{items}\n{margin[1:]}]"
    if isinstance(value, dict) and any(isinstance(item, list) for item in value.values()):
        items = (f"{json.dumps(key)}: {_value(item, margin + ' ')}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    return json.dumps(value)
