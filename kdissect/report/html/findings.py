"""The findings, rule by rule, each of which unfolds.

The filters are check boxes that the style sheet listens to.
"""

from collections.abc import Iterator, Sequence

from kdissect.engine.times import rfc3339
from kdissect.model.finding import Finding
from kdissect.model.wording import plural
from kdissect.report.folds import Fold
from kdissect.report.html.markup import Markup, code, definitions, element, join, section, text, wire
from kdissect.report.quantities import grouped
from kdissect.report.text import also_lines, command, frame_text, packets_text, party_text, times_text
from kdissect.report.verdict import Verdict
from kdissect.rules.pages import page
from kdissect.rules.registry import rule_by
from kdissect.rules.rule import Rule
from kdissect.schema.citations import resolve

# A page with more than this is slow to open. The other reports contain all findings.
MAX_SHOWN = 1000
# Findings of one rule that are listed. Further findings fold away, so that the next rule is on the screen.
_UNFOLDED = 6
_FILTERS = (
    ("severity", ("error", "warning", "info")),
    ("claim", ("malformed", "refused", "differs")),
    ("who", ("client", "broker")),
)
_HEX_COLUMNS = 16


def findings_section(verdict: Verdict) -> Markup:
    """Return every finding, the most severe first."""
    shown = verdict.folds[:MAX_SHOWN]
    if not shown:
        return section("findings", "Findings", element("p", _nothing(verdict), class_="empty"))
    groups: dict[str, list[Fold]] = {}
    for fold in shown:
        groups.setdefault(fold.first.code, []).append(fold)
    left = sum(1 + len(fold.others) for fold in verdict.folds[MAX_SHOWN:]) + verdict.dropped
    not_shown = f"{plural(left, 'more finding', spec=',')} omitted here."
    more = [element("p", not_shown, class_="empty")] if left else []
    rows = [_rule(found, verdict, first=number == 0) for number, found in enumerate(groups.values())]
    return section("findings", "Findings", _filters([fold.first for fold in shown]), *rows, *more)


def _nothing(verdict: Verdict) -> str:
    if not verdict.exchanges:
        return "No Kafka traffic was found that could be judged."
    return "No findings: the judged traffic breaks no rule."


def _filters(findings: Sequence[Finding]) -> Markup:
    groups = []
    for name, values in _FILTERS:
        boxes = [_box(value, number) for value in values if (number := _held(findings, name, value))]
        legend = element("legend", name)
        groups.append(element("fieldset", legend, *boxes))
    return element("div", *groups, class_="filters")


def _held(findings: Sequence[Finding], name: str, value: str) -> int:
    return sum(_marks(finding)[name] == value for finding in findings)


def _marks(finding: Finding) -> dict[str, str]:
    return {"severity": finding.severity, "claim": finding.claim, "who": finding.party.role}


def _box(value: str, number: int) -> Markup:
    box = element("input", type="checkbox", id=f"show-{value}", checked="")
    label = element("label", value, " ", element("span", grouped(number)), for_=f"show-{value}")
    return join((box, label))


def _rule(found: Sequence[Fold], verdict: Verdict, first: bool) -> Markup:
    finding = found[0].first
    rule = rule_by(finding.code)
    roles = {one.first.party.role for one in found}
    only = f" only-{next(iter(roles))}" if len(roles) == 1 else ""
    title = element("h3", element("span", finding.code, class_="rule-code"), " ", finding.name)
    loud = element("span", finding.severity, class_=f"tag {finding.severity}")
    tags = join((loud, *(element("span", word, class_="tag") for word in (finding.claim, finding.level))))
    about = element("p", page(rule).splitlines()[0] if rule is not None else "", class_="note")
    folds = [_fold(one, verdict, first and number == 0) for number, one in enumerate(found)]
    rest = folds[_UNFOLDED:]
    if len(rest) > 1:
        summary = element("summary", f"{grouped(len(rest))} more")
        folds = [*folds[:_UNFOLDED], element("details", summary, *rest, class_="more")]
    head = element("div", title, tags, class_="rule-head")
    kinds = f"rule is-{finding.severity} is-{finding.claim}{only}"
    return element("article", head, about, *folds, class_=kinds)


