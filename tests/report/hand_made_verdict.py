"""A verdict whose findings, software, latencies and gaps stand at the limits of what reports show."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

from kdissect.config.suppression import Suppression
from kdissect.model.finding import Claim, Finding, Level, Location, Party, Severity, Who
from kdissect.model.packets.packet import packet_ref
from kdissect.report.baseline import Baseline, Known
from kdissect.report.verdict import Verdict
from kdissect.rules.registry import rule_by
from kdissect.rules.run_coverage.capture_quality import CaptureQuality, quality_of
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.run_coverage.rule_coverage import Exercise, Software

START = 1_700_000_000 * 10**9
MS = 1_000_000
CODES = ("ADM011", "FRM006", "PAI004", "PRD001", "TXN003")
FILES = ("a.pcap", "b c.pcap", "/d.pcap", "-")
CLIENT = Party(Who.CLIENT, "10.0.0.1:4000", "franz-go", "1.2", "app", "ours")
BARE = Party(Who.CLIENT, "10.0.0.3:4000")
BROKER = Party(Who.BROKER, "10.0.0.2:9092", label="theirs")
PLACE = Location(
    "c0ffee", 0, "Produce", 0, 9, "request", packet_ref(1, 4), packet_ref(1, 6), START, 0, 2, b"\0\xff",
    "topics[0].name",
)  # fmt: skip


def found(
    code: str,
    severity: Severity = Severity.ERROR,
    party: Party = CLIENT,
    place: Location = PLACE,
    count: int = 1,
    **changes: Any,
) -> Finding:
    """Return a finding of a rule; `changes` are further attributes."""
    rule = rule_by(code)
    assert rule is not None
    finding = Finding(
        code, rule.name, Level.SHOULD, Claim.REFUSED, severity, party, place, "one [1](x)", "two [2](y)"
    )
    finding.count = count
    finding.last_time_ns = place.time_ns + (count - 1) * MS
    for name, value in changes.items():
        setattr(finding, name, value)
    return finding


def findings() -> list[Finding]:
    """Different severities, forms, places and parties."""
    whole = Location("c0ffee", -1, time_ns=START + 3 * MS)
    unknown = PLACE._replace(api=None, api_version=None, path="", first_ref=packet_ref(9, 1), start=1, end=1)
    return [
        found("PRD001", count=3, consequence="refused", earlier=("c0ffee", 0)),
        found(
            "PRD001",
            place=PLACE._replace(exchange=1, api_version=10),
            evidence="e.pcap",
            claim=Claim.MALFORMED,
        ),
        found("PRD001", party=BARE, place=unknown, count=2),
        found(
            "TXN003",
            Severity.WARNING,
            CLIENT._replace(label=None),
            PLACE._replace(first_ref=0, bytes_seen=b""),
        ),
        found("TXN003", Severity.WARNING, place=unknown._replace(api_key=None, side="response", end=40)),
        found(
            "FRM006",
            Severity.INFO,
            BROKER,
            PLACE._replace(bytes_seen=bytes(range(0x6E, 0x80)) + b"\x1f ", end=40),
            evidence="f",
        ),
        found("PAI004", Severity.INFO, BROKER, whole, count=2),
        found(
            "PAI004",
            party=BROKER._replace(label=None),
            place=whole._replace(exchange=7, api="Fetch", api_version=4, side="response"),
        ),
    ]


def coverage() -> Coverage:
    """Return APIs of the schema, newer and unknown ones; times and latencies."""
    made = Coverage()
    made.apis = Counter(
        {(0, 9): 1, (0, 10): 12, (0, 99): 3, (1, 4): 1234, (999, 0): 1, (None, None): 1, (18, None): 2}
    )
    made.apis |= Counter({(1, version): 5 for version in range(20, 24)})
    made.exchanges = 1259
    made.connections = Counter({"kafka": 2, "no_data": 1})
    made.gaps, made.gap_bytes, made.one_sided = 1, 2000, 1
    made.peers = Counter({
        ("client", "10.0.0.1", "franz-go", "1.2", "app"): 3, ("client", "10.0.0.3", None, None, None): 1,
        ("client", "10.0.0.4", None, None, None): 2, ("broker", "10.0.0.2", None, None, None): 6,
    })  # fmt: skip
    seen = Exercise()
    seen.rules.update({"PRD001": 5, "TXN003": 1, "FRM006": 9})
    made.exercises.pairs[Software(Who.CLIENT, "franz-go", "1.2", "ours"), Software(Who.BROKER)] = seen
    traffic = made.traffic
    spread = [MS] * 120 + [2 * MS] * 64 + [3 * MS] * 15 + [400 * MS]
    for kind, latencies in (
        ((0, 9), [MS]), ((1, 4), spread), ((999, 0), [10]), ((None, None), [5 * MS]),
    ):  # fmt: skip
        traffic.open_latencies(kind).extend(latencies)
    for number in (0, 0, 0, 2, 7):
        traffic.wait(START + number * MS)
    traffic.times.add(START + 2 * MS, True)
    return made


def hand_made(**changes: Any) -> Verdict:
    """Return the verdict; `changes` are arguments of `Verdict`."""
    rules = [rule_by(code) for code in CODES]
    inconclusive = Counter({("PRD001", "a gap"): 2, ("TXN003", "a gap"): 1})
    seen = coverage()
    judge: Any = SimpleNamespace(
        findings=SimpleNamespace(all=findings, dropped=3), inconclusive=inconclusive, coverage=seen,
        rules=rules, who=None,
    )  # fmt: skip
    arguments: dict[str, Any] = {"quality": quality_of(seen, dropped_packets=1), "files": FILES}
    arguments["hashes"] = {name: f"{number:064x}" for number, name in enumerate(FILES[:3])}
    return Verdict(judge, **arguments | changes)


SUPPRESSIONS = (
    Suppression("PAI004", "we know", (("label", ("theirs",)),), "kdissect.toml", 3),
    Suppression("FRM006", "and this", (("api", ("Produce",)),), "kdissect.toml", 4),
    Suppression("TXN003", "not any more", (("api", ("Fetch",)),), "kdissect.toml"),
    Suppression("CON001", "of a rule that did not run"),
)


def compared() -> Verdict:
    """With suppressions, and a baseline that has one finding of it, and some that are gone."""
    from kdissect.rules.fingerprint import fingerprint

    known = [
        Known(fingerprint(findings()[3]), "TXN003", "a", (0, 9), "is there"),
        Known("1" * 16, "PRD001", "b", (0, 9), "fixed\x1b"),
        Known("2" * 16, "PRD001", "b", (None, None), "fixed of a connection"),
        Known("3" * 16, "PRD001", "b", (0, 8), "version not seen"),
        Known("4" * 16, "ADM011", "c", (0, 9), "rule not exercised"),
    ]
    baseline = Baseline("base.json", {each.fingerprint: each for each in known})
    return hand_made(suppressions=SUPPRESSIONS, baseline=baseline)


def nothing(quality: CaptureQuality | None = None) -> Verdict:
    """Nothing was captured, no rule ran."""
    seen = Coverage()
    judge: Any = SimpleNamespace(
        findings=SimpleNamespace(all=list, dropped=0),
        inconclusive=Counter(),
        coverage=seen,
        rules=[],
        who=None,
    )
    return Verdict(judge, quality or quality_of(seen), ())
