"""The report as JSON: for programs. Keys are added, never renamed; `report_version` counts changes."""

from typing import Any

from kdissect.config.suppression import Suppression
from kdissect.engine.times import rfc3339
from kdissect.model.finding import Finding, Location, Party
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.report.baseline import Known
from kdissect.report.json_pages import json_page, schema_beside, versioned
from kdissect.report.text import command
from kdissect.report.verdict import Verdict
from kdissect.rules.fingerprint import fingerprint
from kdissect.rules.registry import rule_by, ruleset_version
from kdissect.rules.run_coverage.coverage import peer_order
from kdissect.rules.run_coverage.traffic_counts import kind_order
from kdissect.schema.citations import resolve
from kdissect.schema.protocol_messages import api_name
from kdissect.schema.releases import newest_release
from kdissect.sketches.distribution import Distribution

SCHEMA = "check.schema.json"
Row = dict[str, Any]


def report_schema() -> str:
    """Return the JSON Schema (2020-12) of the report."""
    return schema_beside(__file__, SCHEMA)


def report_json(verdict: Verdict) -> str:
    """Return the whole report."""
    return json_page(report_row(verdict))


def report_row(verdict: Verdict) -> Row:
    """Return the report as plain values."""
    facts = {
        "kafka_schema_version": newest_release(),
        "ruleset_version": ruleset_version(verdict.rules),
        "rules": len(verdict.rules),
        "captures": [{"path": path, "sha256": digest} for path, digest in verdict.captures],
        "findings": [finding_row(finding, verdict) for finding in verdict.findings],
        "findings_dropped": verdict.dropped,
        "suppressed": [
            {**finding_row(finding, verdict), "suppression": _suppression(by)}
            for finding, by in verdict.suppressed
        ],
        "baseline": _baseline(verdict),
        "unused_suppressions": [_suppression(entry) for entry in verdict.unused_suppressions],
        "not_exercised": [
            {"code": rule.code, "name": rule.name, "why": verdict.why_not_exercised(rule)}
            for rule in verdict.not_exercised
        ],
        "inconclusive": [
            {"code": code, "why": why, "count": count}
            for (code, why), count in sorted(verdict.inconclusive.items())
        ],
        "coverage": _coverage(verdict),
        "capture_quality": verdict.quality._asdict(),
        "software": _software(verdict),
    }
    return versioned(facts)


def finding_row(finding: Finding, verdict: Verdict) -> Row:
    """Return one finding as plain values."""
    rule = rule_by(finding.code)
    cites = rule.cites if rule is not None else ()
    return {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level,
        "claim": finding.claim,
        "severity": finding.severity,
        "cites": [{"source": citation, "url": _url(citation)} for citation in cites],
        "who": _party(finding.party),
        "count": finding.count,
        "where": _place(finding.place, verdict),
        "expected": finding.expected,
        "seen": finding.seen,
        "consequence": finding.consequence or None,
        "known": finding.known,
        "last_time": rfc3339(finding.last_time_ns),
        "last_time_ns": finding.last_time_ns,
        "fingerprint": fingerprint(finding),
        "command": command(finding.place, verdict.files),
        "evidence": finding.evidence,
    }


def _baseline(verdict: Verdict) -> Row | None:
    """Return how the findings compare to a baseline; `not_judged` are findings whose rule and API did not
    come up.
    """
    if verdict.baseline is None:
        return None
    known = sum(finding.known for finding in verdict.findings)
    return {
        "file": verdict.baseline.path,
        "known": known,
        "new": len(verdict.findings) - known,
        "fixed": [_known(item) for item in verdict.fixed],
        "not_judged": [_known(item) for item in verdict.not_judged],
    }


def _known(item: Known) -> Row:
    return {"fingerprint": item.fingerprint, "code": item.code, "name": item.name, "text": item.text}


def _suppression(entry: Suppression) -> Row:
    matchers = {name.replace("-", "_"): list(patterns) for name, patterns in entry.matchers}
    where = {"file": entry.file, "line": entry.line or None}
    return {"rule": entry.rule, "reason": entry.reason, **where, "matchers": matchers}


def _url(citation: str) -> str | None:
    found = resolve(citation)
    return found.url if found else None


def _party(party: Party) -> Row:
    return {
        "role": party.role,
        "address": party.address,
        "software": party.software,
        "version": party.version,
        "client_id": party.client_id,
        "label": party.label,
    }


def _place(place: Location, verdict: Verdict) -> Row:
    index = ref_file(place.first_ref)
    return {
        "connection": place.connection,
        "exchange": place.exchange if place.exchange >= 0 else None,
        "api_key": place.api_key,
        "api": place.api,
        "api_version": place.api_version,
        "side": place.side or None,
        "file": verdict.files[index] if place.first_ref and index < len(verdict.files) else None,
        "first_packet": ref_number(place.first_ref) or None,
        "last_packet": ref_number(place.last_ref) or None,
        "time": rfc3339(place.time_ns),
        "time_ns": place.time_ns,
        "path": place.path or None,
        "bytes": {"start": place.start, "end": place.end, "hex": place.bytes_seen.hex()}
        if place.start >= 0
        else None,
    }


def _coverage(verdict: Verdict) -> Row:
    coverage, exercised = verdict.coverage, verdict.coverage.rules
    apis = sorted(coverage.apis.items(), key=lambda item: kind_order(item[0]))
    return {
        "exchanges": coverage.exchanges,
        "connections": dict(sorted(coverage.connections.items())),
        "apis": [
            {
                "api_key": key,
                "api": None if key is None else api_name(key),
                "api_version": version,
                "exchanges": count,
                "latency_ns": _latency(coverage.traffic.latencies.get((key, version))),
            }
            for (key, version), count in apis
        ],
        "rules": {rule.code: exercised[rule.code] for rule in verdict.rules},
    }


def _latency(held: Distribution | None) -> Row | None:
    if held is None:
        return None
    shares = {f"p{int(share * 100)}": held.quantile(share) for share in (0.5, 0.9, 0.99)}
    return {"count": held.count, "min": held.min, **shares, "max": held.max}


def _software(verdict: Verdict) -> list[Row]:
    return [
        {
            "role": role,
            "host": host,
            "software": software,
            "version": version,
            "client_id": client_id,
            "connections": count,
        }
        for (role, host, software, version, client_id), count in sorted(
            verdict.coverage.peers.items(), key=lambda item: peer_order(item[0])
        )
    ]
