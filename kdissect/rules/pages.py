"""The pages of rules: their facts and docstrings, as text and as Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from kdissect.model.finding import Severity
from kdissect.model.wording import plural
from kdissect.rules.answer_keys import Answer, Owed
from kdissect.rules.replays import replays_of
from kdissect.rules.rule import Rule
from kdissect.schema.citations import resolve
from kdissect.schema.types import NO_UPPER_BOUND

INDENT = " " * 4
_ANSWERS = """# Entries of a response and entries of its request

Generated from the table that PAI008, PAI009, PAI011 and FET004 judge by (`rules/answer_keys.py`).

A path leads to the entries of a list, level by level. The key of an entry follows the colon: `+` joins
several fields, `|` takes the one that the version has, `/` is either of two that name the same thing, `*` is
the element itself, `#` its place in the list. Of several paths kdissect uses the paths whose fields the
version has.

An error code at the top of an answer, or at a level above the last, replaces all missing entries below, in
the versions that have it. A null list in a request asks for all there are. A response may repeat an entry
that the request repeats.

"""

_PLAYED = """
What real software did with it (`python -m captures.replay`):

| fault | software | what it did |
|---|---|---|
"""


def rule_line(rule: Rule) -> str:
    """Return one line of the list."""
    who = rule.who or "both"
    return f"{rule.code}  {rule.effective_severity():7}  {rule.level:6}  {rule.claim:9}  {who:6}  {rule.name}"


def page(rule: Rule) -> str:
    """Return the docstring without its indentation."""
    lines = (type(rule).__doc__ or "").strip().splitlines()
    return "\n".join(line.removeprefix(INDENT) for line in lines)


def rule_text(rule: Rule) -> str:
    """Return the page for a terminal."""
    facts = "".join(f"{name:10}{value}\n" for name, value in _facts(rule))
    cites = "".join(f"{'cites':10}{citation}: {_url(citation)}\n" for citation in rule.cites)
    played = "".join(
        f"{'played':10}{one.fault}; {one.software}: {one.did}\n" for one in replays_of(rule.code)
    )
    return f"{rule.code} {rule.name}\n\n{page(rule)}\n\n{facts}{cites}{played}"


def rule_markdown(rule: Rule) -> str:
    """Return the page for docs/rules."""
    facts = "".join(f"| {name} | {value} |\n" for name, value in _facts(rule))
    cites = "".join(f"- [{citation}]({_url(citation)})\n" for citation in rule.cites)
    head = f"# {rule.code} {rule.name}\n\n{page(rule)}\n\n| | |\n|---|---|\n{facts}\nSources:\n\n{cites}"
    return head + _played_markdown(rule)


def _played_markdown(rule: Rule) -> str:
    """Return the reaction of real software to faults of the rule, or an empty text without a replay."""
    rows = "".join(f"| {one.fault} | {one.software} | {one.did} |\n" for one in replays_of(rule.code))
    return f"{_PLAYED}{rows}" if rows else ""


def index_markdown(rules: Sequence[Rule]) -> str:
    """Return the list of pages."""
    rows = "".join(
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.effective_severity()} | {rule.level} | "
        f"{rule.claim} | {page(rule).splitlines()[0]} |\n"
        for rule in rules
    )
    return (
        "# Rules\n\nGenerated from the docstrings; `kdissect rules CODE` prints the page of a rule.\n"
        "[Not rules](not-rules.md) lists what is no rule, and why. [Answers](answers.md) lists which "
        "entry of a"
        "response belongs to which entry of its request.\n\n"
        f"{plural(len(rules), 'rule')}.\n\n"
        f"| code | name | severity | level | claim | |\n|---|---|---|---|---|---|\n{rows}"
    )


def answers_markdown(answers: Mapping[str, Answer]) -> str:
    """Return the page about what of an answer belongs to what of its request."""
    held = {name: answer for name, answer in answers.items() if answer.asked}
    lists = {name: answer for name, answer in answers.items() if answer.once}
    sparse = [(name, *row) for name, answer in answers.items() for row in _sparse(answer)]
    rows = "".join(
        f"| {name} | {_codes(answer.asked)} | {_codes(answer.answered)} | {answer.owed.value} |\n"
        for name, answer in held.items()
    )
    legal = "".join(f"| {name} | {what} | [{cite}]({_url(cite)}) |\n" for name, what, cite in sparse)
    once = "".join(f"| {name} | {_codes(answer.once)} |\n" for name, answer in lists.items())
    rest = ", ".join(sorted(set(answers) - set(held) - set(lists)))
    return (
        f"{_ANSWERS}"
        f"## Results\n\n| API | asked for | answered | owed |\n|---|---|---|---|\n{rows}\n"
        "## Entries that may be missing or extra\n\n| API | what | where it stands |\n|---|---|---|\n"
        f"{legal}\n"
        f"## Lists that have each entry once\n\n| API | list |\n|---|---|\n{once}\n"
        "## Without keys\n\nNo entry of these responses belongs to one specific entry of the request: "
        f"{rest}.\n"
    )


def _sparse(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the entries that may be missing or additional in a response, and the citation for it."""
    if answer.owed is not Owed.EACH:
        yield answer.owed.value, answer.cite
    if answer.session:
        epochs = ", ".join(map(str, sorted(answer.without_session)))
        yield (
            f"other partitions of the session, or no new data: `{answer.session}` not {epochs}",
            answer.cite,
        )
    if answer.empty_asks_all_until >= 0:
        version = f", up to version {answer.empty_asks_all_until}"
        is_bounded = answer.empty_asks_all_until < NO_UPPER_BOUND
        yield f"all there are, where the list is empty{version if is_bounded else ''}", answer.cite
    for unless in answer.unless:
        if unless.asked or unless.answered:
            side = "request" if unless.asked else "response"
            yield f"results, where the {side} has `{unless.asked or unless.answered}`", unless.cite
        else:
            yield f"all results, up to version {unless.empty_until}", unless.cite
    if answer.beside_error:
        yield "an entry that the request does not name, next to an error at the top", answer.beside_error


def _codes(paths: Sequence[str]) -> str:
    return "<br>".join(f"`{path}`".replace("|", "\\|") for path in paths)


def _facts(rule: Rule) -> list[tuple[str, str]]:
    return [
        ("level", rule.level),
        ("claim", rule.claim),
        ("severity", _severity(rule)),
        ("judges", str(rule.who or "client and broker")),
        ("needs", rule.vantage),
    ]


def _severity(rule: Rule) -> str:
    severity = rule.effective_severity()
    return f"{severity}; {rule.rises}: {Severity.WARNING}" if rule.rises is not None else severity


def _url(citation: str) -> str:
    found = resolve(citation)
    return found.url if found else ""
