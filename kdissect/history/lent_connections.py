"""Connections by number, for states that the compiled part goes on with (native/src/transfers)."""

from __future__ import annotations

from kdissect.history.fact import Evidence, evidence_of_row
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo


class LentConnections:
    """The connections on which exchanges passed, by number, until `clear`."""

    def __init__(self) -> None:
        self._numbers: dict[ConnectionInfo, int] = {}
        self.infos: list[ConnectionInfo] = []

    def of(self, info: ConnectionInfo) -> int:
        """Return the number of a connection."""
        number = self._numbers.setdefault(info, len(self.infos))
        if number == len(self.infos):
            self.infos.append(info)
        return number

    def evidence(self, api_key: int, row: native.EvidenceRow) -> Evidence:
        """Return an exchange of such a row."""
        return evidence_of_row(self.infos[row[0]].id, api_key, row)

    def clear(self) -> None:
        """Forget all numbers."""
        self._numbers.clear()
        self.infos.clear()
