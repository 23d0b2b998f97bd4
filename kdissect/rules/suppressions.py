"""Takes out of the findings what a project has decided to live with."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from kdissect.config.suppression import Suppression
from kdissect.model.finding import Finding
from kdissect.rules.fingerprint import bare_path
from kdissect.rules.rule import Rule
from kdissect.rules.rule_selection import fits


class Suppressed(NamedTuple):
    """A finding, and the entry that suppresses it."""

    finding: Finding
    by: Suppression


class Suppressions:
    """The entries of a project. `unused` are the entries without a match so far, for rules that ran."""

    def __init__(self, entries: Sequence[Suppression] = (), rules: Sequence[Rule] = ()) -> None:
        self._entries = [entry for entry in entries if any(fits(entry.rule, rule) for rule in rules)]
        self._used: set[int] = set()

    def split(self, findings: Iterable[Finding]) -> tuple[list[Finding], list[Suppressed]]:
        """Return unsuppressed findings and suppressed ones. The first entry that matches decides."""
        kept: list[Finding] = []
        suppressed: list[Suppressed] = []
        for finding in findings:
            by = self._by(finding)
            if by is None:
                kept.append(finding)
            else:
                suppressed.append(Suppressed(finding, by))
        return kept, suppressed

    @property
    def unused(self) -> list[Suppression]:
        """Entries without a finding."""
        return [entry for index, entry in enumerate(self._entries) if index not in self._used]

    def _by(self, finding: Finding) -> Suppression | None:
        matching = [index for index, entry in enumerate(self._entries) if _matches(entry, finding)]
        self._used.update(matching)  # an entry that another one makes superfluous is not called unused
        return self._entries[matching[0]] if matching else None


def _matches(entry: Suppression, finding: Finding) -> bool:
    """Return whether an entry is about a finding: its rule, and all of its matchers."""
    return fits(entry.rule, finding) and all(
        any(_fits(pattern, value) for pattern in patterns for value in _VALUES[name](finding))
        for name, patterns in entry.matchers
    )


def _fits(pattern: str, value: str | None) -> bool:
    return value is not None and _compiled(bare_path(pattern)).fullmatch(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`*` is any text and `?` any character. Brackets are plain, because paths contain them."""
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def _addresses(finding: Finding) -> tuple[str, ...]:
    """Return the address with its port, and the host alone, an IPv6 one also without brackets."""
    address = finding.party.address
    host = address.rpartition(":")[0]
    return address, host, host.strip("[]")


_VALUES: dict[str, Callable[[Finding], tuple[str | None, ...]]] = {
    "software": lambda finding: (finding.party.software,),
    "version": lambda finding: (finding.party.version,),
    "client-id": lambda finding: (finding.party.client_id,),
    "address": _addresses,
    "api": lambda finding: (finding.place.api,),
    "label": lambda finding: (finding.party.label,),
    "path": lambda finding: (bare_path(finding.place.path),),
}
