"""Recorded captures of the reference material."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from kdissect.api import Dissection
from kdissect.session.exchange import Exchange


def manifest(reference: Path) -> dict[str, dict[str, Any]]:
    """Return what two independent scanners counted, by file name."""
    return json.loads((reference / "captures" / "MANIFEST.json").read_text())


def exchanges(reference: Path, name: str) -> list[Exchange]:
    """Return the exchanges of one capture."""
    return list(Dissection(str(reference / "captures" / name)))


def counts(found: list[Exchange]) -> dict[str, Any]:
    """Return counts in the form of the manifest; a SASL token is neither request nor response there."""
    kafka = [e for e in found if e.kind == "kafka"]
    return {
        "requests": sum(e.request is not None for e in kafka),
        "responses": sum(e.response is not None for e in kafka),
        "paired": sum(e.request is not None and e.response is not None for e in kafka),
        "api": dict(Counter(f"{e.api_key}v{e.api_version}" for e in kafka if e.request is not None)),
    }
