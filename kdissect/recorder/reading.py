"""How a recorder reads packets: in its own analysis, and in the files of incidents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.capture.files import Captures


class Reading(NamedTuple):
    """How packets are read: the ports of brokers, the only ports, and the files with secrets of TLS."""

    ports: Sequence[int] = ()
    only_ports: Sequence[int] = ()
    key_logs: Sequence[str] = ()

    def dissection(self, paths: Sequence[str] | Captures) -> Dissection:
        """Return the exchanges of files or of a capture."""
        found = Dissection(paths, self.ports, None, self.key_logs, only_ports=self.only_ports)
        found.analyzer.reports_opened = False
        return found
