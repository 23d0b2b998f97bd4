"""An incident: the times that it is about, and the problems in it."""

from __future__ import annotations

from typing import Any

from kdissect.engine.times import SECOND_NS, ns_of, rfc3339, second_text
from kdissect.model.wording import plural
from kdissect.recorder.symptom import CAUSE, RULE, Symptom
from kdissect.report.json_pages import versioned

Row = dict[str, Any]
_MAX_PROBLEMS = 100  # of one incident. Further problems are counted


class Problem:
    """A problem in an incident. `symptom` is its latest state, `seen` counts how often it was seen again."""

    __slots__ = ("seen", "symptom")

    def __init__(self, symptom: Symptom, seen: int = 1) -> None:
        self.symptom = symptom
        self.seen = seen

    def row(self, with_names: bool = True) -> Row:
        """Return plain values, for people and for `from_row`. Texts of conditions have names, too."""
        one = self.symptom
        has_own_words = one.kind in (CAUSE, RULE)
        return {
            "kind": one.kind,
            "name": one.name if with_names or has_own_words else one.kind,
            "condition": one.condition if with_names else "",
            "level": one.level,
            "title": one.title if with_names or has_own_words else "",
            "sentence": one.sentence if with_names else "",
            "parties": list(one.parties) if with_names else [],
            "effects": list(one.effects),
            "since": rfc3339(one.since_ns),
            "until": rfc3339(one.until_ns),
            "times": one.times,
            "seen": self.seen,
        }

    @classmethod
    def from_row(cls, row: Row) -> Problem:
        """Return what `row` described. Raises KeyError and TypeError."""
        symptom = Symptom(
            row["kind"], row["name"], row["level"], row["title"], row["sentence"], tuple(row["parties"]),
            ns_of(row["since"]), ns_of(row["until"]), row["times"], True, tuple(row["effects"]),
            row["condition"],
        )  # fmt: skip
        return cls(symptom, row["seen"])


class Incident:
    """`spans` are the times of its packets, in nanoseconds: several if the clock was set meanwhile.

    `opened_ns` is when its first condition held. `written` has facts about its files, once they are there.
    """

    __slots__ = ("id", "more_problems", "opened_ns", "problems", "spans", "written")

    def __init__(self, name: str, opened_ns: int, spans: list[list[int]]) -> None:
        self.id = name
        self.opened_ns = opened_ns
        self.spans = spans
        self.problems: list[Problem] = []
        self.more_problems = 0
        self.written: Row = {}

    @classmethod
    def of(cls, symptom: Symptom, opened_ns: int, before_ns: int, after_ns: int) -> Incident:
        """Return a new incident. It begins before its problem, but at most twice that before now."""
        begin = min(symptom.since_ns, opened_ns) - before_ns
        begin = max(begin, opened_ns - 2 * before_ns)
        stamp = second_text(opened_ns // SECOND_NS).replace("-", "").replace(":", "")
        name = symptom.name.lower() if symptom.kind in (CAUSE, RULE) else symptom.kind
        found = cls(f"{stamp}Z-{name}", opened_ns, [[begin, opened_ns + after_ns]])
        found.problems.append(Problem(symptom))
        return found

    @property
    def end_ns(self) -> int:
        """When its last packet is due."""
        return self.spans[-1][1]

    @property
    def latest_ns(self) -> int:
        """When its latest symptom was."""
        return max(problem.symptom.until_ns for problem in self.problems)

    @property
    def seen(self) -> int:
        """How often symptoms were seen."""
        return sum(problem.seen for problem in self.problems) + self.more_problems

    def has_begun(self, time_ns: int) -> bool:
        """Return whether a time is in it."""
        return any(begin <= time_ns <= end for begin, end in self.spans)

    def problem_of(self, symptom: Symptom) -> Problem | None:
        """Return its problem that a symptom is about."""
        for problem in self.problems:
            if problem.symptom.is_problem_of(symptom):
                return problem
        return None

    def count(self, symptom: Symptom) -> bool:
        """Count a symptom. Return False if it was counted already: its occurrences are no later ones."""
        known = self.problem_of(symptom)
        if known is None:
            if len(self.problems) < _MAX_PROBLEMS:
                self.problems.append(Problem(symptom))
            else:
                self.more_problems += 1
            return True
        if symptom.until_ns <= known.symptom.until_ns:
            return False
        parties = tuple(sorted({*known.symptom.parties, *symptom.parties})) if symptom.parties else ()
        known.symptom = symptom._replace(
            parties=parties, since_ns=min(symptom.since_ns, known.symptom.since_ns)
        )
        known.seen += 1
        return True

    def extend(self, end_ns: int) -> None:
        """Let it end later."""
        self.spans[-1][1] = max(self.end_ns, end_ns)

    def step(self, at_ns: int, by_ns: int) -> None:
        """Go on with the new clock, which was set by so much at a time of the old clock."""
        begin, end = self.spans.pop()
        self.spans += [[begin, min(at_ns, end)], [at_ns + by_ns, max(end, at_ns) + by_ns]]

    def headline(self, with_names: bool = True) -> str:
        """Return what it is about, for people."""
        first, *others = (problem.row(with_names) for problem in self.problems)
        more = f" and {plural(len(others), 'other problem')}" if others else ""
        return f"{first['title'] or first['name']}{more}"

    def row(self, with_names: bool = True) -> Row:
        """Return plain values, for people and for `from_row`. Without names they are less exact."""
        return versioned({
            "id": self.id,
            "headline": self.headline(with_names),
            "opened": rfc3339(self.opened_ns),
            "spans": [[rfc3339(begin), rfc3339(end)] for begin, end in self.spans],
            "seen": self.seen,
            "latest": rfc3339(self.latest_ns),
            "problems": [problem.row(with_names) for problem in self.problems],
            "more_problems": self.more_problems,
            **self.written,
        })  # fmt: skip

    @classmethod
    def from_row(cls, row: Row) -> Incident:
        """Return what `row` described. Raises KeyError, TypeError and ValueError."""
        known = {
            "report_version", "kdissect_version", "id", "headline", "opened", "spans", "seen", "latest",
            "problems", "more_problems",
        }  # fmt: skip
        spans = [[ns_of(begin), ns_of(end)] for begin, end in row["spans"]]
        found = cls(row["id"], ns_of(row["opened"]), spans)
        found.problems = [Problem.from_row(one) for one in row["problems"]]
        found.more_problems = row["more_problems"]
        found.written = {key: value for key, value in row.items() if key not in known}
        return found
