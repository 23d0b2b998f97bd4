"""What is wrong in batches, as lines on stderr: records have no line for what cannot be read."""

from collections.abc import Sequence

from kdissect.cli.diagnostics import say
from kdissect.model.anomaly import Anomaly
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.model.wording import plural

# The first few tell what is going on; `inspect --records` has them all beside their exchanges.
MAX_SHOWN = 50


class FaultReport:
    """Prints the first anomalies and counts the others. `files` are the inputs' names by file index."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._count = 0

    def anomalies(self, found: list[Anomaly]) -> None:
        """Take what was found."""
        for anomaly in found:
            self._count += 1
            if self._count <= MAX_SHOWN:
                place = f"{self._files[ref_file(anomaly.ref)]} packet {ref_number(anomaly.ref)}"
                say(f"{anomaly.kind}: {place}: {anomaly.detail}")

    def close(self) -> None:
        """Tell how many were not printed."""
        if self._count > MAX_SHOWN:
            say(f"and {plural(self._count - MAX_SHOWN, 'more fault')} in batches")
