"""What `UpgradeAudit` found as plain values, for JSON and tables alike (docs/statistics.md)."""

from collections import Counter
from typing import Any

from kdissect.schema.acceptance import label
from kdissect.schema.protocol_messages import api_name
from kdissect.stats.upgrade import ApiUse, Outcome, UpgradeAudit, UseKey

Facts = dict[str, Any]
_WORST_FIRST = (Outcome.BREAKS, Outcome.MAY_BREAK, Outcome.UNKNOWN, Outcome.DEPRECATED, Outcome.FINE)


def upgrade_facts(audit: UpgradeAudit) -> Facts:
    """The uses, the worst first, and how many there are of each outcome."""
    rows = [_row(audit, key, use) for key, use in audit.uses.items()]
    rows.sort(key=_order)
    counts = Counter(row["outcome"] for row in rows)
    return {
        "target": label(audit.target),
        "exchanges": audit.exchanges,
        "clients": len({(row["principal"], row["client_id"], row["software"]) for row in rows}),
        "outcomes": {str(outcome): counts[str(outcome)] for outcome in _WORST_FIRST},
        "uses": rows,
        "forgotten": audit.uses.forgotten,
    }


def _row(audit: UpgradeAudit, key: UseKey, use: ApiUse) -> Facts:
    outcome, verdict = audit.outcome(key, use)
    return {
        "outcome": str(outcome),
        **key._asdict(),
        "api": api_name(key.api_key),
        "exchanges": use.exchanges,
        "unanswered": use.refused,
        "addresses": sorted(use.addresses),
        "more_addresses": use.more_addresses,
        "asked_for_versions": use.asked,
        "offered": None if use.offered is None else list(use.offered),
        "fate": str(verdict.fate),
        "release": label(verdict.release) if verdict.release else None,
        "target_takes": None if verdict.taken is None else list(verdict.taken),
    }


def _order(row: Facts) -> tuple[Any, ...]:
    client = row["client_id"] or "", row["software"] or "", row["principal"] or ""
    return (_WORST_FIRST.index(Outcome(row["outcome"])), *client, row["api_key"], row["api_version"])