def _fold(fold: Fold, verdict: Verdict, is_open: bool) -> Markup:
    finding = fold.first
    often = times_text(fold)
    times = element("span", often, class_="times") if often else ""
    place = finding.place
    where = element("span", f"{place.api} v{place.api_version}", class_="api") if place.api else ""
    name = element("span", wire(_short(finding)), class_="who")
    party = finding.party
    end = party.address if party.client_id is None else f"{party.address} {party.client_id}"
    who = join((name, element("span", wire(end), class_="end")))
    seen = element("span", wire(finding.seen), class_="seen")
    summary = element("summary", element("span", who, where, seen, times, class_="line"))
    return element(
        "details", summary, definitions(_facts(fold, verdict)),
        class_=f"finding is-{finding.party.role}", open="" if is_open else None,
    )  # fmt: skip


def _short(finding: Finding) -> str:
    party = finding.party
    software = f"{party.software} {party.version or ''}".strip() if party.software else str(party.role)
    return party.label or software


def _facts(fold: Fold, verdict: Verdict) -> Iterator[tuple[str, str]]:
    finding = fold.first
    place = finding.place
    yield "who", wire(party_text(finding.party))
    yield "where", _where(finding, verdict)
    if place.path:
        yield "field", code(place.path)
    if place.end > place.start >= 0:
        yield "bytes", _bytes(finding)
    yield "expected", wire(finding.expected)
    yield "seen", wire(finding.seen)
    if finding.consequence:
        yield "then", wire(finding.consequence)
    yield "when", _when(finding)
    yield "cites", _cites(finding)
    yield "again", code(command(place, verdict.files))
    for line in also_lines(fold, verdict.files):
        yield "also", wire(line)


def _where(finding: Finding, verdict: Verdict) -> Markup:
    place = finding.place
    if place.exchange < 0:
        return join(("connection ", element("code", place.connection)))
    what = f"{frame_text(place)} of connection "
    packets = join((", ", wire(packets_text(place, verdict.files)))) if place.first_ref else ""
    return join((what, element("code", place.connection), packets))


def _bytes(finding: Finding) -> Markup:
    place, seen = finding.place, finding.place.bytes_seen
    about = f"{place.start} to {place.end} of the frame's content"
    if not seen:
        return text(f"{about}, hidden: they may contain a secret")
    more = place.end - place.start - len(seen)
    if more:
        about += f", {more} more omitted"
    rows = [seen[at : at + _HEX_COLUMNS] for at in range(0, len(seen), _HEX_COLUMNS)]
    wide = len(rows[0].hex(" "))
    lines = [
        f"{place.start + number * _HEX_COLUMNS:>4}  {row.hex(' '):<{wide}}  |{_ascii(row)}|"
        for number, row in enumerate(rows)
    ]
    return join((about, element("pre", join(map(text, lines), Markup("\n")))))


def _ascii(row: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)


def _when(finding: Finding) -> str:
    first = rfc3339(finding.place.time_ns)
    if finding.count == 1 or finding.last_time_ns == finding.place.time_ns:
        return first
    return f"{plural(finding.count, 'time', spec=',')} from {first} to {rfc3339(finding.last_time_ns)}"


def _cites(finding: Finding) -> Markup:
    rule = rule_by(finding.code)
    links = []
    for citation in rule.cites if rule is not None else ():
        found = resolve(citation)
        links.append(element("a", citation, href=found.url) if found else text(citation))
    return join(links, "; ")


def rules_section(verdict: Verdict) -> Markup:
    """Return the rules that judged something, and the rules without anything to judge, by code."""
    idle = {rule.code for rule in verdict.not_exercised}
    exercised = [rule for rule in verdict.rules if rule.code not in idle]
    parts = []
    for title, rules in (("exercised", exercised), ("not exercised", verdict.not_exercised)):
        items = (
            _item(rule, verdict, rule.code in idle) for rule in sorted(rules, key=lambda rule: rule.code)
        )
        summary = element("summary", f"{plural(len(rules), 'rule', spec=',')} {title}")
        parts.append(element("details", summary, element("ul", *items, class_="codes"), class_="plain"))
    note = "kdissect rules CODE explains one. A rule that was not exercised says nothing about the software."
    return section("rules", "Rules", *parts, note=note)


def _item(rule: Rule, verdict: Verdict, is_idle: bool) -> Markup:
    why = f" ({verdict.why_not_exercised(rule)})" if is_idle else ""
    return element("li", element("code", rule.code), f" {rule.name}{why}", title=page(rule).splitlines()[0])
