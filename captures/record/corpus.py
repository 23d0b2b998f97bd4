"""The corpus as it stands in `captures/`: each capture with its truth, and what was exchanged by whom.

Reads with kdissect, unlike the rest of this folder, which records.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kdissect.api import Dissection
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange, State

CAPTURES = Path(__file__).resolve().parent.parent
CORPUS_KEYS = {f"{path.stem}.pcapng": path for path in CAPTURES.glob("*.keys")}
"""Key logs by the name of the capture."""

ApiVersion = tuple[int, int]
"""API key and version."""


class Capture(NamedTuple):
    """One capture of the corpus."""

    path: Path
    truth: dict[str, Any]

    @property
    def broker(self) -> str:
        """Software and version of the broker."""
        return f"{self.truth['broker']['software']} {self.truth['broker']['version']}"

    @property
    def clients(self) -> list[str]:
        """Name and version of each client, once."""
        return list(dict.fromkeys(f"{each['name']} {each['version']}" for each in self.truth["clients"]))

    @property
    def is_raw(self) -> bool:
        """Whether its requests were put together for the purpose, not sent by a client of its own accord."""
        return bool(self.truth.get("raw"))

    def sender(self, exchange: Exchange) -> str:
        """Return who asked: the client known by this client id, or by its beginning; otherwise a broker
        asked.
        """
        asked = exchange.client_id or ""
        for each in sorted(self.truth["clients"], key=lambda each: -len(each["client_id"])):
            if each["client_id"] in ("*", asked) or asked.startswith(f"{each['client_id']}-"):
                return f"{each['name']} {each['version']}"
        return f"{self.broker} (broker)"

    def exchanges(self) -> list[Exchange]:
        """Return every exchange, in the order of their completion."""
        return list(Dissection(str(self.path)))


class Use(NamedTuple):
    """What the corpus has of one API version."""

    exchanges: int
    senders: tuple[str, ...]  # of requests that a client or broker sent of its own accord
    raw: tuple[str, ...]


def captures(folder: Path = CAPTURES) -> list[Capture]:
    """Return the captures that have a truth, by name."""
    found = []
    for truth in sorted(folder.glob("*.truth.json")):
        stem = truth.name.removesuffix(".truth.json")
        path = next(folder.glob(f"{stem}.pcap*"))
        found.append(Capture(path, json.loads(truth.read_text())))
    return found


def is_whole(exchange: Exchange) -> bool:
    """Return whether both sides of an exchange are there, as far as it has two."""
    return exchange.state in (State.COMPLETE, State.NO_RESPONSE_EXPECTED) and exchange.api_key is not None


def uses(found: list[Capture]) -> dict[ApiVersion, Use]:
    """Return what the corpus has of each API version that occurs in it."""
    counts: Counter[ApiVersion] = Counter()
    senders: dict[ApiVersion, set[str]] = {}
    raw: dict[ApiVersion, set[str]] = {}
    for capture in found:
        for exchange in filter(is_whole, capture.exchanges()):
            assert exchange.api_key is not None
            assert exchange.api_version is not None
            at = exchange.api_key, exchange.api_version
            counts[at] += 1
            (raw if capture.is_raw else senders).setdefault(at, set()).add(capture.sender(exchange))
    return {
        at: Use(count, tuple(sorted(senders.get(at, ()))), tuple(sorted(raw.get(at, ()))))
        for at, count in counts.items()
    }


def every_api_version() -> Iterator[ApiVersion]:
    """Yield all API versions that ever shipped."""
    for api in protocol_messages.all_apis():
        for version in range(api.versions.first, api.versions.last + 1):
            yield api.key, version
