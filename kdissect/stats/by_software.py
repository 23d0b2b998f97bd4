"""Clients by software and version: the rows of `upgrade` and `groups`, added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Facts = dict[str, Any]


def uses_by_software(uses: Iterable[Facts]) -> Iterator[Facts]:
    """Yield API versions in use (`upgrade_facts`), a row by outcome and software, in the order of the uses.

    `software` is None for clients that do not name it. `clients` counts principals with client ids.
    """
    rows: dict[tuple[str, str | None], Facts] = {}
    clients: dict[tuple[str, str | None], set[tuple[str | None, str | None]]] = {}
    for use in uses:
        key = use["outcome"], use["software"]
        row = rows.setdefault(
            key, {"outcome": key[0], "software": key[1], "clients": 0, "exchanges": 0, "apis": []}
        )
        clients.setdefault(key, set()).add((use["principal"], use["client_id"]))
        row["clients"] = len(clients[key])
        row["exchanges"] += use["exchanges"]
        api = f"{use['api'] or use['api_key']} v{use['api_version']}"
        if api not in row["apis"]:
            row["apis"].append(api)
    yield from rows.values()


def members_by_software(groups: Iterable[Facts]) -> Iterator[Facts]:
    """Yield members of groups (`group_facts`), a row by group, kind and software: who is there, who is
    `gone`.
    """
    for group in groups:
        rows: dict[str | None, Facts] = {}
        for member in group["members"]:
            name = member["software"]
            about = {"group": group["group"], "kind": group["kind"], "state": group["state"]}
            row = rows.setdefault(
                name, {**about, "software": name, "members": 0, "gone": 0, "assigned": 0, "heartbeats": 0}
            )
            is_there = member["gone"] is None
            row["members" if is_there else "gone"] += 1
            row["assigned"] += len(member["assigned"] or ()) if is_there else 0
            row["heartbeats"] += member["heartbeats"]
        yield from rows.values()
