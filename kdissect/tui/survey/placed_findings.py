"""Findings folded for the list of findings, and by exchange for the list of exchanges."""

from kdissect.model.finding import Finding
from kdissect.rules.findings import FindingLog
from kdissect.rules.rule import Rule

Place = tuple[str, int]
# Exchanges with findings that are remembered, some 300 bytes each. A capture with more of them is broken
# throughout, and the list says so everywhere.
MAX_EXCHANGES = 200_000


class PlacedFindings(FindingLog):
    """A log that also knows the codes by exchange (connection, ordinal)."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[Place, tuple[str, ...]] = {}
        """Codes by exchange, in the order in which the exchanges had their first finding."""
        self.is_full = False
        self._changed: dict[Place, tuple[str, ...]] = {}

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding."""
        super().add(rule, finding)
        place = finding.place.connection, finding.place.exchange
        known = self.codes.get(place, ())
        if finding.code in known:
            return
        if not known and len(self.codes) >= MAX_EXCHANGES:
            self.is_full = True
            return
        self.codes[place] = self._changed[place] = (*known, finding.code)

    def take_changed(self) -> dict[Place, tuple[str, ...]]:
        """The exchanges whose codes have changed since the last call."""
        changed, self._changed = self._changed, {}
        return changed
