"""Which API was seen in which version: the coverage matrix."""

from collections import Counter
from collections.abc import Iterator

from kdissect.report.html.markup import Markup, element, join, scrolled, section, table
from kdissect.report.html.numbers import count, plural, short
from kdissect.report.verdict import Verdict
from kdissect.rules.traffic import Kind
from kdissect.schema.protocol_messages import api, api_keys, api_name
from kdissect.schema.types import Api

# Keys that no schema knows may be made up: 95 APIs are known.
MAX_ROWS = 150
_STEPS = 4  # of colour


def matrix_section(verdict: Verdict) -> Markup:
    """A row for each API that was seen, a column for each version."""
    seen = verdict.coverage.apis
    keys = sorted(key for key in {key for key, _ in seen} if key is not None)
    if not keys:
        return section("coverage", "Coverage", element("p", "No API was seen.", class_="empty"))
    newest = max((known.versions.last for key in keys if (known := api(key))), default=0)
    broken = Counter((f.place.api_key, f.place.api_version) for f in verdict.findings)
    heads = ("API", *(str(version) for version in range(newest + 1)), _other(seen, newest))
    rows = [_row(key, newest, seen, broken) for key in keys[:MAX_ROWS]]
    grid = table(heads, rows, "Exchanges by API and version", "matrix")
    kinds = sum(1 for key, version in seen if key is not None and version is not None)
    note = f"{plural(kinds, 'API version')} of {len(keys)} APIs. Numbers are exchanges."
    return section(
        "coverage", "Coverage", _legend(), scrolled("Coverage matrix", grid), _unseen(keys), note=note
    )


def _other(seen: Counter[Kind], newest: int) -> str:
    has_other = any(version is not None and not 0 <= version <= newest for _, version in seen)
    return "other" if has_other else ""


def _row(key: int, newest: int, seen: Counter[Kind], broken: Counter[Kind]) -> Iterator[str]:
    known = api(key)
    name = api_name(key) or "unknown API"
    yield element("th", name, " ", element("small", str(key)), scope="row")
    for version in range(newest + 1):
        yield _cell(key, version, known, seen, broken)
    above = sorted(v for k, v in seen if k == key and v is not None and not 0 <= v <= newest)
    others = ", ".join(f"v{version}: {count(seen[key, version])}" for version in above[:3])
    yield element("td", others + (" ..." if len(above) > 3 else ""), class_="other")


def _cell(key: int, version: int, known: Api | None, seen: Counter[Kind], broken: Counter[Kind]) -> Markup:
    number = seen[key, version]
    exists = known is not None and version in known.versions
    if not number:
        return element("td", "\N{MIDDLE DOT}" if exists else "", class_="unseen" if exists else "none")
    marks = [f"heat-{min(len(str(number)), _STEPS)}"]
    title = f"{api_name(key) or key} v{version}: {plural(number, 'exchange')}"
    if not exists:
        marks.append("newer")
        title += ", newer than the schema"
    if broken[key, version]:
        marks.append("broken")
        title += f", {plural(broken[key, version], 'finding')}"
    return element("td", short(number), class_=" ".join(marks), title=title)


def _legend() -> Markup:
    items = [
        *(element("li", element("i", class_=f"heat-{step}"), _range(step)) for step in range(1, _STEPS + 1)),
        element("li", element("i", "\N{MIDDLE DOT}", class_="unseen"), "a version that exists, not seen"),
        element("li", element("i", class_="heat-1 broken"), "with findings"),
    ]
    return element("ul", *items, class_="legend")


def _range(step: int) -> str:
    low = 10 ** (step - 1)
    return f"{low:,}+" if step == _STEPS else f"{low:,} to {low * 10 - 1:,}"


def _unseen(keys: list[int]) -> Markup:
    others = sorted(api_keys() - set(keys))
    if not others:
        return Markup()
    names = join((f"{api_name(key)} ({key})" for key in others), ", ")
    summary = element("summary", f"{plural(len(others), 'API')} not seen")
    return element("details", summary, element("p", names), class_="plain")
