"""Driving `kdissect why` from Python."""

from pathlib import Path

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.model.cause import Diagnosis
from tests.support.console import CAPTURES


def capture(name: str) -> str:
    """The path of a capture of the corpus."""
    (path,) = [path for path in CAPTURES.glob(f"{name}.pcap*") if path.suffix != ".keys"]
    return str(path)


def diagnosed(path: str | Path) -> Diagnosis:
    """All that is wrong in a capture; TLS with the keys beside it."""
    keys = Path(str(path).partition(".pcap")[0] + ".keys")
    dissection = Dissection(str(path), key_logs=[str(keys)] if keys.exists() else [])
    gathering = Gathering(dissection.topics)

    def note(error: Exception, _: object) -> None:
        raise error

    for events in dissection.batches():
        gathering.take(events, note)
    gathering.finish()
    return diagnose(gathering, dissection.file_names, most=1_000)


def ids(found: Diagnosis) -> list[str]:
    """The causes, the worst first."""
    return [cause.id for cause in found.causes]
